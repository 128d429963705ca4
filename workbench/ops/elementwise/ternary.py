"""Arithmetic on three operands: a product or a quotient added, and the way from one value to another."""

from __future__ import annotations

from workbench.base.errors import DTypeError
from workbench.core.op import ops
from workbench.core.typing import Scalar, Tensor
from workbench.core.value import Value
from workbench.ops.elementwise.arithmetic import ABS, ADD, DIV, MUL, SUB, scaled
from workbench.ops.elementwise.precision import promoted_first, rounded_once
from workbench.ops.offer import offered


@offered(out=True, in_place="Tensor")
@promoted_first
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """Add a product: y = x + value·a·b. Names of all three unify from the right, sizes broadcast.

    >>> import workbench as wb
    >>> wb.addcmul(wb.tensor([1.0]), wb.tensor([2.0]), wb.tensor([3.0]), value=10)
    tensor([61.])
    """
    return ADD(input, MUL(scaled("addcmul", input, tensor1, value), tensor2))


@offered(out=True, in_place="Tensor")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """Add a quotient: y = x + value·a/b. Names of all three unify from the right, sizes broadcast.

    Raises `DTypeError` for two integers.

    >>> import workbench as wb
    >>> wb.addcdiv(wb.tensor([1.0]), wb.tensor([6.0]), wb.tensor([3.0]), value=10)
    tensor([21.])
    """
    # Looked at here, before types are brought together: only the two that are divided count.
    if all(one.payload.dtype.kind in "biu" for one in (tensor1, tensor2)):
        raise DTypeError(
            "Integer division with addcdiv is not supported: write input + value * tensor1 / tensor2 for a quotient in "
            "floats, or div(..., rounding_mode='trunc') for one in integers"
        )
    return _quotient_added(input, tensor1, tensor2, value)


@promoted_first
def _quotient_added(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar) -> Tensor:
    return ADD(input, DIV(scaled("addcdiv", input, tensor1, value), tensor2))


@offered(out=True, in_place="Tensor")
@rounded_once
def lerp(input: Tensor, end: Tensor | float, weight: Tensor | float) -> Tensor:
    """Go from one to the other: y = a + w·(b - a). Names of all three unify from the right, sizes broadcast.

    From half of the way on it is reckoned from the end, so that a weight of 1 gives exactly the end.

    >>> import workbench as wb
    >>> wb.lerp(wb.tensor([1.0, 2.0]), wb.tensor([3.0, 10.0]), 0.5)
    tensor([2., 6.])
    """
    way = SUB(end, input)
    if not isinstance(weight, Value):
        if abs(weight) < 0.5:
            return ADD(input, MUL(way, weight))
        return SUB(end, MUL(way, 1 - weight))
    early = ops.lt(ABS(weight), 0.5)
    return ops.where(early, ADD(input, MUL(weight, way)), SUB(end, MUL(way, SUB(1, weight))))
