"""An op is declared in one file: everything else follows from that file being there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CUBE = '''"""Cubes, as an example of what one file is enough for."""

from __future__ import annotations

from workbench.core.families import unary
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.ops.offer import offer, offered

CUBE = unary(
    "cube",
    "Cube.",
    "y = x³",
    lambda x: x * x * x,
    lambda c, g: ops.mul(g, ops.mul(ops.mul(c.inputs[0], c.inputs[0]), 3.0)),
)
offer(CUBE, "[1.0, 2.0]", "tensor([1., 8.])", aliases=["third_power"], out=True, in_place=True)


@offered("nn.functional")
def cubed_sum(input: Tensor, dim: str | None = None) -> Tensor:
    """Sum of cubes."""
    return CUBE(input).sum(dim)
'''

PROGRAM = """
import workbench as wb
from workbench.core.op import ops
from workbench.lab.operations import detail
from workbench.lab.stubs import stubs
from workbench.testing import check_op

x = wb.tensor([1.0, 2.0], names=("C",), requires_grad=True)
(gradient,) = wb.autograd.grad(wb.cube(x).sum(), [x])
assert gradient.tolist() == [3.0, 12.0]
assert wb.third_power(x).names == x.cube().names == ("C",)
y = x.detach().clone()
assert y.cube_() is y and wb.cube_(y).tolist() == [1.0, 512.0]
out = wb.empty(2)
assert wb.cube(x.detach(), out=out) is out and out.tolist() == [1.0, 8.0]
assert wb.nn.functional.cubed_sum(x).item() == 9.0
assert wb.func.vmap(wb.cube)(wb.ones(3, 2)).shape == (3, 2)
check_op(ops.cube)
written = stubs()
assert "def cube(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:" in written["__init__.pyi"]
assert "def third_power_(self) -> _Tensor:" in written["tensor/methods.pyi"]
assert "def cubed_sum(input: _Tensor, dim: _str | None = None) -> _Tensor:" in written["nn/functional.pyi"]
assert "y = x³" in detail(["cube"]) and "wb.cube(wb.tensor([1.0, 2.0]))" in wb.cube.__doc__
print(wb.__file__)
"""


def test_a_declaration_in_one_file_is_all_it_takes(root: Path, tmp_path: Path) -> None:
    """The package, linked file by file, and one file more in a family."""
    real = root / "workbench"
    package = tmp_path / "workbench"
    family = package / "ops" / "elementwise"
    family.mkdir(parents=True)
    for folder in (package, package / "ops", family):
        for one in (real / folder.relative_to(package)).iterdir():
            if one.name != "__pycache__" and not (folder / one.name).exists():
                (folder / one.name).symlink_to(one)
    (family / "cube.py").write_text(CUBE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(package / "__init__.py")
