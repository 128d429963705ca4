"""Sparse tensors made of values and their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import check_names
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.base.memory_formats import Layout, check_pinned, sparse_coo, sparse_csr
from workbench.core.op import ops
from workbench.core.value import new
from workbench.tensor.factories import tensor
from workbench.tensor.tensor import Tensor

__all__ = ["sparse_coo_tensor", "sparse_csr_tensor"]

Array = np.ndarray[Any, Any]


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    names: Sequence[str | None] | None = None,
) -> Tensor:
    """Return values [n, …dense] at places, `indices` [sparse dims, n], of a tensor that is 0 elsewhere.

    Values of one place add up. `size` is found from the largest places where it is not given. Gradients go to
    `values`. What an op does not do with sparse tensors it refuses; `to_dense` gives all values.

    Raises `DimensionError` for sizes that do not fit together, `DimensionIndexError` for places outside.

    >>> sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    _check_words("sparse_coo_tensor", layout, sparse_coo, device, pin_memory)
    if values is None or (size is None and isinstance(values, tuple)):
        raise TypeError(
            "sparse_coo_tensor(): it takes indices and values, and the size where they do not say it"
        )
    index = _whole("sparse_coo_tensor", "indices", indices)
    held = _values(values, dtype)
    if index.ndim != 2:
        raise DimensionError(
            f"indices must be sparse_dim x nnz, but got: {list(index.shape)}", op="sparse_coo_tensor"
        )
    if not held.ndim or index.shape[1] != held.shape[0]:
        raise DimensionError(
            f"indices and values must have same nnz, but got nnz from indices: {index.shape[1]}, nnz from values: "
            f"{held.shape[0] if held.ndim else 'none'}",
            op="sparse_coo_tensor",
        )
    rest = tuple(held.shape[1:])
    if size is None:
        if not index.shape[1]:
            raise DimensionError("without values the size is not known: give it", op="sparse_coo_tensor")
        found = (*(int(one) + 1 for one in index.max(1)), *rest)
    else:
        found = _sizes("sparse_coo_tensor", size)
    _check_sizes(index, rest, found)
    _check_places("sparse_coo_tensor", index, found)
    if is_coalesced:
        flat = np.ravel_multi_index(tuple(index), found[: len(index)]) if index.size else np.zeros(0)
        if np.any(np.diff(flat) <= 0):
            raise DimensionError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor: places must stand in "
                "the order of rows, each once",
                op="sparse_coo_tensor",
            )
    result = ops.sparse_coo(new(index), held, size=found, coalesced=bool(is_coalesced))
    return _finished(result, names, requires_grad)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    names: Sequence[str | None] | None = None,
) -> Tensor:
    """Return a matrix by compressed rows: values of row i are those from crow_indices[i] to crow_indices[i + 1].

    Columns of a row stand in rising order, each once. Raises `DimensionError` for what breaks that.

    >>> sparse_csr_tensor([0, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 5., 0.]])
    """
    op = "sparse_csr_tensor"
    _check_words(op, layout, sparse_csr, device, pin_memory)
    starts, columns = _whole(op, "crow_indices", crow_indices), _whole(op, "col_indices", col_indices)
    held = _values(values, dtype)
    if starts.ndim != 1 or columns.ndim != 1 or held.ndim != 1:
        raise DimensionError(
            f"crow_indices, col_indices and values are rows, got {starts.ndim}, {columns.ndim} and {held.ndim} dims: "
            "batches and blocks are not kept sparse",
            op=op,
        )
    found: tuple[int, ...]
    if size is None:
        found = (len(starts) - 1, int(columns.max()) + 1 if columns.size else 0)
    else:
        found = _sizes(op, size)
    if len(found) != 2 or len(starts) != found[0] + 1:
        raise DimensionError(
            f"crow_indices.shape[-1] must be equal to nrows + 1 = {found[0] + 1 if found else 1}, but got "
            f"{len(starts)} for the size {list(found)}",
            op=op,
        )
    if len(columns) != held.shape[0]:
        raise DimensionError(
            f"col_indices and values must have the same number of elements, got {len(columns)} and {held.shape[0]}",
            op=op,
        )
    if starts[0] != 0 or starts[-1] != len(columns) or np.any(np.diff(starts) < 0):
        raise DimensionError(
            f"crow_indices rise from 0 to nnz = {len(columns)}, got {starts[:4].tolist()} … {int(starts[-1])}",
            op=op,
        )
    rows = np.repeat(np.arange(found[0]), np.diff(starts))
    _check_places(op, np.stack([rows, columns]), found)
    if np.any((np.diff(columns) <= 0) & (np.diff(rows) == 0)):
        raise DimensionError(
            "col_indices must be sorted and distinct along each row: sort them, or make the tensor by "
            "sparse_coo_tensor(…).to_sparse_csr()",
            op=op,
        )
    return _finished(ops.sparse_csr(new(starts), new(columns), held, size=found), names, requires_grad)


