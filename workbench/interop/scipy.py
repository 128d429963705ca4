"""SciPy's sparse matrices, from and to sparse tensors."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import DTypeError
from workbench.base.lazy import scipy_sparse
from workbench.base.public import words
from workbench.base.sparse_array import SparseArray
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy
from workbench.tensor.sparse import sparse_coo_tensor, sparse_csr_tensor

__all__ = ["from_scipy", "to_scipy"]


def from_scipy(matrix: Any) -> Tensor:
    """Return a sparse tensor with a copy of a sparse matrix or array: by compressed rows where it is laid out so.

    Values of one place add up. Raises TypeError for what is none of SciPy's, DTypeError for a type there is none of.

    >>> import scipy.sparse
    >>> from_scipy(scipy.sparse.eye_array(2, format="csr")).to_dense()
    tensor([[1., 0.],
            [0., 1.]], dtype=workbench.float64)
    """
    if not scipy_sparse.issparse(matrix):
        raise TypeError(f"from_scipy: expected a sparse matrix of SciPy's, got {type(matrix).__name__}")
    if matrix.format == "csr":
        rows = matrix.copy()
        rows.sum_duplicates()
        return sparse_csr_tensor(rows.indptr, rows.indices, from_numpy(rows.data), rows.shape)
    pairs = matrix.tocoo()
    places = pairs.coords if hasattr(pairs, "coords") else (pairs.row, pairs.col)
    return sparse_coo_tensor([list(one) for one in places], from_numpy(pairs.data), pairs.shape)


def to_scipy(tensor: Tensor) -> Any:
    """Return a sparse array with the values and places of a sparse matrix; they are copied.

    Raises DTypeError for a tensor that is not sparse, has dense dims, or asks for a gradient.

    >>> import workbench as wb
    >>> to_scipy(wb.eye(2).to_sparse()).format
    'coo'
    """
    found = tensor.payload
    if not isinstance(found, SparseArray) or found.values.ndim > 1:
        raise DTypeError("to_scipy: expected a tensor whose dims are all sparse: to_sparse() makes one")
    if tensor.requires_grad:
        raise DTypeError(
            "to_scipy: the tensor asks for a gradient, which SciPy does not know: detach() it first"
        )
    if found.starts is not None:
        rows = (found.values.copy(), found.index[1].copy(), found.starts.copy())
        return scipy_sparse.csr_array(rows, found.shape)
    return scipy_sparse.coo_array((found.values.copy(), tuple(found.index.copy())), found.shape)


__getattr__, __dir__ = words(__name__, __all__)
