"""Batching rules of single ops: shapes, contractions and matrices, and what gives all ops their rules.

Indexing has its rules in `batch_index`, layers have theirs in `batch_layers`, losses in `batch_losses`. Each takes a
`core.batching.Batch` and returns the hidden result, the batch dim in front. What belongs to a family (elementwise ops,
ops along a dim) has its rule in `core.batching` and does not stand here.
"""

from __future__ import annotations

import math
from typing import Any

from workbench.autograd.batch_index import RULES as INDEX_RULES
from workbench.autograd.batch_layers import RULES as LAYER_RULES
from workbench.autograd.batch_losses import RULES as LOSS_RULES
from workbench.core.batching import Batch, Rule, elementwise, folded, one_by_one, shifted
from workbench.core.op import Op
from workbench.ops import ops

__all__ = ["attach"]

# --------------------------------------------------------------------------------------- shapes and views


def _same_value(b: Batch) -> Any:
    return b.inputs[0]


def _as_it_is(b: Batch) -> Any:
    return b.run(*b.inputs, **b.params)


def _resized(b: Batch) -> Any:
    return b.sized(b.inputs[0])


def _reshape(b: Batch) -> Any:
    sizes = b.params["sizes"]
    return b.sized(b.inputs[0]) if -1 in sizes else ops.reshape(b.inputs[0], sizes=(b.size, *sizes))


def _permute(b: Batch) -> Any:
    return ops.permute(b.inputs[0], dim=(0, *shifted(b.params["dim"])))


def _unsqueeze(b: Batch) -> Any:
    return ops.unsqueeze(b.inputs[0], dim=b.params["dim"] + 1, name=None)


def _expand(b: Batch) -> Any:
    shape, sizes = b.shape(0), b.params["sizes"]
    aligned = (b.size, *(1,) * (len(sizes) - len(shape)), *shape)
    value = b.inputs[0]
    if value.payload.shape != aligned:
        value = ops.reshape(value, sizes=aligned)
    return ops.expand(value, sizes=(b.size, *sizes))


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


def _pad(b: Batch) -> Any:
    return ops.pad(b.inputs[0], padding=((0, 0), *b.params["padding"]), value=b.params["value"])


def _dim_pair(b: Batch) -> Any:
    """For ops with two dims ``dim1`` and ``dim2``."""
    params = {**b.params, "dim1": b.params["dim1"] + 1, "dim2": b.params["dim2"] + 1}
    if "name" in params:
        params["name"] = None
    if "sizes" in params:
        params["sizes"] = (b.size, *params["sizes"])
    return b.run(b.inputs[0], **params)


def _diagonal_scatter(b: Batch) -> Any:
    """The value has as many dims as the diagonal, or fewer."""
    rank, shape = len(b.shape(0)) - 1, b.shape(1)
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (rank - len(shape)), *shape))
    params = {**b.params, "dim1": b.params["dim1"] + 1, "dim2": b.params["dim2"] + 1}
    return b.run(b.whole(0), value, **params)


def _stack(b: Batch) -> Any:
    return b.run(*[b.whole(i) for i in range(len(b.inputs))], dim=b.params["dim"] + 1, name=None)


def _roll(b: Batch) -> Any:
    return b.run(b.inputs[0], shifts=b.params["shifts"], dim=shifted(b.params["dim"]))


def _repeat(b: Batch) -> Any:
    shape, counts = b.shape(0), b.params["counts"]
    aligned = (b.size, *(1,) * (len(counts) - len(shape)), *shape)
    return b.run(ops.reshape(b.inputs[0], sizes=aligned), counts=(1, *counts))


def _windows(b: Batch) -> Any:
    sizes = (b.size, *b.params["sizes"])
    return b.run(b.inputs[0], **{**b.params, "sizes": sizes, "dim": b.params["dim"] + 1})


# ------------------------------------------------------------------------------------------- contractions


def _swap(value: Any) -> Any:
    ndim = len(value.payload.shape)
    return ops.permute(value, dim=(*range(ndim - 2), ndim - 1, ndim - 2))


