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


def _matrices(b: Batch) -> Any:
    """For ops on matrices with any number of batch dims at their left, which meet from the right."""
    shapes = [b.shape(i) for i in range(len(b.inputs))]
    if min(len(shape) for shape in shapes) < 2:
        return one_by_one(b)
    return elementwise(b)


def _largest(name: str) -> Rule:
    """For the largest or smallest of all values."""

    def rule(b: Batch) -> Any:
        rank = len(b.shape(0))
        return getattr(ops, name)(b.inputs[0], dim=tuple(range(1, rank + 1)), keepdim=False)

    return rule


# ---------------------------------------------------------------------- ops on [N, C, …]: N and C take the batch


def _samples(value: Any) -> Any:
    """Lay a hidden value [B, N, …] out as more samples [B·N, …]."""
    return folded(value, 2)


def _channels(value: Any) -> Any:
    """Lay a hidden value [B, N, C, …] out as more channels [N, B·C, …]."""
    ndim = len(value._array.shape)
    swapped = ops.permute(value, dim=(1, 0, *range(2, ndim)))
    n, b, c, *rest = swapped._array.shape
    return ops.reshape(swapped, sizes=(n, b * c, *rest))


def _unchanneled(b: Batch, value: Any) -> Any:
    """Undo `_channels`."""
    n, wide, *rest = value._array.shape
    split = ops.reshape(value, sizes=(n, b.size, wide // b.size, *rest))
    return ops.permute(split, dim=(1, 0, *range(2, len(rest) + 3)))


def _as_samples(b: Batch) -> Any:
    """For an op on inputs [N, …] whose samples do not meet: N of each entry, one after another."""
    results = b.run(*[_samples(b.whole(i)) for i in range(len(b.inputs))], **b.params)
    if b.op.outputs == 1:
        return b.sized(results)
    return tuple(
        ops.reshape(one, sizes=(b.size, *dims.sizes)) for one, dims in zip(results, b.out, strict=True)
    )


def _pool_gradient(b: Batch) -> Any:
    n, *rest = b.params["input_shape"]
    values = [_samples(b.whole(i)) for i in range(len(b.inputs))]
    return b.sized(b.run(*values, **{**b.params, "input_shape": (b.size * n, *rest)}))


def _convolution(b: Batch) -> Any:
    """Entries with one weight are more samples; with a weight each they are groups of channels."""
    if any(b.batched[2:]):
        bias = b.inputs[2]
        rank = len(b.shape(0))
        without = Batch(b.op, b.entries[:2], b.inputs[:2], b.batched[:2], b.params, b.size)
        column = ops.reshape(bias, sizes=(b.size, 1, *b.shape(2), *(1,) * (rank - 2)))
        return ops.add(
            _convolution(without) if any(b.batched[:2]) else b.run(*b.inputs[:2], **b.params), column
        )
    if not b.batched[1]:
        return b.sized(b.run(_samples(b.inputs[0]), *b.inputs[1:], **b.params))
    groups = {**b.params, "groups": b.params["groups"] * b.size}
    out = _unchanneled(b, b.run(_channels(b.whole(0)), folded(b.inputs[1], 2), **groups))
    if len(b.inputs) > 2:
        bias = b.inputs[2]
        out = ops.add(out, ops.reshape(bias, sizes=(*b.shape(2), *(1,) * (len(b.shape(0)) - 2))))
    return out


def _convolution_input_gradient(b: Batch) -> Any:
    n, c, *rest = b.params["input_shape"]
    if not b.batched[1]:
        params = {**b.params, "input_shape": (b.size * n, c, *rest)}
        return b.sized(b.run(_samples(b.inputs[0]), b.inputs[1], **params))
    params = {**b.params, "input_shape": (n, b.size * c, *rest), "groups": b.params["groups"] * b.size}
    return _unchanneled(b, b.run(_channels(b.whole(0)), folded(b.inputs[1], 2), **params))


def _convolution_weight_gradient(b: Batch) -> Any:
    o, *rest = b.params["weight_shape"]
    params = {**b.params, "weight_shape": (b.size * o, *rest), "groups": b.params["groups"] * b.size}
    return b.sized(b.run(_channels(b.whole(0)), _channels(b.whole(1)), **params))


RULES: dict[str, Rule] = {
    "binary_cross_entropy": elementwise,
    "cat": _all_batched,
    "clamp": elementwise,
    "complex": elementwise,
    "detach": _as_it_is,
    "dropout_mask": _equal_shapes,
    "expand": _expand,
    "flatten": _resized,
    "gather": _all_batched,
    "imag": _as_it_is,
    "index": _index,
    "index_add": _index_add,
    "linalg_inv": _matrices,
    "linalg_solve": _matrices,
    "linalg_solve_triangular": _matrices,
    "linear": _linear,
    "matmul": _matmul,
    "max": _largest("amax"),
    "min": _largest("amin"),
    "one_hot": _as_it_is,
    "pad": _pad,
    "permute": _permute,
    "real": _as_it_is,
    "relu_gradient": elementwise,
    "rename": _same_value,
    "reshape": _resized,
    "scatter_add": _scatter_add,
    "sum_to": _sum_to,
    "to": elementwise,
    "to_device": _as_it_is,
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
    "view_as_complex": _as_it_is,
    "view_as_real": _as_it_is,
    "where": elementwise,
}
"""Rules by the names of their ops."""

for _n in (1, 2, 3):
    RULES[f"conv{_n}d"] = _convolution
    RULES[f"conv{_n}d_input_gradient"] = _convolution_input_gradient
    RULES[f"conv{_n}d_weight_gradient"] = _convolution_weight_gradient
    for _pool in ("max", "avg"):
        RULES[f"{_pool}_pool{_n}d"] = _as_samples
        RULES[f"{_pool}_pool{_n}d_gradient"] = _pool_gradient


def attach() -> None:
    """Give the ops of the table their batching rules. Called once, when the room is imported."""
    for op in ops:
        rule = RULES.get(op.name, elementwise if "elementwise" in op.properties else None)
        if op.batch is None and rule is not None:
            object.__setattr__(op, "batch", rule)


attach()
