"""Batching rules of single ops: those whose parameters speak of dims or sizes, and contractions.

Each takes a `core.batching.Batch` and returns the hidden result, the batch dim in front. What belongs to a family
(elementwise ops, ops along a dim) has its rule in `core.batching` and does not stand here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.core.batching import Batch, Rule, elementwise, folded, one_by_one, shifted
from workbench.ops import ops

__all__ = ["attach"]

# --------------------------------------------------------------------------------------- shapes and views


def _same_value(b: Batch) -> Any:
    return b.inputs[0]


def _as_it_is(b: Batch) -> Any:
    return b.run(*b.inputs, **b.params)


def _resized(b: Batch) -> Any:
    return b.sized(b.inputs[0])


def _permute(b: Batch) -> Any:
    return ops.permute(b.inputs[0], dim=(0, *shifted(b.params["dim"])))


def _unsqueeze(b: Batch) -> Any:
    return ops.unsqueeze(b.inputs[0], dim=b.params["dim"] + 1, name=None)


def _expand(b: Batch) -> Any:
    shape = b.shape(0)
    aligned = (b.size, *(1,) * (len(b.out.sizes) - len(shape)), *shape)
    value = b.inputs[0]
    if value._array.shape != aligned:
        value = ops.reshape(value, sizes=aligned)
    return ops.expand(value, sizes=(b.size, *b.out.sizes))


def _sum_to(b: Batch) -> Any:
    shape, sizes = b.shape(0), b.out.sizes
    extra = len(shape) - len(sizes)
    axes = [*range(extra), *(i + extra for i, size in enumerate(sizes) if size == 1 != shape[i + extra])]
    value = b.inputs[0]
    return b.sized(ops.sum(value, dim=shifted(tuple(axes)), keepdim=False) if axes else value)


def _unflatten(b: Batch) -> Any:
    return b.sized(b.inputs[0])


def _all_batched(b: Batch) -> Any:
    """For ops along a `dim` of several inputs: each gets a batch dim."""
    values = [b.whole(i) for i in range(len(b.inputs))]
    return b.run(*values, **{**b.params, "dim": shifted(b.params["dim"])})


def _equal_shapes(b: Batch) -> Any:
    """For elementwise ops on inputs of one shape that do not broadcast: each gets a batch dim."""
    return b.run(*[b.whole(i) for i in range(len(b.inputs))], **b.params)


def _scatter_add(b: Batch) -> Any:
    sizes = (b.size, *b.params["sizes"])
    return b.run(b.whole(0), b.whole(1), dim=b.params["dim"] + 1, sizes=sizes)


def _pad(b: Batch) -> Any:
    return ops.pad(b.inputs[0], padding=((0, 0), *b.params["padding"]), value=b.params["value"])


# ----------------------------------------------------------------------------------------------- indexing


def _advanced(key: tuple[Any, ...]) -> int:
    """Return how many dims the arrays of `key` make at the front of the result, where NumPy puts them; else 0."""
    arrays = [one for one in key if isinstance(one, np.ndarray)]
    places = [i for i, one in enumerate(key) if isinstance(one, np.ndarray | int)]
    if not arrays or places == list(range(places[0], places[-1] + 1)):
        return 0
    shapes = [(int(np.count_nonzero(one)),) if one.dtype == bool else one.shape for one in arrays]
    return len(np.broadcast_shapes(*shapes))


def _index(b: Batch) -> Any:
    key = b.params["key"]
    if any(isinstance(one, np.ndarray) and one.ndim == 0 and one.dtype == bool for one in key):
        return one_by_one(b)
    value = ops.index(b.inputs[0], key=(slice(None), *key))
    front = _advanced(key)
    if not front:
        return value
    rest = range(front + 1, len(value._array.shape))
    return ops.permute(value, dim=(front, *range(front), *rest))


def _index_add(b: Batch) -> Any:
    key = b.params["key"]
    if any(isinstance(one, np.ndarray) and one.ndim == 0 and one.dtype == bool for one in key):
        return one_by_one(b)
    value = b.inputs[0]
    front = _advanced(key)
    if front:
        rest = range(front + 1, len(value._array.shape))
        value = ops.permute(value, dim=(*range(1, front + 1), 0, *rest))
    return ops.index_add(value, key=(slice(None), *key), sizes=(b.size, *b.params["sizes"]))


# ------------------------------------------------------------------------------------------- contractions


def _swap(value: Any) -> Any:
    ndim = len(value._array.shape)
    return ops.permute(value, dim=(*range(ndim - 2), ndim - 1, ndim - 2))


def _matmul(b: Batch) -> Any:
    x, y = b.inputs
    x_in, y_in = b.batched
    x_shape, y_shape = b.shape(0), b.shape(1)
    if not y_in and len(y_shape) <= 2:
        # All rows of all entries meet the same matrix: one product does.
        rows = folded(x, len(x_shape)) if len(x_shape) > 1 else x
        return b.sized(ops.matmul(rows, y))
    if not x_in and len(y_shape) == 1 and len(x_shape) <= 2:
        return ops.matmul(y, x if len(x_shape) == 1 else _swap(x))
    ndim = max(len(x_shape), len(y_shape), 2)
    left = (*x_shape[:-2], *(x_shape[-2:] if len(x_shape) > 1 else (1, *x_shape)))
    right = (*y_shape[:-2], *(y_shape[-2:] if len(y_shape) > 1 else (*y_shape, 1)))

    def aligned(value: Any, shape: tuple[int, ...], batched: bool) -> Any:
        sizes = (b.size, *(1,) * (ndim - len(shape)), *shape) if batched else shape
        return value if value._array.shape == sizes else ops.reshape(value, sizes=sizes)

    return b.sized(ops.matmul(aligned(x, left, x_in), aligned(y, right, y_in)))


def _linear(b: Batch) -> Any:
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


# ------------------------------------------------------------------- ops whose first dim is a batch already


def _more_samples(b: Batch) -> Any:
    """For an op on inputs [N, …] whose samples do not meet: N of each entry, one after another."""
    values = [folded(b.whole(i), 2) for i in range(len(b.inputs))]
    results = b.run(*values, **b.params)
    if b.op.outputs == 1:
        return b.sized(results)
    return tuple(
        ops.reshape(one, sizes=(b.size, *dims.sizes)) for one, dims in zip(results, b.out, strict=True)
    )


def _pool_gradient(b: Batch) -> Any:
    n, *rest = b.params["input_shape"]
    values = [folded(b.whole(i), 2) for i in range(len(b.inputs))]
    return b.sized(b.run(*values, **{**b.params, "input_shape": (b.size * n, *rest)}))


RULES: dict[str, Rule] = {
    "cat": _all_batched,
    "clone": elementwise,
    "detach": _as_it_is,
    "dropout_mask": _equal_shapes,
    "expand": _expand,
    "flatten": _resized,
    "gather": _all_batched,
    "index": _index,
    "index_add": _index_add,
    "linear": _linear,
    "matmul": _matmul,
    "max_pool2d": _more_samples,
    "max_pool2d_gradient": _pool_gradient,
    "avg_pool2d": _more_samples,
    "avg_pool2d_gradient": _pool_gradient,
    "nll_loss": _more_samples,
    "one_hot": _as_it_is,
    "pad": _pad,
    "permute": _permute,
    "rename": _same_value,
    "reshape": _resized,
    "scatter_add": _scatter_add,
    "sum_to": _sum_to,
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
}
"""Rules by the names of their ops."""


def attach() -> None:
    """Give the ops of the table their batching rules. Called once, when the room is imported."""
    for name, rule in RULES.items():
        if name in ops:
            op = getattr(ops, name)
            if op.batch is None:
                object.__setattr__(op, "batch", rule)


attach()
