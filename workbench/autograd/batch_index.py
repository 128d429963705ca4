"""Batching rules of indexing: by a key, by tensors of indices, along a dim, and the loss that picks a class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.core.batching import Batch, Rule, folded, one_by_one
from workbench.core.value import new
from workbench.ops import ops
from workbench.ops.index.advanced import layout

__all__ = ["RULES"]


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
    rest = range(front + 1, len(value.payload.shape))
    return ops.permute(value, dim=(front, *range(front), *rest))


def _index_add(b: Batch) -> Any:
    key = b.params["key"]
    if any(isinstance(one, np.ndarray) and one.ndim == 0 and one.dtype == bool for one in key):
        return one_by_one(b)
    value = b.inputs[0]
    front = _advanced(key)
    if front:
        rest = range(front + 1, len(value.payload.shape))
        value = ops.permute(value, dim=(*range(1, front + 1), 0, *rest))
    return b.run(value, key=(slice(None), *key), sizes=(b.size, *b.params["sizes"]))


def _index_set(b: Batch) -> Any:
    """Replace values by a key: both inputs get a batch dim, the value as many dims as what it replaces."""
    key = b.params["key"]
    if any(isinstance(one, np.ndarray) for one in key):
        return one_by_one(b)
    shape = b.shape(1)
    picked = ops.index(b.whole(0), key=(slice(None), *key))
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (picked.payload.ndim - 1 - len(shape)), *shape))
    return b.run(b.whole(0), value, key=(slice(None), *key))


def _along_dim(b: Batch) -> Any:
    """For ops with indices along a `dim`: each input gets a batch dim, and so do the sizes."""
    params = {**b.params, "dim": b.params["dim"] + 1}
    if "sizes" in params:
        params["sizes"] = (b.size, *params["sizes"])
    return b.run(*[b.whole(i) for i in range(len(b.inputs))], **params)


def _scatter(b: Batch) -> Any:
    """The value has as many dims as the index, or fewer."""
    shape = b.shape(1)
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (len(b.shape(2)) - len(shape)), *shape))
    return b.run(b.whole(0), value, b.whole(2), dim=b.params["dim"] + 1)


# ------------------------------------------------------------------------------------- tensors of indices


class _Picked:
    """Where the dims of the indices stand, for one entry and with the batch."""

    def __init__(self, b: Batch, ndim: int, first: int) -> None:
        self.b = b
        self.dims: tuple[int, ...] = b.params["dims"]
        self.several = range(first, len(b.inputs))
        self.indexed = any(b.batched[i] for i in self.several)
        shapes = [b.shape(i) for i in self.several]
        self.width = len(np.broadcast_shapes(*shapes))
        self.rest, self.at = layout(ndim, self.dims, _unnamed(shapes), self.width)
        self.ndim = ndim

    def indices(self) -> list[Any]:
        """Return the hidden indices, the batched ones with as many dims as the widest."""
        found = []
        for i in self.several:
            value = self.b.inputs[i]
            if self.b.batched[i]:
                shape = self.b.shape(i)
                value = ops.reshape(value, sizes=(self.b.size, *(1,) * (self.width - len(shape)), *shape))
            found.append(value)
        return found

    def entries(self) -> Any:
        """Return an index that picks each entry for itself."""
        return new(np.arange(self.b.size).reshape(self.b.size, *(1,) * self.width))

    def forth(self, value: Any, at: int, width: int) -> Any:
        """Move `width` dims of the indices, the batch among them, from `at` to where one entry has them."""
        ndim = len(value.payload.shape)
        inner = list(range(at, at + width))
        others = [i for i in range(ndim) if i not in inner]
        if width > self.width:
            batch, inner = inner[0], inner[1:]
        else:
            batch, others = others[0], others[1:]
        return _permuted(value, (batch, *others[: self.at], *inner, *others[self.at :]))

    def back(self, value: Any, at: int, width: int) -> Any:
        """Undo `forth`."""
        ndim = len(value.payload.shape)
        inner = list(range(1 + self.at, 1 + self.at + self.width))
        others = [i for i in range(1, ndim) if i not in inner]
        if width > self.width:
            inner = [0, *inner]
        else:
            others = [0, *others]
        return _permuted(value, (*others[:at], *inner, *others[at:]))


def _permuted(value: Any, order: tuple[int, ...]) -> Any:
    return value if order == tuple(range(len(order))) else ops.permute(value, dim=order)


def _unnamed(shapes: list[tuple[int, ...]]) -> tuple[Dims, ...]:
    return tuple([Dims((None,) * len(shape), shape) for shape in shapes])


def _hidden_layout(ndim: int, dims: tuple[int, ...], indices: list[Any]) -> tuple[int, int]:
    shapes = [tuple(one.payload.shape) for one in indices]
    width = len(np.broadcast_shapes(*shapes))
    return layout(ndim, dims, _unnamed(shapes), width)[1], width


def _pick(b: Batch) -> Any:
    picked = _Picked(b, len(b.shape(0)), 1)
    indices, dims, ndim = picked.indices(), picked.dims, picked.ndim
    if b.batched[0]:
        dims, ndim = tuple([dim + 1 for dim in dims]), ndim + 1
        if picked.indexed:
            dims, indices = (0, *dims), [picked.entries(), *indices]
    at, width = _hidden_layout(ndim, dims, indices)
    return picked.forth(ops.pick(b.inputs[0], *indices, dims=dims), at, width)


def _pick_add(b: Batch) -> Any:
    sizes = b.params["sizes"]
    picked = _Picked(b, len(sizes), 1)
    indices, dims = picked.indices(), tuple([dim + 1 for dim in picked.dims])
    if picked.indexed:
        dims, indices = (0, *dims), [picked.entries(), *indices]
    at, width = _hidden_layout(len(sizes) + 1, dims, indices)
    return ops.pick_add(picked.back(b.whole(0), at, width), *indices, dims=dims, sizes=(b.size, *sizes))


def _index_put(b: Batch) -> Any:
    picked = _Picked(b, len(b.shape(0)), 2)
    indices, dims = picked.indices(), tuple([dim + 1 for dim in picked.dims])
    if picked.indexed:
        dims, indices = (0, *dims), [picked.entries(), *indices]
    at, width = _hidden_layout(picked.ndim + 1, dims, indices)
    shape = b.shape(1)
    rank = picked.width + len(picked.rest)
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (rank - len(shape)), *shape))
    return ops.index_put(b.whole(0), picked.back(value, at, width), *indices, dims=dims)


# ---------------------------------------------------------------------------------------- the loss by class


def _all_dims(value: Any) -> tuple[int, ...]:
    return tuple(range(1, len(value.payload.shape)))


def _samples(value: Any, rank: int) -> Any:
    """Lay the samples of all entries out one after another; an entry without samples is one."""
    return folded(value, 2) if rank > 1 else value


def _nll_loss(b: Batch) -> Any:
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
        counts = ops.neg(ops.nll_loss(spread, target, reduction="none", ignore_index=ignore))
    counts = ops.reshape(counts, sizes=(b.size, *target_shape))
    return ops.sum(counts, dim=_all_dims(counts), keepdim=False)


def _fitted(sizes: tuple[int, ...], value: Any) -> list[int]:
    return [math.prod(value.payload.shape) if size == -1 else size for size in sizes]


def _nll_loss_gradient(b: Batch) -> Any:
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
    """Return scores and classes of all entries as rows, and how many of each entry's rows count."""
    rows, classes = b.shape(i)
    x, target = b.whole(i), b.whole(i + 1)
    counted = ops.to(ops.ne(target, b.params["ignore_index"]), dtype=x.payload.dtype)
    return (
        ops.reshape(x, sizes=(b.size * rows, classes)),
        ops.reshape(target, sizes=(b.size * rows,)),
        ops.sum(counted, dim=(1,), keepdim=True),
    )


