from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.lab import doctor
from workbench.lab.doctor import Finding

NUMPY_ONLY: dict[str, Any] = {
    "available": False,
    "reason": "it has not been built",
    "threads": 2,
    "blas": "",
    "ops": (),
}
COMPILED: dict[str, Any] = {
    "available": True,
    "reason": "",
    "threads": 2,
    "blas": "libopenblas.so",
    "ops": ("conv2d", "relu"),
    "onednn": "3.2.0",
    "isa": "avx2",
    "bfloat16_products": "float32",
    "compiler": "12.2.0",
}


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKBENCH_KERNELS", raising=False)


def test_compiled_kernels_are_described() -> None:
    first, second, third = doctor.kernels({"built": True, "compiler": "GNU 12.2.0"}, COMPILED)
    assert (first.state, first.text) == ("found", "2 ops, built with GNU 12.2.0")
    assert (second.state, second.text) == ("found", "3.2.0, using avx2")
    assert third.state == "absent" and third.text.startswith("float32: the processor has no instructions")
    *_, third = doctor.kernels({"built": True}, {**COMPILED, "bfloat16_products": "amx_bf16"})
    assert (third.state, third.text) == ("found", "amx_bf16")


def test_numpy_kernels_are_healthy_and_say_why() -> None:
    (finding,) = doctor.kernels({"built": False, "reason": "CMake was not found"}, NUMPY_ONLY)
    assert finding.state == "absent"
    assert finding.text == "NumPy runs in their place: CMake was not found"
    assert doctor.healthy([finding])


def test_kernels_that_were_built_but_do_not_load_are_broken() -> None:
    (finding,) = doctor.kernels(
        {"built": True, "reason": ""}, {**NUMPY_ONLY, "reason": "libdnnl.so.3 is missing"}
    )
    assert finding.state == "broken"
    assert "libdnnl.so.3 is missing" in finding.text
    assert not doctor.healthy([finding])


def test_kernels_switched_off_are_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_KERNELS", "off")
    (finding,) = doctor.kernels({"built": True, "reason": ""}, NUMPY_ONLY)
    assert finding.state == "absent"


@pytest.mark.parametrize("text", [None, "", "{", "[1]", "\x00"])
def test_a_damaged_record_is_an_empty_one(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "_build.json"
    if text is not None:
        path.write_text(text)
    assert doctor.read_record(path) == {}


def test_processor_features_are_read(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("model name\t: A Processor\nflags\t\t: fpu avx2 fma avx512f\n\nmodel name\t: Another\n")
    model, features = doctor.processor(info)
    assert (model.text, features.text) == ("A Processor", "avx2 fma avx512f")


def test_unknown_processor_features_are_said_to_be_unknown(tmp_path: Path) -> None:
    _, features = doctor.processor(tmp_path / "missing")
    assert (features.state, features.text) == ("absent", "unknown on this system")


def install_panels(folder: Path, *, complete: bool = True) -> None:
    built = folder / "@workbench" / "lab"
    (built / "static").mkdir(parents=True)
    package = {
        "name": "@workbench/lab",
        "version": "1.2.3",
        "jupyterlab": {"_build": {"load": "static/entry.js"}},
    }
    (built / "package.json").write_text(json.dumps(package))
    if complete:
        (built / "static" / "entry.js").write_text("")


def panels(folder: Path) -> Finding:
    (finding,) = doctor.panels([str(folder)], str(folder / "settings"))
    return finding


def test_panels_that_are_installed_are_found(tmp_path: Path) -> None:
    install_panels(tmp_path)
    assert panels(tmp_path).state == "found"
    assert panels(tmp_path).text.startswith("@workbench/lab 1.2.3, enabled")


def test_panels_that_are_missing_are_broken(tmp_path: Path) -> None:
    assert panels(tmp_path).state == "broken"
    assert "@workbench/lab is not installed: `pip install tensor-workbench`" in panels(tmp_path).text


def test_half_a_bundle_is_broken(tmp_path: Path) -> None:
    install_panels(tmp_path, complete=False)
    assert panels(tmp_path).state == "broken"
    assert "is incomplete: build it again" in panels(tmp_path).text


@pytest.mark.parametrize("name", ["@workbench/lab", "@workbench/lab:sidebar"])
def test_disabled_panels_are_broken_and_the_cure_is_named(name: str, tmp_path: Path) -> None:
    install_panels(tmp_path)
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "page_config.json").write_text(json.dumps({"disabledExtensions": {name: True}}))
    assert panels(tmp_path).state == "broken"
    assert f"`jupyter labextension enable {name}`" in panels(tmp_path).text


def test_another_extension_that_is_disabled_is_none_of_ours(tmp_path: Path) -> None:
    install_panels(tmp_path)
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "page_config.json").write_text(
        json.dumps({"disabledExtensions": ["@workbench/labs"]})
    )
    assert panels(tmp_path).state == "found"


def test_a_finding_is_one_line_and_colour_is_asked_for() -> None:
    finding = Finding("kernels", "compiled", "broken", "first\nsecond")
    plain = doctor.report([finding], colour=False)
    assert "✗ first second" in plain
    assert "not healthy: compiled" in plain
    assert "\x1b[" not in plain
    assert "\x1b[" in doctor.report([finding], colour=True)


def test_health_counts_only_what_is_broken() -> None:
    assert doctor.healthy([Finding("a", "b", "found", ""), Finding("a", "c", "absent", "")])
    assert not doctor.healthy([Finding("a", "b", "found", ""), Finding("a", "c", "broken", "")])


def test_this_machine_can_be_examined() -> None:
    parts = {finding.part for finding in doctor.examine()}
    assert parts == {"versions", "kernels", "processor", "front end", "optional"}
