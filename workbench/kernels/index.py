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
_FEW = 64
"""Number of indices, or of values that are added, below which NumPy's call is cheaper."""


def _outside(error: IndexError, dim: int, size: int, op: str) -> DimensionIndexError:
    return DimensionIndexError(f"index {error} is out of bounds for dimension {dim} with size {size}", op=op)


def _bits(array: Any) -> Any:
    # As bytes: the compiled code then knows widths, and no types. Callers have seen to it that nothing is copied.
    return array.reshape(-1).view(np.uint8)


def _same_beside(a: tuple[int, ...], b: tuple[int, ...], dim: int) -> bool:
    # PyTorch lets an index be smaller beside `dim`: NumPy's code cuts the values then.
    return len(a) == len(b) and 0 <= dim < len(a) and a[:dim] == b[:dim] and a[dim + 1 :] == b[dim + 1 :]


_WORTH_A_COPY = 4096
"""Number of values that lie otherwise than row by row below which NumPy copies them as fast."""


def _accepts_copy(x: Any) -> bool:
    # What lies row by row is moved as one block: nobody does that faster.
    return (
        type(x) is np.ndarray
        and x.size >= _WORTH_A_COPY
        and x.ndim > 1
        and not x.flags.c_contiguous
        and x.dtype in _ADDED
    )


def _plain(x: Any) -> bool:
    """Say whether values of `x` may be moved as bits, in row-major order."""
    return (
        type(x) is np.ndarray
        and x.dtype.itemsize in _WIDTHS
        and not x.dtype.hasobject
        and x.flags.c_contiguous
        # What lies across a word, as a field of a record may, is no value that C++ may load.
        and x.flags.aligned
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


def _one_index(indices: tuple[Any, ...], least: int) -> bool:
    return (
        len(indices) == 1
        and type(indices[0]) is np.ndarray
        and indices[0].size >= least
        and indices[0].dtype == _INT64
    )


def _accepts_pick(x: Any, *indices: Any, dims: tuple[int, ...]) -> bool:
    return _one_index(indices, _FEW) and _plain(x) and x.size > 0


def _pick(x: Any, index: Any, *, dims: tuple[int, ...]) -> Any:
    (dim,) = dims
    shape, size = x.shape, x.shape[dim]
    out = np.empty((*shape[:dim], *index.shape, *shape[dim + 1 :]), x.dtype)
    row = math.prod(shape[dim + 1 :]) * x.dtype.itemsize
    try:
        native.take(_bits(x), _flat(index), _bits(out), math.prod(shape[:dim]), size, row)
    except IndexError as error:
        raise _outside(error, dim, size, "index") from None
    return out


def _accepts_pick_add(x: Any, *indices: Any, dims: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    if type(x) is not np.ndarray or x.size < _FEW or x.dtype not in _ADDED or not _one_index(indices, 0):
        return False
    (dim,) = dims
    # What still has to be stretched is left to NumPy.
    return bool(x.shape == (*sizes[:dim], *indices[0].shape, *sizes[dim + 1 :]))


def _flat(index: Any) -> Any:
    # One dim may still have steps in memory, as a column has.
    return np.ascontiguousarray(index.reshape(-1), _INT64)


def _pick_add(x: Any, index: Any, *, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    (dim,) = dims
    try:
        return native.index_add(x, _flat(index), dim=dim, sizes=sizes)
    except IndexError as error:
        raise _outside(error, dim, sizes[dim], "index") from None


def _accepts_embedding(indices: Any, g: Any, *, count: int) -> bool:
    return (
        type(indices) is np.ndarray
        and type(g) is np.ndarray
        and g.dtype in _ADDED
        and indices.dtype == _INT64
        and g.shape[:-1] == indices.shape
    )


def _embedding_gradient(indices: Any, g: Any, *, count: int) -> Any:
    # No index is outside: the forward pass has looked each of them up.
    return native.index_add(g, _flat(indices), dim=0, sizes=(count, g.shape[-1]))


_SOME = 65536
"""Products up to which rows are added as they come: beyond, the matrix is worth being put in order first."""


def _accepts_sparse_product(rows: Any, columns: Any, values: Any, dense: Any, *, count: int) -> bool:
    return (
        all(type(one) is np.ndarray for one in (rows, columns, values, dense))
        and values.dtype == dense.dtype
        and values.dtype.char in "fd"
        and rows.dtype == columns.dtype == _INT64
        and dense.ndim == 2
        and 0 < values.size * dense.shape[1] <= _SOME
        and rows.shape == columns.shape == values.shape
    )


def _sparse_product(rows: Any, columns: Any, values: Any, dense: Any, *, count: int) -> Any:
    parts = dense.take(columns, axis=0)
    parts *= values[:, None]
    return native.index_add(parts, np.ascontiguousarray(rows), dim=0, sizes=(count, dense.shape[1]))


if native is not None:
    register(
        Kernel(
            "sparse_product", _sparse_product, _accepts_sparse_product, ("float32 or float64", "int64 places")
        )
    )
    register(
        Kernel("embedding_gradient", _embedding_gradient, _accepts_embedding, ("float32, float64 or int64",))
    )
    _BITS = ("values of 1, 2, 4 or 8 bytes in row-major order",)
    _SUMS = ("float32, float64 or int64",)
    register(Kernel("clone", native.dense_copy, _accepts_copy, _SUMS, _WORTH_A_COPY))
    register(Kernel("gather", _gather, _accepts_gather, _BITS, MEDIUM))
    register(Kernel("scatter_add", _scatter_add, _accepts_scatter_add, _SUMS, MEDIUM))
    register(Kernel("scatter_add_to", _scatter_add_to, _accepts_scatter_add_to, _SUMS, MEDIUM))
    register(Kernel("pick", _pick, _accepts_pick, ("one array of indices, values in row-major order",), _FEW))
    register(
        Kernel(
            "pick_add",
            _pick_add,
            _accepts_pick_add,
            ("one array of indices, float32, float64 or int64",),
            _FEW,
        )
    )
