"""What people call on sparse tensors: to them and from them, their parts, products and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.dtypes import as_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.memory_formats import Layout, sparse_coo, sparse_csr, strided
from workbench.base.sparse_array import SparseArray
from workbench.core import sparse_rules
from workbench.core.op import ops
from workbench.core.sparse_rules import is_sparse, values_of
from workbench.core.tape import alias
from workbench.core.typing import Dim, DimsLike, DTypeLike, Scalar, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.contract.blas import addmm as dense_addmm
from workbench.ops.offer import offered

__all__ = ["coalesce", "to_dense", "to_sparse", "to_sparse_csr"]


def _payload(x: Tensor, op: str, layout: Layout | None = None) -> SparseArray:
    found = x.payload
    if type(found) is not SparseArray:
        raise DTypeError(f"{op} expected a sparse tensor, got one of layout {strided}: to_sparse() makes one")
    if layout is not None and found.layout is not layout:
        raise DTypeError(f"{op} expected a tensor of layout {layout}, got {found.layout}")
    return found


def _named(result: Any, x: Any) -> Any:
    return alias(result, x._names)


# ------------------------------------------------------------------------------------------ to and from


@offered("Tensor")
def to_dense(input: Tensor, dtype: DTypeLike | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return all values of a sparse tensor, zeros too; a dense tensor is returned as it is.

    The gradient of a sparse tensor is one at its places. Values of one place add up.

    >>> import workbench as wb
    >>> wb.eye(2).to_sparse().to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    if masked_grad is False:
        raise DTypeError(
            "to_dense: the gradient of a sparse tensor is one at its places: leave masked_grad away"
        )
    result = _named(sparse_rules.to_dense(alias(input, None)), input) if is_sparse(input) else input
    return result if dtype is None else result.to(as_dtype(dtype))


@offered("Tensor")
def to_sparse(
    input: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Layout | None = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """Return the values that are not 0, with their places: a coalesced tensor of layout ``sparse_coo``, or `layout`.

    With `sparse_dim` the first dims are sparse, and blocks of the others are kept where any value is not 0.

    >>> import workbench as wb
    >>> wb.tensor([[0.0, 2.0], [0.0, 0.0]], names=("N", "C")).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([2.]),
           size=(2, 2), nnz=1, layout=workbench.sparse_coo, names=('N', 'C'))
    """
    if layout is sparse_csr:
        return to_sparse_csr(input)
    if (layout is not None and layout is not sparse_coo) or blocksize is not None:
        raise DTypeError(f"to_sparse: there are the layouts {sparse_coo} and {sparse_csr}, got {layout}")
    if is_sparse(input):
        if sparse_dim is not None and sparse_dim != _payload(input, "to_sparse").sparse_dim:
            raise DTypeError("to_sparse: a sparse tensor keeps its sparse dims: call to_dense() first")
        found = input.payload
        if found.starts is None:
            return input
        bare = alias(input, None)
        return _named(sparse_rules.at(found.index, values_of(bare), found.shape, True), input)  # type: ignore[no-any-return]
    array = input.payload
    if input.dtype.is_quantized:
        raise DTypeError("to_sparse: codes are not kept by their places: call .dequantize().to_sparse()")
    if type(array) is not np.ndarray:
        raise DTypeError(
            "to_sparse: which values are 0 is not known of a value without an array, as in a trace"
        )
    if dense_dim is not None and sparse_dim is None:
        sparse_dim = array.ndim - dense_dim
    k = array.ndim if sparse_dim is None else sparse_dim
    if not 0 <= k <= array.ndim:
        raise DimensionError(f"sparse_dim is from 0 to the {array.ndim} dims, got {k}", op="to_sparse")
    there = array != 0
    if k < array.ndim:
        there = there.any(tuple(range(k, array.ndim)))
    index = np.array(np.nonzero(there) if k else np.zeros((0, 1)), np.int64).reshape(k, -1)
    pattern = new(SparseArray(index, np.empty((index.shape[1], 0)), array.shape, True))
    values = sparse_rules.at_places(alias(input, None), pattern)
    return _named(sparse_rules.at(index, values, array.shape, True), input)  # type: ignore[no-any-return]


@offered("Tensor")
def to_sparse_coo(input: Tensor) -> Tensor:
    """As `to_sparse`."""
    return to_sparse(input)


@offered("Tensor")
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return a matrix by compressed rows.

    >>> import workbench as wb
    >>> wb.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    if is_sparse(input) and input.payload.starts is not None:
        return input
    if dims_of(input).sizes.__len__() != 2 or dense_dim:
        raise DimensionError(
            f"to_sparse_csr takes matrices, got {list(dims_of(input).sizes)}", op="to_sparse_csr"
        )
    return _named(sparse_rules.by_rows(alias(to_sparse(input), None)), input)  # type: ignore[no-any-return]


@offered("Tensor")
def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """Return the values of `input` at the places of the sparse tensor `mask`.

    >>> import workbench as wb
    >>> wb.ones(2, 2).sparse_mask(wb.eye(2).to_sparse()).values()
    tensor([1., 1.])
    """
    pattern = _payload(mask, "sparse_mask")
    if pattern.shape != dims_of(input).sizes:
        raise DimensionError(
            f"sparse_mask: sizes {list(dims_of(input).sizes)} and {list(pattern.shape)} of the mask",
            op="sparse_mask",
        )
    dense = sparse_rules.to_dense(alias(input, None)) if is_sparse(input) else alias(input, None)
    return _named(sparse_rules.with_values(mask.detach(), sparse_rules.at_places(dense, mask)), input)  # type: ignore[no-any-return]


# -------------------------------------------------------------------------------------------- the parts


@offered("Tensor")
def coalesce(input: Tensor) -> Tensor:
    """Return the same values with each place once, in the order of rows; values of one place are added up.

    >>> import workbench as wb
    >>> wb.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0]).coalesce().values()
    tensor([2., 4.])
    """
    if _payload(input, "coalesce", sparse_coo).coalesced:
        return input
    return _named(sparse_rules.coalesce(alias(input, None)), input)  # type: ignore[no-any-return]


@offered("Tensor")
def is_coalesced(input: Tensor) -> bool:
    """Say whether each place stands once, in the order of rows."""
    return _payload(input, "is_coalesced", sparse_coo).coalesced


@offered("Tensor", aliases=["_indices"])
def indices(input: Tensor) -> Tensor:
    """Return the places of the values, [sparse dims, n]."""
    return new(_payload(input, "indices", sparse_coo).index.copy())


@offered("Tensor", aliases=["_values"])
def values(input: Tensor) -> Tensor:
    """Return the values that are there, [n, …dense dims]; gradients go through them.

    >>> import workbench as wb
    >>> wb.tensor([0.0, 3.0]).to_sparse().values()
    tensor([3.])
    """
    _payload(input, "values")
    return values_of(input)  # type: ignore[no-any-return]


@offered("Tensor")
def crow_indices(input: Tensor) -> Tensor:
    """Return where the values of each row begin, and where the last ones end."""
    starts = _payload(input, "crow_indices", sparse_csr).starts
    assert starts is not None
    return new(starts.copy())


@offered("Tensor")
def col_indices(input: Tensor) -> Tensor:
    """Return the columns of the values, row by row."""
    return new(_payload(input, "col_indices", sparse_csr).index[1].copy())


@offered("Tensor")
def sparse_dim(input: Tensor) -> int:
    """Return how many dims places are in; none for a dense tensor."""
    return _payload(input, "sparse_dim").sparse_dim if is_sparse(input) else 0


@offered("Tensor")
def dense_dim(input: Tensor) -> int:
    """Return how many dims each value that is there has."""
    return len(dims_of(input).sizes) - sparse_dim(input)


@offered("Tensor", aliases=["nnz"])
def _nnz(input: Tensor) -> int:
    """Return how many values are there."""
    return _payload(input, "_nnz").count


# ------------------------------------------------------------------------------ products and reductions


@offered("sparse")
@offered("workbench", name="spmm")
def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices, sparse or dense: y[i, j] = Σ_k a[i, k]·b[k, j].

    The gradient of a sparse matrix is one at its places: no matrix of all places is made.

    >>> import workbench as wb
    >>> wb.sparse.mm(wb.eye(2).to_sparse(), wb.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    for one in (mat1, mat2):
        if len(dims_of(one).sizes) != 2:
            raise DimensionError(f"sparse.mm takes matrices, got {list(dims_of(one).sizes)}", op="mm")
    return ops.matmul(mat1, mat2)


@offered("sparse")
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """Add the product of a sparse matrix and a dense one: y = β·mat + α·(mat1 @ mat2).

    >>> import workbench as wb
    >>> wb.sparse.addmm(wb.ones(2, 1), wb.eye(2).to_sparse(), wb.ones(2, 1)).sum()
    tensor(4.)
    """
    return dense_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


@offered("sparse", name="sum")
def sum_(input: Tensor, dim: DimsLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Sum over dims, sparse where a sparse dim is left.

    >>> import workbench as wb
    >>> wb.sparse.sum(wb.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse(), dim=0).to_dense()
    tensor([3., 6.])
    """
    _payload(input, "sparse.sum")
    given = input if dtype is None else input.to(as_dtype(dtype))
    return given.sum() if dim is None else given.sum(dim)


