"""Entries of matrices: their diagonals, and matrices whose entries are powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Dim, Tensor
from workbench.core.value import dims_of
from workbench.ops.contract.products import bare, named
from workbench.ops.linalg.matrices import column, shape
from workbench.ops.offer import offered


@offered("linalg")
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Powers of every value, from 0 to N - 1: y[…, i, j] = x[…, i]ʲ.

    >>> import workbench as wb
    >>> wb.linalg.vander(wb.tensor([1, 2, 3]), N=3).tolist()
    [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
    """
    if not shape(x):
        x = ops.reshape(x, sizes=(1,))
    count = shape(x)[-1] if N is None else N
    if N is not None and N <= 1:
        raise DimensionError(f"N must be greater than 1. It is {N}.", op="linalg.vander")
    if x.payload.dtype.kind in "biu":  # powers leave the range of small integers soon
        x = ops.to(x, dtype=np.dtype(np.int64))
    power = column(x)
    powers = ops.fill(ops.detach(power), value=1)
    powers = ops.cat(powers, power, dim=len(shape(x)))
    # Each round multiplies all powers that are known by the next one, and so doubles their number.
    while shape(powers)[-1] < count:
        known = shape(powers)[-1]
        last = ops.index(powers, key=(Ellipsis, slice(known - 1, known)))
        more = ops.index(powers, key=(Ellipsis, slice(1, min(known, count - known + 1))))
        powers = ops.cat(powers, ops.mul(more, last), dim=len(shape(x)))
    return ops.index(powers, key=(Ellipsis, slice(0, count)))


@offered("linalg", name="diagonal")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: Dim = -2, dim2: Dim = -1) -> Tensor:
    """Diagonals of matrices, as the last dim: y[…, i] = A[…, i, i + offset].

    >>> import workbench as wb
    >>> wb.linalg.diagonal(wb.eye(3), offset=1)
    tensor([0., 0.])
    """
    dims = dims_of(A)
    i, j = dim_index(dims, dim1, "linalg.diagonal"), dim_index(dims, dim2, "linalg.diagonal")
    if i == j:
        raise DimensionError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}", operands=(dims.operand("A", [i]),)
        )
    rest = tuple(k for k in range(len(dims.sizes)) if k not in (i, j))
    return diagonal_of(ops.permute(A, dim=(*rest, i, j)), offset)


def diagonal_of(x: Any, offset: int = 0) -> Tensor:
    """Return the diagonal `offset` of every matrix, as a last dim without a name."""
    sizes, names = shape(x), dims_of(x).names
    rows, columns = sizes[-2:]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = offset if offset >= 0 else -offset * columns
    flat = ops.reshape(bare(x), sizes=(*sizes[:-2], rows * columns))
    stop = start + (count - 1) * (columns + 1) + 1 if count else start
    picked = ops.index(flat, key=(Ellipsis, slice(start, stop, columns + 1)))
    return named(picked, (*names[:-2], None))
