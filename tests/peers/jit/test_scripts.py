"""Programs on the topics of TorchScript's documentation give the same in torch.jit.script and in ours."""

from __future__ import annotations

import importlib.util
import sys
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import workbench as wb

torch = pytest.importorskip("torch")

# PyTorch withdraws what it judges here.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

HERE = Path(__file__).parent / "programs.py"


def _imported(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, ModuleType]:
    """The programs for PyTorch and for us."""
    text = HERE.read_text()
    ours = text.replace("import torch\n", "import workbench as torch\n").replace(
        "import torch.nn", "import workbench.nn"
    )
    path = tmp_path_factory.mktemp("programs") / "our_programs.py"
    path.write_text(ours.replace("from torch import", "from workbench import"))
    return _imported("their_programs", HERE), _imported("our_programs", path)


def plain(value: Any) -> Any:
    """Return a result as what both can be compared by."""
    if isinstance(value, wb.Tensor | torch.Tensor):
        return str(value.dtype).rpartition(".")[2], list(value.shape), value.detach().tolist()
    if isinstance(value, Enum):
        return value.name, value.value
    if hasattr(value, "_fields"):
        return dict(zip(value._fields, map(plain, value), strict=True))
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


NAMES = [
    line.strip().partition('"')[2].partition('"')[0]
    for line in HERE.read_text().splitlines()
    if line.startswith('    "')
]


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_it_gives_in_torchscript(
    programs: tuple[ModuleType, ModuleType], name: str
) -> None:
    results = []
    for module, script in zip(programs, (torch.jit.script, wb.jit.script), strict=True):
        compiled = script(getattr(module, name))
        found: list[Any] = []
        for case in module.CASES[name]:
            try:
                found.append(plain(compiled(*case)))
            except (torch.jit.Error, RuntimeError, ValueError, AssertionError):
                # PyTorch's interpreter has one class for all that scripts raise: what one refuses the other refuses.
                found.append("refused")
        results.append(found)
    assert close(results[1], results[0]), results


def close(one: Any, other: Any) -> bool:
    """Say whether two results are the same, floats to six digits."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, tuple | dict) and type(one) is type(other):
        return close(list(one), list(other)) and (
            not isinstance(one, dict) or close(list(one.values()), list(other.values()))
        )
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-6)
    return type(one) is type(other) and bool(one == other)


def test_a_module_gives_what_it_gives_in_torchscript(programs: tuple[ModuleType, ModuleType]) -> None:
    theirs, ours = (module.Loop(2) for module in programs)
    one, other = torch.jit.script(theirs), wb.jit.script(ours)
    for _ in range(2):
        found = [value.detach().tolist() for value in other(wb.ones(2))]
        expected = [value.detach().tolist() for value in one(torch.ones(2))]
        assert found[0] == pytest.approx(expected[0], rel=1e-6) and found[1] == pytest.approx(
            expected[1], rel=1e-6
        )
    assert one.count() == other.count() == 5 and one.steps == other.steps == 4
    assert float(other.total.detach()) == pytest.approx(float(one.total.detach()), rel=1e-6)
