"""What users install: the wheel holds everything, and comes into being without a compiler too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging


def build(root: Path, target: Path, **environment: str) -> zipfile.ZipFile:
    """Build a wheel of the tree with the tools of this environment."""
    target.mkdir()
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(target),
        str(root),
    ]
    clean = {name: value for name, value in os.environ.items() if name != "WORKBENCH_KERNELS"}
    done = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = target.glob("*.whl")
    return zipfile.ZipFile(wheel)


def record(wheel: zipfile.ZipFile) -> dict[str, object]:
    found: dict[str, object] = json.loads(wheel.read("workbench/_build.json"))
    return found


def ask(wheel: zipfile.ZipFile, folder: Path, code: str) -> str:
    """What a Python prints that sees this wheel's package instead of the tree's."""
    wheel.extractall(folder)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_compiler_the_wheel_is_pure_python_and_says_why(root: Path, tmp_path: Path) -> None:
    with build(root, tmp_path / "wheels", CXX="/bin/false") as wheel:
        assert wheel.filename is not None
        assert wheel.filename.endswith("-py3-none-any.whl")
        assert not any("_kernels" in Path(name).name for name in wheel.namelist())
        assert record(wheel)["built"] is False
        assert "/bin/false" in str(record(wheel)["reason"])
        code = "from workbench import kernels; print(kernels.__file__, kernels.available())"
        where, available = ask(wheel, tmp_path / "unpacked", code).split()
        assert where.startswith(str(tmp_path))
        assert available == "False"
        code = "from workbench.lab import doctor; print(doctor.report(doctor.examine(), colour=False))"
        (line,) = [
            line for line in ask(wheel, tmp_path / "unpacked", code).splitlines() if " compiled " in line
        ]
        assert "· NumPy runs in their place:" in line
        assert "/bin/false" in line


def test_the_wheel_holds_package_panels_and_widgets(root: Path, tmp_path: Path) -> None:
    with build(root, tmp_path / "wheels") as wheel:
        names = wheel.namelist()
        assert {"workbench/py.typed", "workbench/__init__.pyi", "workbench/tensor/methods.pyi"} <= set(names)
        kernels = [name for name in names if name.startswith("workbench/_kernels")]
        assert bool(kernels) == record(wheel)["built"]
        assert wheel.filename is not None
        assert wheel.filename.endswith("-py3-none-any.whl") == (not kernels)
        if kernels:
            code = "from workbench import kernels; print(kernels.available(), kernels.reason())"
            assert ask(wheel, tmp_path / "unpacked", code) == "True"
        assert {"workbench/assets/digits/digits.npz", "workbench/assets/digits/LICENSE.txt"} <= set(names)
        code = "from workbench import data; print(data.asset('digits/digits.npz'), len(data.digits().test))"
        where, count = ask(wheel, tmp_path / "unpacked", code).split()
        assert where.startswith(str(tmp_path))
        assert count == "2000"
    shared = [name.partition(".data/data/")[2] for name in names if ".data/data/" in name]
    assert "share/jupyter/labextensions/@workbench/lab/package.json" in shared
    assert any(
        name.startswith("share/jupyter/labextensions/@workbench/lab/static/remoteEntry.") for name in shared
    )
    assert any(name.startswith("workbench/widgets/static/") and name.endswith(".js") for name in names)
    assert not any(name.startswith("workbench/lab/labextension/") for name in names), "once is enough"
    assert not any("node_modules" in name or name.endswith((".ts", ".cpp", ".map")) for name in names)
