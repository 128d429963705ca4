"""What was measured is kept for later processes, whatever stands in their way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels
from workbench.kernels import kept_choices
from workbench.kernels.loader import native
from workbench.kernels.matmul import SETTING, fix_products, measured_products
from workbench.lab.doctor import kept_products

CLASS = "256×512 @ 512×256, large, 2 threads"
PRODUCT = """
import hashlib, json
import numpy as np
import workbench as wb
wb.set_num_threads(2)
random = np.random.default_rng(0)
a, b = random.standard_normal((300, 700)).astype(np.float32), random.standard_normal((700, 400)).astype(np.float32)
digest = hashlib.sha256((wb.tensor(a) @ wb.tensor(b)).numpy().tobytes())
x = wb.tensor(random.standard_normal((200, 300)))
digest.update((x @ x.T).numpy().tobytes())
from workbench.kernels import kept_choices
from workbench.kernels.loader import native
print(json.dumps([native.chosen_products(), digest.hexdigest(), kept_choices.trouble()]))
"""


def start(folder: Path | str, program: str = PRODUCT, **settings: str) -> subprocess.Popen[str]:
    environment = {**os.environ, kept_choices.SETTING: str(folder), **settings}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(process: subprocess.Popen[str]) -> Any:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return json.loads(out)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for this process's choices, which is not there yet."""
    monkeypatch.setenv(kept_choices.SETTING, str(tmp_path / "cache"))
    monkeypatch.setattr(kept_choices, "_trouble", "")
    return tmp_path / "cache"


def kept_by_hand(place: Path, products: dict[str, str]) -> None:
    """Write the file as a process of this machine would have."""
    mark, description = kept_choices._machine()
    content = {"version": 1, "machines": {mark: {**description, "products": products}}}
    place.mkdir(exist_ok=True)
    (place / "products.json").write_text(json.dumps(content))


def test_later_processes_choose_as_the_first(tmp_path: Path) -> None:
    first = result(start(tmp_path))
    assert first[0].keys() == {CLASS} and not first[2]
    machine = next(iter(json.loads((tmp_path / "products.json").read_text())["machines"].values()))
    assert machine["products"].keys() == {CLASS, "float64, 2 threads"}
    assert machine["products"][CLASS] == first[0][CLASS]
    assert result(start(tmp_path)) == first


@pytest.mark.parametrize("way", ["gemm", "own"])
def test_what_is_kept_decides_and_is_not_measured(way: str, tmp_path: Path) -> None:
    kept_by_hand(tmp_path, {CLASS: way, "float64, 2 threads": "BLAS"})
    before = (tmp_path / "products.json").stat().st_mtime_ns
    never = "from workbench.kernels import kept_choices; kept_choices.settle = None  # called, it would fail"
    chosen, _, trouble = result(start(tmp_path, f"{never}\n{PRODUCT}"))
    assert chosen == {CLASS: way} and not trouble
    assert (tmp_path / "products.json").stat().st_mtime_ns == before


def test_what_is_kept_for_another_machine_decides_nothing(place: Path) -> None:
    kept_by_hand(place, {"a": "own"})
    text = (place / "products.json").read_text()
    (place / "products.json").write_text(text.replace(kept_choices._machine()[0], "0" * 32))
    assert kept_choices.known("a") is None
    assert kept_choices.settle("a", "gemm") == "gemm"
    machines = json.loads((place / "products.json").read_text())["machines"]
    assert [one["products"] for one in machines.values()] == [{"a": "own"}, {"a": "gemm"}]


def test_a_machine_is_its_processor_its_libraries_and_its_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Other:
        __file__ = str(tmp_path / "kernels.so")
        info = native.info

    machine = kept_choices._machine.__wrapped__
    marks = {machine()[0]}
    assert marks == {machine()[0]}
    for name, value in (
        ("_processor", lambda: {"model name": "another"}),
        ("_software", lambda: "another"),
        ("native", Other),
    ):
        (tmp_path / "kernels.so").write_text("another")
        with monkeypatch.context() as patch:
            patch.setattr(kept_choices, name, value)
            marks.add(machine()[0])
    assert len(marks) == 4
    assert "flags" in kept_choices._processor() or not Path("/proc/cpuinfo").exists()


def test_of_processes_that_race_the_first_decides_for_all(tmp_path: Path) -> None:
    racing = [start(tmp_path) for _ in range(4)]
    results = [result(one) for one in racing]
    assert all(one == results[0] for one in results)
    kept = json.loads((tmp_path / "products.json").read_text())["machines"]
    assert [one["products"][CLASS] for one in kept.values()] == [results[0][0][CLASS]]
    assert [one.name for one in tmp_path.iterdir()] == ["products.json"], "no part of a file is left"


