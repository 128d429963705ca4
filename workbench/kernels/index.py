"""Picking and adding by index; an index out of bounds is refused in the words of the ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.errors import DimensionIndexError
from workbench.kernels._arrays import MEDIUM
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_INT64 = np.dtype(np.int64)
_ADDED = tuple(np.dtype(name) for name in ("float32", "float64", "int64"))
_WIDTHS = (1, 2, 4, 8)


def _outside(error: IndexError, dim: int, size: int, op: str) -> DimensionIndexError:
    return DimensionIndexError(f"index {error} is out of bounds for dimension {dim} with size {size}", op=op)


def _bits(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


def _same_beside(a: tuple[int, ...], b: tuple[int, ...], dim: int) -> bool:
    return len(a) == len(b) and 0 <= dim < len(a) and a[:dim] == b[:dim] and a[dim + 1 :] == b[dim + 1 :]


def _plain(x: Any) -> bool:
    """Say whether values of `x` may be moved as bits, in row-major order."""
    return (
        type(x) is np.ndarray
        and x.dtype.itemsize in _WIDTHS
        and not x.dtype.hasobject
        and x.flags.c_contiguous
    )


def _accepts_gather(x: Any, index: Any, *, dim: int) -> bool:
    return (
        _plain(x)
        and type(index) is np.ndarray
        and index.size >= MEDIUM
        and index.dtype == _INT64
        and index.flags.c_contiguous
        and _same_beside(x.shape, index.shape, dim)
    )


def _gather(x: Any, index: Any, *, dim: int) -> Any:
    shape, size = x.shape, x.shape[dim]
    out = np.empty(index.shape, x.dtype)
    try:
        native.gather(
            _bits(x), index.reshape(-1), _bits(out), math.prod(shape[:dim]), size, index.shape[dim],
            math.prod(shape[dim + 1 :]), x.dtype.itemsize,
        )  # fmt: skip
    except IndexError as error:
        raise _outside(error, dim, size, "gather") from None
    return out


def _accepts_scatter_add(x: Any, index: Any, *, dim: int, sizes: tuple[int, ...]) -> bool:
    return (
        type(x) is np.ndarray
        and type(index) is np.ndarray
        and x.size >= MEDIUM
        and x.dtype in _ADDED
        and index.dtype == _INT64
        and x.shape == index.shape
        and _same_beside(x.shape, sizes, dim)
    )


def _scatter_add(x: Any, index: Any, *, dim: int, sizes: tuple[int, ...]) -> Any:
    try:
        return native.scatter_add(x, index, dim=dim, sizes=sizes)
    except IndexError as error:
        raise _outside(error, dim, sizes[dim], "scatter_add") from None


def _accepts_scatter_add_to(x: Any, added: Any, index: Any, *, dim: int) -> bool:
    return (
        type(x) is np.ndarray
        and type(added) is np.ndarray
        and x.dtype == added.dtype
        and type(index) is np.ndarray
        and _accepts_scatter_add(added, index, dim=dim, sizes=x.shape)
    )


def _scatter_add_to(x: Any, added: Any, index: Any, *, dim: int) -> Any:
    try:
        return native.scatter_add(added, index, dim=dim, sizes=x.shape, base=x)
    except IndexError as error:
        raise _outside(error, dim, x.shape[dim], "scatter_add") from None


def _index_of(key: Any) -> tuple[int, Any] | None:
    """Return dimension and array of a key of one array of indices and whole slices; None for another."""
    found: tuple[int, Any] | None = None
    if type(key) is not tuple:
        return None
    for dim, one in enumerate(key):
        if type(one) is np.ndarray:
            if found is not None or one.dtype != _INT64:
                return None
            found = dim, one
        elif one is Ellipsis:
            if found is None or dim != len(key) - 1:
                return None
        elif type(one) is not slice or one != slice(None):
            return None
    return found


def _index_in(key: Any) -> tuple[int, Any]:
    found = _index_of(key)
    if found is None:
        raise ValueError("the kernel takes a key of one array of int64 indices and whole slices")
    return found[0], np.ascontiguousarray(found[1])


def _accepts_index(x: Any, *, key: Any) -> bool:
    if not _plain(x):
        return False
    found = _index_of(key)
    return found is not None and found[0] < x.ndim and found[1].size >= 64 and x.size > 0


def _index(x: Any, *, key: Any) -> Any:
    dim, index = _index_in(key)
    shape, size = x.shape, x.shape[dim]
    out = np.empty((*shape[:dim], *index.shape, *shape[dim + 1 :]), x.dtype)
    row = math.prod(shape[dim + 1 :]) * x.dtype.itemsize
    try:
        native.take(_bits(x), index.reshape(-1), _bits(out), math.prod(shape[:dim]), size, row)
    except IndexError as error:
        raise _outside(error, dim, size, "index") from None
    return out


def _accepts_index_add(x: Any, *, key: Any, sizes: tuple[int, ...]) -> bool:
    if type(x) is not np.ndarray or x.size < 64 or x.dtype not in _ADDED:
        return False
    found = _index_of(key)
    if found is None or found[0] >= len(sizes):
        return False
    dim, index = found
    return bool(x.shape == (*sizes[:dim], *index.shape, *sizes[dim + 1 :]))


def _flat(index: Any) -> Any:
    return np.ascontiguousarray(index.reshape(-1), _INT64)


def _index_add(x: Any, *, key: Any, sizes: tuple[int, ...]) -> Any:
    dim, index = _index_in(key)
    try:
        return native.index_add(x, _flat(index), dim=dim, sizes=sizes)
    except IndexError as error:
        raise _outside(error, dim, sizes[dim], "index_add") from None


def _accepts_embedding(indices: Any, g: Any, *, count: int) -> bool:
    return (
        type(indices) is np.ndarray
        and type(g) is np.ndarray
        and g.dtype in _ADDED
        and indices.dtype == _INT64
        and g.shape[:-1] == indices.shape
    )


def _embedding_gradient(indices: Any, g: Any, *, count: int) -> Any:
    return native.index_add(g, _flat(indices), dim=0, sizes=(count, g.shape[-1]))


if native is not None:
    register(
        Kernel("embedding_gradient", _embedding_gradient, _accepts_embedding, ("float32, float64 or int64",))
    )
    _BITS = ("values of 1, 2, 4 or 8 bytes in row-major order",)
    _SUMS = ("float32, float64 or int64",)
    register(Kernel("gather", _gather, _accepts_gather, _BITS, MEDIUM))
    register(Kernel("scatter_add", _scatter_add, _accepts_scatter_add, _SUMS, MEDIUM))
    register(Kernel("scatter_add_to", _scatter_add_to, _accepts_scatter_add_to, _SUMS, MEDIUM))
    register(Kernel("index", _index, _accepts_index, ("one array of indices, values in row-major order",)))
    register(
        Kernel(
            "index_add",
            _index_add,
            _accepts_index_add,
            ("one array of indices, float32, float64 or int64",),
            64,
        )
    )
