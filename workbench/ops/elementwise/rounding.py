"""Rounding: to integers, to decimals, and what is left over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.core.families import unary
from workbench.core.op import Op, Saves, ops
from workbench.core.typing import Tensor
from workbench.ops.elementwise.complex import real_only, zeros
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.offer import offer, offered

NOTHING = Saves((), output=False)


def _rounding(name: str, doc: str, equation: str, ufunc: Callable[[Any], Any]) -> Op:
    def forward(x: Any) -> Any:
        return ufunc(x) if x.dtype.kind == "f" else x.copy()

    return unary(name, doc, equation, forward, lambda c, g: zeros(g), saves=NOTHING, dtype=real_only(name))


FLOOR = _rounding("floor", "Largest integer not above.", "y = ⌊x⌋", np.floor)
offer(FLOOR, "[1.7, -1.7]", "tensor([ 1., -2.])", out="exact", in_place=True)
CEIL = _rounding("ceil", "Smallest integer not below.", "y = ⌈x⌉", np.ceil)
offer(CEIL, "[1.2, -1.2]", "tensor([ 2., -1.])", out="exact", in_place=True)
TRUNC = _rounding("trunc", "Integer part: rounded towards 0.", "y = sgn(x)·⌊|x|⌋", np.trunc)
offer(TRUNC, "[1.7, -1.7]", "tensor([ 1., -1.])", aliases=["fix"], out="exact", in_place=True)
ROUND = _rounding("round", "Nearest integer, halves to even.", "y = rne(x)", np.rint)

# ---------------------------------------------------------------------------------- the words people use


@offered("workbench", "Tensor", "special", out="exact", in_place=True)
@rounded_once
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round to `decimals` digits after the point (before it where negative), halves to even: y = rne(x·10^d)/10^d.

    Names and sizes pass through. The gradient is 0.

    >>> import workbench as wb
    >>> wb.round(wb.tensor([0.5, 1.5, 2.345])), wb.round(wb.tensor([2.345]), decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
    if decimals == 0:
        return ROUND(input)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return ops.div(ROUND(ops.mul(input, scale)), scale)
    # By 10^-d, which is no binary fraction, results would be off by a bit.
    return ops.mul(ROUND(ops.div(input, scale)), scale)


@offered(out="exact", in_place=True)
def frac(input: Tensor) -> Tensor:
    """Fractional part, with the sign of the value: y = x - sgn(x)·⌊|x|⌋. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.frac(wb.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """
    return ops.sub(input, TRUNC(input))