RACE = """
import sys
from workbench.kernels.kept_choices import settle
for n in range(8):
    assert settle(f"own {sys.argv[1:]} {n}", "own") == "own"
print([settle(f"shared {n}", sys.argv[-1]) for n in range(8)])
"""


def test_nothing_is_lost_where_many_write_at_once(place: Path) -> None:
    racing = [
        subprocess.Popen([sys.executable, "-c", RACE, str(n), way], stdout=subprocess.PIPE, text=True)
        for n, way in enumerate(("gemm", "made", "packed", "own"))
    ]
    said = {one.communicate(timeout=300)[0] for one in racing}
    assert len(said) == 1 and all(one.returncode == 0 for one in racing), "who is late takes what is kept"
    assert len(kept_choices.kept()) == 4 * 8 + 8


def test_what_is_settled_stays(place: Path) -> None:
    assert kept_choices.known("a") is None and not place.exists(), "reading makes nothing"
    assert kept_choices.settle("a", "made") == "made"
    assert kept_choices.settle("a", "gemm") == "made"
    assert kept_choices.known("a") == "made"
    assert place.stat().st_mode & 0o777 == 0o700


def machine(**changes: Any) -> str:
    entry = {"processor": "p", "software": "s", "products": {"a": "own"}, **changes}
    return json.dumps({"version": 1, "machines": {"m": entry}})