def _in_rows(x: Tensor, dim: Dim, op: str) -> tuple[Any, Any, int]:
    """Return the values of a coalesced tensor, and the number of the row along `dim` that each is in."""
    k = dim_index(dims_of(x), dim, op)
    found = _payload(x, op)
    if k >= found.sparse_dim:
        raise DTypeError(
            f"{op} is one along sparse dims, of which there are {found.sparse_dim}. {sparse_rules.CALL}"
        )
    if x.payload.dtype.kind not in "fV":
        raise DTypeError(f"{op} takes floating point values, got {x.dtype.name}")
    others = np.delete(found.index, k, 0)
    sizes = tuple(size for i, size in enumerate(found.shape[: found.sparse_dim]) if i != k)
    flat = np.ravel_multi_index(tuple(others), sizes) if sizes else np.zeros(found.count, np.int64)
    rows, group = np.unique(flat, return_inverse=True)
    return values_of(x), group.reshape(-1).astype(np.int64), len(rows)


def _log_softmax(values: Any, group: Any, count: int) -> Any:
    array = values.payload
    top = np.full((count, *array.shape[1:]), -np.inf, array.dtype)
    np.maximum.at(top, group, array)
    # A constant: what is subtracted before exp and in the logarithm is the same.
    lowered = ops.sub(values, new(top[group]))
    total = sparse_rules.sums(ops.exp(lowered), group, count)
    return ops.sub(lowered, sparse_rules.picked(ops.log(total), group))


