"""Sparse tensors: PyTorch's `torch.sparse`, on named tensors and differentiable. `sparse_coo_tensor` makes them."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from workbench.core.typing import DTypeLike as _DTypeLike
from workbench.core.typing import Dim as _Dim
from workbench.core.typing import DimsLike as _DimsLike
from workbench.core.typing import Scalar as _Scalar
from workbench.tensor.tensor import Tensor as _Tensor

def addmm(mat: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
    """Add the product of a sparse matrix and a dense one: y = β·mat + α·(mat1 @ mat2)."""

def log_softmax(input: _Tensor, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
    """Logarithm of `softmax` along a sparse dim, over the values that are there."""

def mm(mat1: _Tensor, mat2: _Tensor) -> _Tensor:
    """Product of two matrices, sparse or dense: y[i, j] = Σ_k a[i, k]·b[k, j]."""

def softmax(input: _Tensor, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
    """Shares along a sparse dim of the values that are there: exp(x) / Σ exp(x). What is not there counts as -inf."""

def sum(input: _Tensor, dim: _DimsLike | None = None, dtype: _DTypeLike | None = None) -> _Tensor:
    """Sum over dims, sparse where a sparse dim is left."""
