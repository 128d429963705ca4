"""The stubs on disk are those of the functions there are, and a type checker makes sense of them."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.lab.stubs import PACKAGE, Stub, main, stubs

HERE = Path(__file__).parent


@pytest.mark.parametrize("path", sorted(stubs()))
def test_a_stub_on_disk_is_the_one_that_is_written(path: str) -> None:
    text = (PACKAGE / path).read_text(encoding="utf-8")
    assert text == stubs()[path], "run `make format`, which writes the stubs"


def test_the_command_says_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_stubs_say_what_people_pass_and_get() -> None:
    """At most one parameter or result in twenty is left open; a union with what is open is open too."""
    total, left_open = 0, []
    for path, text in stubs().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                several = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
                types = {one.arg: one.annotation for one in several if one is not None and one.arg != "self"}
                for name, annotation in {**types, "->": node.returns}.items():
                    total += 1
                    if annotation is None or "_Any" in {
                        one.id for one in ast.walk(annotation) if isinstance(one, ast.Name)
                    }:
                        left_open.append(f"{path}: {node.name} {name}")
    assert total > 4000
    assert len(left_open) <= total / 20, left_open


def test_overloads_are_those_of_the_definition() -> None:
    text = stubs()["tensor/methods.pyi"]
    assert "def max(self, dim: _Dim, keepdim: _bool = False) -> _ValuesIndices: ..." in text
    assert "def stride(self, dim: _Dim) -> _int: ..." in text


def test_an_annotation_that_its_module_does_not_know_is_named() -> None:
    def astray(input: Tensr) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Do nothing."""

    with pytest.raises(KeyError, match="an annotation says 'Tensr', which its module does not know"):
        Stub().function("astray", astray)


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
