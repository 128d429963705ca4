"""Batching rules of losses: nothing is reduced over entries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.core.batching import Batch, elementwise, folded, one_by_one
from workbench.core.op import ops


def _each(b: Batch, *inputs: Any) -> Any:
    params = {**b.params, "reduction": "none"}
    return elementwise(Batch(b.op, b.entries, inputs, b.batched, params, b.size))


def pointwise_loss(b: Batch) -> Any:
    """Each place by itself, then what is reduced of each entry."""
    each = _each(b, *b.inputs)
    dims = tuple(range(1, len(each.payload.shape)))
    if b.params["reduction"] == "none" or not dims:
        return each
    return (ops.mean if b.params["reduction"] == "mean" else ops.sum)(each, dim=dims, keepdim=False)


def pointwise_loss_gradient(b: Batch) -> Any:
    """Each place by itself, with the share that it had in its entry."""
    g, *others = b.inputs
    if b.params["reduction"] == "mean":
        # By the count of one entry of the batch; without it, the op would divide by that of all.
        g = ops.div(g, float(math.prod(np.broadcast_shapes(b.shape(1), b.shape(2)))))
    return _each(b, g, *others)


def _all_dims(value: Any) -> tuple[int, ...]:
    return tuple(range(1, len(value.payload.shape)))


def _samples(value: Any, rank: int) -> Any:
    """Lay the samples of all entries out one after another; an entry without samples is one."""
    return folded(value, 2) if rank > 1 else value


def nll_loss(b: Batch) -> Any:
    """The samples of all entries at once, then what is reduced of each entry."""
    # A weight of its own for each entry: the op has one for all.
    if any(b.batched[2:]):
        return one_by_one(b)
    shape, target_shape = b.shape(0), b.shape(1)
    x, target = _samples(b.whole(0), len(shape)), _samples(b.whole(1), len(shape))
    weight = b.inputs[2:]
    ignore = b.params["ignore_index"]
    each = ops.nll_loss(x, target, *weight, reduction="none", ignore_index=ignore)
    each = ops.reshape(each, sizes=(b.size, *target_shape))
    if b.params["reduction"] == "none":
        return each
    total = ops.sum(each, dim=_all_dims(each), keepdim=False)
    if b.params["reduction"] == "sum":
        return total
    return ops.div(total, _counted(b, target, target_shape, weight, shape, x.payload.dtype))


def _counted(
    b: Batch, target: Any, target_shape: tuple[int, ...], weight: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    """Return what the samples of each entry count for together."""
    ignore = b.params["ignore_index"]
    if not weight:
        counts = ops.to(ops.ne(target, ignore), dtype=dtype)
    else:
        sizes = (b.size * shape[0], *shape[1:]) if len(shape) > 1 else (b.size, *shape)
        column = (1, -1, *(1,) * (len(sizes) - 2))
        spread = ops.expand(ops.reshape(weight[0], sizes=tuple(_fitted(column, weight[0]))), sizes=sizes)
        # The loss of rows of weights is minus the weight of each target, and 0 for those that are ignored.
        counts = ops.neg(ops.nll_loss(spread, target, reduction="none", ignore_index=ignore))
    counts = ops.reshape(counts, sizes=(b.size, *target_shape))
    return ops.sum(counts, dim=_all_dims(counts), keepdim=False)


def _fitted(sizes: tuple[int, ...], value: Any) -> list[int]:
    return [math.prod(value.payload.shape) if size == -1 else size for size in sizes]


def nll_loss_gradient(b: Batch) -> Any:
    """The samples of all entries at once, each with the share that it had in its entry."""
    if any(b.batched[2:]):
        return one_by_one(b)
    shape, target_shape = b.params["sizes"], b.shape(1)
    target = _samples(b.whole(1), len(shape))
    weight = b.inputs[2:]
    g = b.whole(0)
    if b.params["reduction"] == "mean":
        g = ops.div(g, _counted(b, target, target_shape, weight, shape, g.payload.dtype))
    if b.params["reduction"] != "none":
        g = ops.expand(
            ops.reshape(g, sizes=(b.size, *(1,) * len(target_shape))), sizes=(b.size, *target_shape)
        )
    sizes = (b.size * shape[0], *shape[1:]) if len(shape) > 1 else (b.size, *shape)
    ignore = b.params["ignore_index"]
    made = ops.nll_loss_gradient(
        _samples(g, len(shape)), target, *weight, sizes=sizes, reduction="none", ignore_index=ignore
    )
    return b.sized(made)


def _scores(b: Batch, i: int) -> tuple[Any, Any, Any]:
    """Return scores and classes of all entries one after another, and how many places of each entry count."""
    x, target = b.whole(i), b.whole(i + 1)
    counted = ops.to(ops.ne(target, b.params["ignore_index"]), dtype=x.payload.dtype)
    counts = ops.sum(counted, dim=_all_dims(counted), keepdim=False)
    return folded(x, 2), folded(target, 2), counts


def cross_entropy(b: Batch) -> Any:
    """The places of all entries at once, then what is reduced of each entry."""
    x, target, counts = _scores(b, 0)
    each = ops.cross_entropy(x, target, **{**b.params, "reduction": "none"})
    each = ops.reshape(each, sizes=(b.size, *b.shape(1)))
    if b.params["reduction"] == "none":
        return each
    total = ops.sum(each, dim=_all_dims(each), keepdim=False)
    return ops.div(total, counts) if b.params["reduction"] == "mean" else total


def cross_entropy_gradient(b: Batch) -> Any:
    """The places of all entries at once, each with the share that it had in its entry."""
    x, target, counts = _scores(b, 1)
    places = b.shape(2)
    factors = b.whole(0)
    if b.params["reduction"] == "mean":
        factors = ops.div(factors, counts)
    if b.params["reduction"] != "none":
        spread = ops.reshape(factors, sizes=(b.size, *(1,) * len(places)))
        factors = ops.expand(spread, sizes=(b.size, *places))
    slopes = ops.cross_entropy_gradient(folded(factors, 2), x, target, **{**b.params, "reduction": "none"})
    return ops.reshape(slopes, sizes=(b.size, *b.shape(1)))
