"""Activations that move values towards 0, drop those near it, or replace what is below a threshold."""

from __future__ import annotations

from workbench.base.numbers import fitted
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.nn.activation.parametric_ops import HARDSHRINK, SOFTSHRINK, THRESHOLD
from workbench.ops.nn.activation.pointwise import settled
from workbench.ops.offer import offered


@offered("nn.functional")
@rounded_once
def softsign(input: Tensor) -> Tensor:
    """Softly bounded: y = x/(1 + |x|). Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.softsign(wb.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return ops.div(input, ops.add(ops.abs(input), 1.0))


@offered("nn.functional")
@rounded_once
def tanhshrink(input: Tensor) -> Tensor:
    """What tanh takes away: y = x - tanh x. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.tanhshrink(wb.tensor([0.0, 2.0]))
    tensor([0.0000, 1.0360])
    """
    return ops.sub(input, ops.tanh(input))


@offered("nn.functional")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move values towards 0: y = x - λ above λ, x + λ below -λ, 0 between. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.softshrink(wb.tensor([-2.0, 0.3, 2.0]))
    tensor([-1.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise ValueError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return SOFTSHRINK(input, bound=lambd)


@offered("workbench", "Tensor", "nn.functional")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Drop values near 0: y = x where |x| > λ, 0 elsewhere. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.nn.functional.hardshrink(wb.tensor([-2.0, 0.3, 2.0]))
    tensor([-2.0000,  0.0000,  2.0000])
    """
    return HARDSHRINK(input, bound=lambd)


@offered("workbench", "nn.functional", in_place="nn.functional")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace what is not above a threshold: y = x where x > threshold, value elsewhere. Names pass through.

    >>> import workbench as wb
    >>> wb.threshold(wb.tensor([-2.0, 0.3, 2.0]), 0.5, 9.0)
    tensor([9.0000, 9.0000, 2.0000])
    """
    bounds = (threshold, value)
    if input.payload.dtype.kind in "iu":
        bounds = (int(threshold), fitted("threshold", value, input.payload.dtype))
    return settled("threshold", input, inplace, lambda x: THRESHOLD(x, threshold=bounds[0], value=bounds[1]))
