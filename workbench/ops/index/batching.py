"""Batching rules of indexing: by a key, by tensors of indices, along a dim."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.core.batching import Batch, one_by_one
from workbench.core.op import ops
from workbench.core.value import new
from workbench.ops.index.layout import layout


def _advanced(key: tuple[Any, ...]) -> int:
    """Return how many dims the arrays of `key` make at the front of the result, where NumPy puts them; else 0."""
    arrays = [one for one in key if isinstance(one, np.ndarray)]
    # Beside arrays NumPy counts an integer as an index, too.
    places = [i for i, one in enumerate(key) if isinstance(one, np.ndarray | int)]
    if not arrays or places == list(range(places[0], places[-1] + 1)):
        return 0
    shapes = [(int(np.count_nonzero(one)),) if one.dtype == bool else one.shape for one in arrays]
    return len(np.broadcast_shapes(*shapes))


def index(b: Batch) -> Any:
    """The key behind the batch dim; dims that NumPy puts in front of it go back behind it."""
    key = b.params["key"]
    if any(isinstance(one, np.ndarray) and one.ndim == 0 and one.dtype == bool for one in key):
        return one_by_one(b)
    value = ops.index(b.inputs[0], key=(slice(None), *key))
    front = _advanced(key)
    if not front:
        return value
    rest = range(front + 1, len(value.payload.shape))
    return ops.permute(value, dim=(front, *range(front), *rest))


def place(b: Batch) -> Any:
    """Undo `index`: values go back to where a key took them from."""
    key = b.params["key"]
    if any(isinstance(one, np.ndarray) and one.ndim == 0 and one.dtype == bool for one in key):
        return one_by_one(b)
    value = b.inputs[0]
    front = _advanced(key)
    if front:
        rest = range(front + 1, len(value.payload.shape))
        value = ops.permute(value, dim=(*range(1, front + 1), 0, *rest))
    return b.run(value, key=(slice(None), *key), sizes=(b.size, *b.params["sizes"]))


def index_set(b: Batch) -> Any:
    """Replace values by a key: both inputs get a batch dim, the value as many dims as what it replaces."""
    key = b.params["key"]
    if any(isinstance(one, np.ndarray) for one in key):
        return one_by_one(b)
    shape = b.shape(1)
    picked = ops.index(b.whole(0), key=(slice(None), *key))
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (picked.payload.ndim - 1 - len(shape)), *shape))
    return b.run(b.whole(0), value, key=(slice(None), *key))


def along_dim(b: Batch) -> Any:
    """For ops with indices along a `dim`: each input gets a batch dim, and so do the sizes."""
    params = {**b.params, "dim": b.params["dim"] + 1}
    if "sizes" in params:
        params["sizes"] = (b.size, *params["sizes"])
    return b.run(*[b.whole(i) for i in range(len(b.inputs))], **params)


def scatter(b: Batch) -> Any:
    """The value has as many dims as the index, or fewer."""
    shape = b.shape(1)
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (len(b.shape(2)) - len(shape)), *shape))
    return b.run(b.whole(0), value, b.whole(2), dim=b.params["dim"] + 1)


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


def pick(b: Batch) -> Any:
    """Indices of their own pick each entry by one more index."""
    picked = _Picked(b, len(b.shape(0)), 1)
    indices, dims, ndim = picked.indices(), picked.dims, picked.ndim
    if b.batched[0]:
        dims, ndim = tuple([dim + 1 for dim in dims]), ndim + 1
        if picked.indexed:
            dims, indices = (0, *dims), [picked.entries(), *indices]
    at, width = _hidden_layout(ndim, dims, indices)
    return picked.forth(ops.pick(b.inputs[0], *indices, dims=dims), at, width)


def pick_add(b: Batch) -> Any:
    """Undo `pick`."""
    sizes = b.params["sizes"]
    picked = _Picked(b, len(sizes), 1)
    indices, dims = picked.indices(), tuple([dim + 1 for dim in picked.dims])
    if picked.indexed:
        dims, indices = (0, *dims), [picked.entries(), *indices]
    at, width = _hidden_layout(len(sizes) + 1, dims, indices)
    return ops.pick_add(picked.back(b.whole(0), at, width), *indices, dims=dims, sizes=(b.size, *sizes))


def index_put(b: Batch) -> Any:
    """As `pick`, with values that take the places."""
    picked = _Picked(b, len(b.shape(0)), 2)
    indices, dims = picked.indices(), tuple([dim + 1 for dim in picked.dims])
    if picked.indexed:
        dims, indices = (0, *dims), [picked.entries(), *indices]
    at, width = _hidden_layout(picked.ndim + 1, dims, indices)
    shape = b.shape(1)
    rank = picked.width + len(picked.rest)
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (rank - len(shape)), *shape))
    return ops.index_put(b.whole(0), picked.back(value, at, width), *indices, dims=dims)
