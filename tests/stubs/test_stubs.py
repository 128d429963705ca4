"""The stubs on disk are those of the functions there are, and a type checker makes sense of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.lab.stubs import PACKAGE, main, stubs

HERE = Path(__file__).parent


@pytest.mark.parametrize("path", sorted(stubs()))
def test_a_stub_on_disk_is_the_one_that_is_written(path: str) -> None:
    text = (PACKAGE / path).read_text(encoding="utf-8")
    assert text == stubs()[path], "run `make format`, which writes the stubs"


def test_the_command_says_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_a_users_file_is_checked(root: Path, tmp_path: Path) -> None:
    if shutil.which("mypy", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("mypy is installed with the extra 'dev'")
    user = tmp_path / "user.py"
    shutil.copy(HERE / "user.py.txt", user)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", str(user)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    lines = user.read_text(encoding="utf-8").splitlines()
    wrong = lines.index("# What follows is wrong, line by line.") + 2
    found = [line for line in done.stdout.splitlines() if "user.py:" in line and ": error:" in line]
    places = [int(line.partition("user.py:")[2].partition(":")[0]) for line in found]
    assert places == list(range(wrong, len(lines) + 1)), done.stdout + done.stderr
    for line, words in zip(
        found,
        [
            "smu",
            'did you mean "keepdim"',
            "dytpe",
            '"s"',
            'maybe "svd"',
            'did you mean "dim"',
            "relu",
            "float",
            "int",
        ],
        strict=True,
    ):
        assert words in line