def _check_words(op: str, given: Any, own: Layout, device: Any, pin_memory: bool) -> None:
    check_pinned(op, pin_memory)
    if given is not None and given is not own:
        raise RuntimeError(f"{op}(): it makes tensors of layout {own}, got {given}")
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise RuntimeError(f"{op}(): sparse tensors are kept on the CPU, got device {str(device)!r}")


def _whole(op: str, name: str, given: Any) -> Array:
    """Return places as whole numbers of 64 bits, in memory of their own."""
    array = tensor(given).numpy() if not isinstance(given, Tensor) else given.detach().cpu().numpy()
    if array.dtype.kind not in "iu" and array.size:
        raise DTypeError(f"{op}(): {name} are whole numbers, got {array.dtype}")
    return np.array(array, np.int64, order="C")


def _values(given: Any, dtype: Any) -> Tensor:
    held = given if isinstance(given, Tensor) else tensor(given)
    if type(held.payload) is not np.ndarray:
        raise DTypeError(
            "the values of a sparse tensor are an array: sparse tensors are not made in a traced or batched function. "
            "Make them outside, or trace the function of their values"
        )
    held = held if dtype is None else held.to(dtype=dtype)
    return held.rename(None) if held.has_names() else held


def _sizes(op: str, size: Sequence[int]) -> tuple[int, ...]:
    found = tuple(int(one) for one in size)
    if any(one < 0 for one in found):
        raise DimensionError(f"sizes are 0 or more, got {list(found)}", op=op)
    return found


def _check_sizes(index: Array, rest: tuple[int, ...], size: tuple[int, ...]) -> None:
    if len(size) != len(index) + len(rest):
        raise DimensionError(
            f"number of dimensions must be sparse_dim ({len(index)}) + dense_dim ({len(rest)}), but got {len(size)}",
            op="sparse_coo_tensor",
        )
    if size[len(index) :] != rest:
        raise DimensionError(
            f"values has incorrect size, expected {[index.shape[1], *size[len(index) :]]}, "
            f"got {[index.shape[1], *rest]}",
            op="sparse_coo_tensor",
        )


def _check_places(op: str, index: Array, size: tuple[int, ...]) -> None:
    """Refuse places outside of the sizes, and sizes of which a place cannot be counted."""
    count = 1
    for one in size[: len(index)]:
        count *= max(one, 1)
    if count >= 2**63:
        raise DimensionError(f"sizes {list(size)} have more places than 64 bits count", op=op)
    if not index.size:
        return
    for dim, places in enumerate(index):
        low, high = int(places.min()), int(places.max())
        if low < 0:
            raise DimensionIndexError(f"found negative index {low} for dim {dim}", op=op)
        if high >= size[dim]:
            raise DimensionIndexError(
                f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index {high}",
                op=op,
            )


def _finished(result: Tensor, names: Any, requires_grad: bool) -> Tensor:
    result._names = None if names is None else check_names(names, result.ndim)
    return result.requires_grad_() if requires_grad else result