def _matmul(b: Batch) -> Any:
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
    if not x_in and len(y_shape) == 1 and len(x_shape) <= 2:
        return ops.matmul(y, x) if len(x_shape) == 1 else ops.linear(y, x)
    ndim = max(len(x_shape), len(y_shape), 2)
    left = (*x_shape[:-2], *(x_shape[-2:] if len(x_shape) > 1 else (1, *x_shape)))
    right = (*y_shape[:-2], *(y_shape[-2:] if len(y_shape) > 1 else (*y_shape, 1)))

    def aligned(value: Any, shape: tuple[int, ...], batched: bool) -> Any:
        sizes = (b.size, *(1,) * (ndim - len(shape)), *shape) if batched else shape
        return value if value.payload.shape == sizes else ops.reshape(value, sizes=sizes)

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
    for i, batched in enumerate(b.batched):
        rank = len(b.shape(i))
        if rank < 2 and (batched or rank):
            return one_by_one(b)
    return elementwise(b)


def _largest(name: str) -> Rule:
    """For the largest or smallest of all values."""

    def rule(b: Batch) -> Any:
        rank = len(b.shape(0))
        return getattr(ops, name)(b.inputs[0], dim=tuple(range(1, rank + 1)), keepdim=False)

    return rule


def _whole(b: Batch) -> Any:
    """For ops on any number of batch dims at the left that do not broadcast."""
    return b.run(*[b.whole(i) for i in range(len(b.inputs))], **b.params)


def _drawn(b: Batch) -> Any:
    """For what is drawn by place: every entry draws the same."""
    first, last = b.params["drawn"]
    values = [b.whole(i) for i in range(len(b.inputs))]
    return b.run(*values, **{**b.params, "drawn": (first + 1, last + 1)})


RULES: dict[str, Rule] = {
    "add_windows": _windows,
    "cat": _all_batched,
    "class_list": _as_it_is,
    "detach": _as_it_is,
    "diagonal": _dim_pair,
    "diagonal_embed": _dim_pair,
    "diagonal_scatter": _diagonal_scatter,
    "dropout": _drawn,
    "expand": _expand,
    "fill": _as_it_is,
    "flatten": _resized,
    "geqrf": _matrices,
    "glu": _all_batched,
    "glu_gradient": _all_batched,
    "imag": _as_it_is,
    "linalg_lstsq": _whole,
    "linear": _linear,
    "linear_scan": _all_batched,
    "matmul": _matmul,
    "max": _largest("amax"),
    "min": _largest("amin"),
    "one_hot": _as_it_is,
    "pad": _pad,
    "permutation_matrix": _whole,
    "permute": _permute,
    "real": _as_it_is,
    "rename": _same_value,
    "repeat": _repeat,
    "reshape": _reshape,
    "roll": _roll,
    "rrelu": _drawn,
    "rrelu_gradient": _drawn,
    "stack": _stack,
    "sum_to": _sum_to,
    "to_device": _as_it_is,
    "tril": _matrices,
    "triu": _matrices,
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
    "view_as_complex": _as_it_is,
    "view_as_real": _as_it_is,
}
"""Rules by the names of their ops."""

ELEMENTWISE = (
    "binary_cross_entropy",
    "clamp",
    "complex",
    "fake_quantize_per_tensor",
    "fake_quantize_per_tensor_gradient",
    "relu_gradient",
    "to",
    "where",
)
"""Elementwise ops that are in no family: their records have more inputs, or parameters."""


def _rule_of(op: Op) -> Rule | None:
    if op.name in RULES:
        return RULES[op.name]
    if op.name in ELEMENTWISE or "elementwise" in op.properties:
        return elementwise
    return _matrices if op.name.startswith("linalg_") else None


def attach() -> None:
    """Give the ops of the table their batching rules. Called once, when the room is imported."""
    for op in ops:
        rule = _rule_of(op)
        if op.batch is None and rule is not None:
            object.__setattr__(op, "batch", rule)


RULES |= INDEX_RULES | LAYER_RULES | LOSS_RULES
attach()
