"""Scripts as people write them give the same in torch.jit.script, in ours, as plain Python and out of an archive."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import workbench as wb
from tests.peers.jit.test_scripts import _imported, close, plain

torch = pytest.importorskip("torch")

# PyTorch withdraws what it judges here.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The TorchScript type system:UserWarning"),
]

HERE = Path(__file__).parent / "user_programs.py"

_REFUSED = (torch.jit.Error, RuntimeError, ValueError, AssertionError, LookupError, TypeError)
"""What a run raises: of PyTorch's interpreter one class for all that scripts raise."""


def _names(table: str) -> list[str]:
    """Return the keys of a table of the programs, which are read as text: the file needs torch."""
    lines = HERE.read_text().partition(f"\n{table} = {{\n")[2].partition("\n}")[0].splitlines()
    return [line.strip().partition('"')[2].partition('"')[0] for line in lines if line.startswith('    "')]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, ModuleType]:
    """The programs for PyTorch and for us."""
    text = HERE.read_text().replace("import torch\n", "import workbench as torch\n")
    text = text.replace("import torch.nn", "import workbench.nn").replace(
        "from torch import", "from workbench import"
    )
    path = tmp_path_factory.mktemp("programs") / "our_user_programs.py"
    path.write_text(text)
    return _imported("their_user_programs", HERE), _imported("our_user_programs", path)


def _made(module: ModuleType, name: str) -> Any:
    found = getattr(module, name)
    return found() if isinstance(found, type) else found


def _results(called: Any, module: ModuleType, name: str) -> list[Any]:
    found: list[Any] = []
    for case in module.CASES[name]:
        try:
            found.append(plain(called(*copy.deepcopy(case))))
        except _REFUSED:
            found.append("refused")
    return found


def _archived(script: Any) -> Any:
    file = io.BytesIO()
    wb.jit.save(script, file)
    file.seek(0)
    return wb.jit.load(file)


def _ours(module: ModuleType, name: str, check: Callable[[Any, Any], bool] = close) -> list[Any]:
    """Return what ours gives, which is what Python gives."""
    found = _results(wb.jit.script(_made(module, name)), module, name)
    expected = _results(_made(module, name), module, name)
    assert check(found, expected), (found, expected)
    return found


SAME = [one for one in _names("CASES") if one not in {*_names("DIFFERS"), *_names("WIDER")}]


def test_there_are_programs() -> None:
    assert len(SAME) >= 40 and len(_names("DIFFERS")) == 3 and len(_names("WIDER")) == 12


@pytest.mark.parametrize("name", SAME)
def test_a_script_gives_what_it_gives_in_torchscript_and_in_python(
    programs: tuple[ModuleType, ModuleType], name: str
) -> None:
    theirs, ours = programs
    found = _ours(ours, name)
    expected = _results(torch.jit.script(_made(theirs, name)), theirs, name)
    assert close(found, expected), (found, expected)


@pytest.mark.parametrize("name", _names("DIFFERS"))
def test_where_torchscript_differs_a_script_gives_what_python_gives(
    programs: tuple[ModuleType, ModuleType], name: str
) -> None:
    theirs, ours = programs
    found = _ours(ours, name)
    assert not close(found, _results(torch.jit.script(_made(theirs, name)), theirs, name))


@pytest.mark.parametrize("name", _names("WIDER"))
def test_what_torchscript_refuses_gives_what_python_gives(
    programs: tuple[ModuleType, ModuleType], name: str
) -> None:
    theirs, ours = programs
    _ours(ours, name)
    with pytest.raises((RuntimeError, torch.jit.frontend.FrontendError)):
        # Some are refused only where they run.
        torch.jit.script(_made(theirs, name))(*theirs.CASES[name][-1])


# A function of Python's that is kept whole; and an enum, whose class an archive does not know.
WHOLE = {"Exported": "outside", "mode_names": "", "modes": ""}


@pytest.mark.parametrize("name", [one for one in _names("CASES") if one not in WHOLE])
def test_an_archive_gives_what_the_script_gives(programs: tuple[ModuleType, ModuleType], name: str) -> None:
    ours = programs[1]
    script = wb.jit.script(_made(ours, name))
    loaded = _archived(script)
    found, expected = _results(loaded, ours, name), _results(script, ours, name)
    assert close(found, expected), (found, expected)
