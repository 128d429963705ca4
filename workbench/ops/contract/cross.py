"""Cross products of vectors of three values."""

from __future__ import annotations

from typing import Any

from workbench.base.dims import dim_index
from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered


def _cross(op: str, input: Any, other: Any, dim: int | str) -> Tensor:
    a, b = dims_of(input), dims_of(other)
    if len(a.sizes) != len(b.sizes):
        raise DimensionError(
            f"{op}: inputs must have the same number of dimensions.",
            operands=(a.operand("input"), b.operand("other")),
        )
    i = dim_index(a, dim, op) if not isinstance(dim, str) or dim in a.names else dim_index(b, dim, op)
    if a.sizes[i] != 3 or b.sizes[i] != 3:
        raise DimensionError(
            f"{op}: inputs dimension {dim} must have length 3. Got {a.sizes[i]} and {b.sizes[i]}",
            operands=(a.operand("input", [i]), b.operand("other", [i])),
        )
    ndim = len(a.sizes)

    def turned(x: Any, by: int) -> Any:
        at = (slice(None),) * i
        parts = [ops.index(x, key=(*at, slice(by, 3))), ops.index(x, key=(*at, slice(0, by)))]
        return ops.cat(*parts, dim=i)

    assert ndim
    return ops.sub(
        ops.mul(turned(input, 1), turned(other, 2)),
        ops.mul(turned(input, 2), turned(other, 1)),
    )


@offered("linalg", name="cross", out="exact")
def linalg_cross(input: Tensor, other: Tensor, *, dim: Dim = -1) -> Tensor:
    """Cross product of vectors of three values along a dim: y = a × b. Other dims broadcast.

    >>> import workbench as wb
    >>> wb.linalg.cross(wb.tensor([1.0, 0.0, 0.0]), wb.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return _cross("linalg.cross", input, other, dim)


@offered(out="exact")
def cross(input: Tensor, other: Tensor, dim: Dim | None = None) -> Tensor:
    """Cross product along a dim, or without one along the first that has size 3; see `linalg.cross`.

    >>> import workbench as wb
    >>> wb.cross(wb.tensor([1.0, 0.0, 0.0]), wb.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if dim is None:
        sizes = dims_of(input).sizes
        if 3 not in sizes:
            raise DimensionError(
                "no dimension of size 3 in input", op="cross", operands=(dims_of(input).operand("input"),)
            )
        dim = sizes.index(3)
    return _cross("linalg.cross", input, other, dim)