BROKEN = {
    "empty": ("", "Expecting value"),
    "no JSON": ("ways: gemm", "Expecting value"),
    "cut off": (machine()[:-3], "Expecting"),
    "no text": ('"\udcff"', "can't decode"),
    "another's": ('{"answers": [42]}', "none of the workbench's"),
    "a list": ("[]", "none of the workbench's"),
    "from the future": ('{"version": 2, "machines": {}}', "its version is '2', expected 1"),
    "a version of 9000 digits": (f'{{"version": {"9" * 9000}, "machines": {{}}}}', "digits"),
    "machines in a list": ('{"version": 1, "machines": []}', "no list of at most 16 machines"),
    "too many machines": (
        json.dumps({"version": 1, "machines": {str(n): {} for n in range(17)}}),
        "no list of at most 16 machines",
    ),
    "other words": (machine(secret=1), "in other words"),
    "products in a list": (machine(products=["a"]), "no list of at most 512 products"),
    "too many products": (machine(products={str(n): "own" for n in range(513)}), "at most 512 products"),
    "another way": (machine(products={"a": "rm"}), "another way than gemm, made, packed, own, BLAS"),
    "a way that is no text": (machine(products={"a": {}}), "another way than"),
    "a long text": (machine(software="s" * 300), "where a short text belongs"),
    "a number for a text": (machine(processor=3), "where a short text belongs"),
    "nested deeply": ("[" * 200_000, "nested too deeply"),
    "huge": (machine() + " " * (1 << 20), "bytes"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_not_ours_is_left_alone_and_said(kind: str, place: Path) -> None:
    text, words = BROKEN[kind]
    place.mkdir()
    file = place / "products.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    before = file.read_bytes()
    assert kept_choices.known("a") is None
    assert kept_choices.settle("a", "own") == "own"
    assert file.read_bytes() == before
    (finding,) = kept_products(kept_choices.where(), 0, kept_choices.trouble())
    assert finding.state == "absent" and words in finding.text and str(file) in finding.text


def test_a_process_goes_on_with_a_broken_file(tmp_path: Path) -> None:
    (tmp_path / "products.json").write_text("garbage")
    chosen, _, trouble = result(start(tmp_path))
    assert chosen.keys() == {CLASS} and "products.json: Expecting value" in trouble
    assert (tmp_path / "products.json").read_text() == "garbage"


def test_a_pipe_is_no_file(place: Path) -> None:
    place.mkdir()
    os.mkfifo(place / "products.json")
    assert kept_choices.known("a") is None and kept_choices.settle("a", "own") == "own"
    assert "no regular file" in kept_choices.trouble()


def test_a_home_that_nobody_can_write(tmp_path: Path) -> None:
    # A file in the place of a folder stops root, too, whom permissions do not.
    (tmp_path / "home").write_text("")
    chosen, _, trouble = result(start("", HOME=str(tmp_path / "home"), XDG_CACHE_HOME=""))
    assert chosen.keys() == {CLASS}
    assert str(tmp_path / "home" / ".cache" / "workbench") in trouble
    assert (tmp_path / "home").read_text() == ""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not stop root")
def test_a_folder_that_is_read_only(place: Path) -> None:
    place.mkdir(mode=0o500)
    assert kept_choices.settle("a", "own") == "own"
    assert "Permission denied" in kept_choices.trouble()


def test_nothing_is_written_where_nothing_is_measured(tmp_path: Path) -> None:
    for program, settings in (
        ("import workbench as wb; print([float((wb.ones(30, 30) @ wb.ones(30, 30)).sum())])", {}),
        (PRODUCT, {SETTING: "gemm"}),
        (PRODUCT, {kept_choices.SETTING: "off", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}),
        (
            PRODUCT.replace(
                "import workbench as wb\n", "import workbench as wb; wb.use_deterministic_algorithms(1)\n"
            ),
            {},
        ),
    ):
        result(start(tmp_path / "cache", program, **settings))
        assert list(tmp_path.iterdir()) == []


def test_the_folder_is_the_platforms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (kept_choices.SETTING, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for system, expected in (
        ("linux", ".cache/workbench"),
        ("darwin", "Library/Caches/workbench"),
        ("win32", "AppData/Local/workbench"),
    ):
        monkeypatch.setattr(sys, "platform", system)
        assert kept_choices.folder() == tmp_path / expected
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert kept_choices.folder() == tmp_path / ".cache/workbench"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/elsewhere")
    assert kept_choices.where() == Path("/var/elsewhere/workbench/products.json")
    monkeypatch.setenv(kept_choices.SETTING, " Off ")
    assert kept_choices.where() is None and kept_choices.settle("a", "own") == "own"
    (finding,) = kept_products(kept_choices.where(), 0, "")
    assert finding.state == "absent" and "WORKBENCH_CACHE=off" in finding.text


def test_a_process_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (kept_choices.SETTING, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert kept_choices.folder() is None


def test_the_machine_that_was_met_last_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(20):
        monkeypatch.setattr(kept_choices, "_machine", lambda n=n: (str(n), {"processor": "", "software": ""}))
        kept_choices.settle("a", "own")
        monkeypatch.setattr(kept_choices, "_machine", lambda: ("0", {"processor": "", "software": ""}))
        kept_choices.settle(f"once more {n}", "own")
    kept = json.loads((place / "products.json").read_text())["machines"]
    assert list(kept) == [*(str(n) for n in range(5, 20)), "0"]


def test_doctor_says_where(place: Path) -> None:
    (finding,) = kept_products(place / "products.json", 3, "")
    assert (finding.subject, finding.state) == ("products kept", "found")
    assert finding.text.startswith(f"3 of this machine, in {place / 'products.json'}")


@pytest.fixture
def measured() -> Any:
    yield
    wb.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    "fix",
    [
        lambda: wb.use_deterministic_algorithms(True),
        lambda: wb.use_deterministic_algorithms(True, warn_only=True),
        lambda: wb.set_deterministic_debug_mode("error"),
    ],
    ids=["error", "warn", "debug mode"],
)
def test_who_wants_fixed_bits_gets_no_measured_way(
    fix: Callable[[], None], measured: None, place: Path
) -> None:
    count = kernels.get_num_threads()
    kept_by_hand(place, {f"float64, {count} thread{'s' * (count > 1)}": "BLAS"})
    fix_products(False)
    assert measured_products()["float64"] == "BLAS"
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((333, 555), (555, 222)))
    before = native.chosen_products()
    fix()
    assert native.products_are_fixed()
    native.matmul(a, b)
    assert native.chosen_products() == before, "nothing was measured"
    assert measured_products()["float64"] == "own"
    wb.use_deterministic_algorithms(False)
    assert not native.products_are_fixed()


def test_the_fixed_way_is_gemm(measured: None) -> None:
    gemm = result(start("off", **{SETTING: "gemm"}))
    fixed = PRODUCT.replace("wb.set_num_threads", "wb.use_deterministic_algorithms(True); wb.set_num_threads")
    assert result(start("off", fixed)) == gemm
    own = result(start("off", fixed, **{SETTING: "own"}))
    assert own[1] != gemm[1], "what the setting says comes first"


def test_doubles_are_chosen_by_the_number_of_threads(place: Path) -> None:
    kept_by_hand(place, {"float64, 1 thread": "own", "float64, 2 threads": "BLAS"})
    before = kernels.get_num_threads()
    fix_products(False)
    try:
        for count, way in ((1, "own"), (2, "BLAS"), (1, "own")):
            kernels.set_num_threads(count)
            assert measured_products()["float64"] == way
    finally:
        kernels.set_num_threads(before)
        fix_products(False)