@offered("sparse")
def log_softmax(input: Tensor, dim: Dim, *, dtype: DTypeLike | None = None) -> Tensor:
    """Logarithm of `softmax` along a sparse dim, over the values that are there.

    >>> import workbench as wb
    >>> wb.sparse.log_softmax(wb.tensor([[2.0, 2.0], [0.0, 5.0]]).to_sparse(), 1).values()
    tensor([-0.6931, -0.6931,  0.0000])
    """
    given = input if dtype is None else input.to(as_dtype(dtype))
    x = given if _payload(given, "log_softmax").coalesced else coalesce(given)
    bare = alias(x, None)
    found = sparse_rules.with_values(bare, _log_softmax(*_in_rows(x, dim, "log_softmax")))
    return _named(found, input)  # type: ignore[no-any-return]


@offered("sparse")
def softmax(input: Tensor, dim: Dim, *, dtype: DTypeLike | None = None) -> Tensor:
    """Shares along a sparse dim of the values that are there: exp(x) / Σ exp(x). What is not there counts as -inf.

    >>> import workbench as wb
    >>> wb.sparse.softmax(wb.tensor([[2.0, 2.0], [0.0, 5.0]]).to_sparse(), 1).values()
    tensor([0.5000, 0.5000, 1.0000])
    """
    given = input if dtype is None else input.to(as_dtype(dtype))
    x = given if _payload(given, "softmax").coalesced else coalesce(given)
    bare = alias(x, None)
    found = sparse_rules.with_values(bare, ops.exp(_log_softmax(*_in_rows(x, dim, "softmax"))))
    return _named(found, input)  # type: ignore[no-any-return]