def _cross_entropy(b: Batch) -> Any:
    x, target, counts = _scores(b, 0)
    each = ops.cross_entropy(x, target, **{**b.params, "reduction": "none"})
    each = ops.reshape(each, sizes=(b.size, b.shape(0)[0]))
    if b.params["reduction"] == "none":
        return each
    if b.params["reduction"] == "mean":
        each = ops.div(each, counts)
    return ops.sum(each, dim=(1,), keepdim=False)


def _cross_entropy_gradient(b: Batch) -> Any:
    x, target, counts = _scores(b, 1)
    rows, classes = b.shape(1)
    factors = b.whole(0)
    if b.params["reduction"] != "none":
        factors = ops.expand(ops.reshape(factors, sizes=(b.size, 1)), sizes=(b.size, rows))
    if b.params["reduction"] == "mean":
        factors = ops.div(factors, counts)
    factors = ops.reshape(factors, sizes=(b.size * rows,))
    slopes = ops.cross_entropy_gradient(factors, x, target, **{**b.params, "reduction": "none"})
    return ops.reshape(slopes, sizes=(b.size, rows, classes))


RULES: dict[str, Rule] = {
    "gather": _along_dim,
    "index": _index,
    "index_add": _index_add,
    "index_put": _index_put,
    "index_set": _index_set,
    "cross_entropy": _cross_entropy,
    "cross_entropy_gradient": _cross_entropy_gradient,
    "nll_loss": _nll_loss,
    "nll_loss_gradient": _nll_loss_gradient,
    "pick": _pick,
    "pick_add": _pick_add,
    "place": _index_add,
    "scatter": _scatter,
    "scatter_add": _along_dim,
    "scatter_add_to": _along_dim,
    "scatter_reduce": _along_dim,
}
"""Rules by the names of their ops."""
