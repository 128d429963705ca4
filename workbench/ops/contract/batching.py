"""Batching rules of products."""

from __future__ import annotations

import math
from typing import Any

from workbench.core.batching import Batch, folded
from workbench.core.op import ops


def _swap(value: Any) -> Any:
    ndim = len(value.payload.shape)
    return ops.permute(value, dim=(*range(ndim - 2), ndim - 1, ndim - 2))


def matmul(b: Batch) -> Any:
    """One product where all entries meet the same matrix, else a batch of products."""
    x, y = b.inputs
    x_in, y_in = b.batched
    x_shape, y_shape = b.shape(0), b.shape(1)
    if not y_in and len(y_shape) <= 2:
        # All rows of all entries meet the same matrix: one product does.
        if len(x_shape) == 1:
            return ops.matmul(x, y)
        return ops.reshape(
            ops.matmul(folded(x, len(x_shape)), y), sizes=(b.size, *x_shape[:-1], *y_shape[1:])
        )
    # The vectors of all entries are the rows of one product with the matrix.
    if not x_in and len(y_shape) == 1 and len(x_shape) <= 2:
        return ops.matmul(y, x) if len(x_shape) == 1 else ops.linear(y, x)
    # Vectors get the dim that matmul would give them: behind a batch dim it cannot tell them from matrices.
    ndim = max(len(x_shape), len(y_shape), 2)
    left = (*x_shape[:-2], *(x_shape[-2:] if len(x_shape) > 1 else (1, *x_shape)))
    right = (*y_shape[:-2], *(y_shape[-2:] if len(y_shape) > 1 else (*y_shape, 1)))

    def aligned(value: Any, shape: tuple[int, ...], batched: bool) -> Any:
        sizes = (b.size, *(1,) * (ndim - len(shape)), *shape) if batched else shape
        return value if value.payload.shape == sizes else ops.reshape(value, sizes=sizes)

    return b.sized(ops.matmul(aligned(x, left, x_in), aligned(y, right, y_in)))


def linear(b: Batch) -> Any:
    """One weight serves the rows of all entries; weights of their own make a batch of products."""
    x, weight = b.inputs[:2]
    if not any(b.batched[1:]):
        return b.run(*b.inputs)
    shape = b.shape(0)
    rows = math.prod(shape[:-1])
    if b.batched[1]:
        flat = ops.reshape(x, sizes=(b.size, rows, shape[-1]) if b.batched[0] else (rows, shape[-1]))
        out = b.sized(ops.matmul(flat, _swap(weight)))
    else:
        out = ops.linear(x, weight)
    if len(b.inputs) < 3:
        return out
    bias = b.inputs[2]
    if b.batched[2]:
        bias = ops.reshape(bias, sizes=(b.size, *(1,) * (len(shape) - 1), b.out.sizes[-1]))
    return ops.add(out, bias)
