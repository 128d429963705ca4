"""What is taken out of sparse values, and put in their place: rules of ops, as in `sparse_rules`.

What is taken out is no view: it has places of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import DimensionIndexError, DTypeError
from workbench.base.sparse_array import SparseArray
from workbench.core import sparse_rules
from workbench.core.op import ops
from workbench.core.sparse_rules import CALL, at, is_sparse, values_of
from workbench.core.value import dims_of, new

__all__ = ["copy", "fill", "index", "pick"]

Array = np.ndarray[Any, Any]


def _parts(key: tuple[Any, ...], ndim: int) -> list[Any]:
    """Return one part of `key` for each dim, and None for each new one."""
    given = [one for one in key if one is not Ellipsis]
    left = [slice(None)] * (ndim - sum(one is not None for one in given))
    place = next((i for i, one in enumerate(key) if one is Ellipsis), len(key))
    return [*given[:place], *left, *given[place:]]


def _laid_out(x: SparseArray, index: Array, values: Any, size: tuple[int, ...], coalesced: bool) -> Any:
    """Return values at places in the layout of `x`; without a sparse dim they are added up, and dense."""
    if not len(index):
        return ops.sum(values, dim=(0,), keepdim=False)
    made = at(index, values, size, coalesced)
    return sparse_rules.by_rows(made) if x.starts is not None and len(size) == 2 else made


def index(x: Any, key: tuple[Any, ...]) -> Any:
    """Take the part that integers and slices show; a number where no dim is left."""
    found: SparseArray = x.payload
    kept = np.ones(found.count, np.bool_)
    places: list[Array] = []
    sizes: list[int] = []
    inner: list[Any] = []
    dim = 0
    for part in _parts(key, found.ndim):
        if part is None and dim < found.sparse_dim:
            places.append(np.zeros(found.count, np.int64))
            sizes.append(1)
        elif part is None or dim >= found.sparse_dim:
            inner.append(part)
            dim += part is not None
        else:
            here, size = found.index[dim], found.shape[dim]
            if isinstance(part, slice):
                start, _, step = part.indices(size)
                count = len(range(*part.indices(size)))
                steps, rest = np.divmod(here - start, step)
                kept &= (rest == 0) & (steps >= 0) & (steps < count)
                places.append(steps)
                sizes.append(count)
            else:
                kept &= here == int(part) % size
            dim += 1
    own = np.flatnonzero(kept)
    values = sparse_rules.picked(values_of(x), own)
    if inner:
        values = ops.index(values, key=(slice(None), *inner))
    taken = np.array(places, np.int64).reshape(len(places), found.count)[:, own]
    return _laid_out(found, taken, values, (*sizes, *values.payload.shape[1:]), found.coalesced)


def pick(x: Any, *indices: Any, dims: tuple[int, ...]) -> Any:
    """Pick entries of one dim by a vector of numbers, in its order and as often as they stand there."""
    found: SparseArray = x.payload
    if len(dims) != 1 or len(dims_of(indices[0]).sizes) != 1:
        raise DTypeError(
            f"a sparse tensor is indexed by one vector of numbers at a time, index_select(dim, index). {CALL}"
        )
    (dim,), chosen = dims, indices[0].payload
    size = found.shape[dim]
    if chosen.size and not (-size <= int(chosen.min()) and int(chosen.max()) < size):
        wrong = int(chosen.max() if chosen.max() >= size else chosen.min())
        raise DimensionIndexError(
            f"index {wrong} is out of bounds for dimension {dim} with size {size}", op="index_select"
        )
    shape = (*found.shape[:dim], len(chosen), *found.shape[dim + 1 :])
    if dim >= found.sparse_dim:
        values = ops.pick(values_of(x), indices[0], dims=(dim - found.sparse_dim + 1,))
        return at(found.index, values, shape, found.coalesced)
    order = np.argsort(found.index[dim], kind="stable")
    starts = np.searchsorted(found.index[dim][order], np.arange(size + 1))
    rows = chosen.astype(np.int64) % max(size, 1)
    lengths = np.diff(starts)[rows]
    # For each entry that is picked, the numbers of its values among all, which stand together in `order`.
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    own = order[np.repeat(starts[:-1][rows], lengths) + np.arange(len(before)) - before]
    places = found.index[:, own].copy()
    places[dim] = np.repeat(np.arange(len(rows)), lengths)
    return _laid_out(found, places, sparse_rules.picked(values_of(x), own), shape, False)


def fill(x: Any, value: Any) -> Any:
    """Set all to 0, which takes no place; no other number is sparse."""
    if value != 0:
        raise DTypeError(f"fill: a sparse tensor whose values are all {value} is none. {CALL}")
    found: SparseArray = x.payload
    nothing = new(np.zeros((0, *found.values.shape[1:]), found.dtype))
    return _laid_out(found, np.zeros((found.sparse_dim, 0), np.int64), nothing, found.shape, True)


def copy(x: Any, y: Any) -> Any:
    """Take the other's values: sparse into sparse, and all values into what is dense."""
    if is_sparse(x) and not is_sparse(y):
        raise DTypeError(
            "copy_: a dense tensor has values everywhere: copy_(y.to_sparse()) takes what is not 0"
        )
    return y if is_sparse(x) else sparse_rules.to_dense(y)
