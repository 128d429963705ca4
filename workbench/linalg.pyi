"""Linear algebra: PyTorch's `torch.linalg`, on named tensors and differentiable."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence as _Sequence
from workbench.core.typing import DTypeLike as _DTypeLike
from workbench.core.typing import Dim as _Dim
from workbench.core.typing import DimsLike as _DimsLike
from workbench.core.typing import Order as _Order
from workbench.ops.linalg.cholesky import CholeskyWithInfo as _CholeskyWithInfo
from workbench.ops.linalg.eigen import EigResult as _EigResult
from workbench.ops.linalg.eigen import EighResult as _EighResult
from workbench.ops.linalg.lapack import LinAlgError as LinAlgError
from workbench.ops.linalg.ldl import LDLFactors as _LDLFactors
from workbench.ops.linalg.ldl import LDLFactorsWithInfo as _LDLFactorsWithInfo
from workbench.ops.linalg.lu import LUFactors as _LUFactors
from workbench.ops.linalg.lu import LUFactorsWithInfo as _LUFactorsWithInfo
from workbench.ops.linalg.lu import PLU as _PLU
from workbench.ops.linalg.matrix_functions import SlogdetResult as _SlogdetResult
from workbench.ops.linalg.pseudoinverse import LstsqResult as _LstsqResult
from workbench.ops.linalg.qr import QRResult as _QRResult
from workbench.ops.linalg.solve import InverseWithInfo as _InverseWithInfo
from workbench.ops.linalg.solve import SolutionWithInfo as _SolutionWithInfo
from workbench.ops.linalg.svd import SVDResult as _SVDResult
from workbench.tensor.tensor import Tensor as _Tensor

def cholesky(A: _Tensor, *, upper: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Triangular square root of Hermitian positive-definite matrices: A = L Lᴴ, or with `upper` A = Uᴴ U."""

def cholesky_ex(A: _Tensor, *, upper: _bool = False, check_errors: _bool = False, out: _Sequence[_Tensor] | None = None) -> _CholeskyWithInfo:
    """Cholesky factors, and for each the order of the leading minor that is not positive-definite, or 0."""

def cond(A: _Tensor, p: _Order | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Condition number: ‖A‖·‖A⁻¹‖ in the norm `p`; without one, or for ±2, the ratio of singular values."""

def cross(input: _Tensor, other: _Tensor, *, dim: _Dim = -1, out: _Tensor | None = None) -> _Tensor:
    """Cross product of vectors of three values along a dim: y = a × b. Other dims broadcast."""

def det(A: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Determinants of square matrices."""

def diagonal(A: _Tensor, *, offset: _int = 0, dim1: _Dim = -2, dim2: _Dim = -1) -> _Tensor:
    """Diagonals of matrices, as the last dim: y[…, i] = A[…, i, i + offset]."""

def eig(A: _Tensor, *, out: _Sequence[_Tensor] | None = None) -> _EigResult:
    """Eigenvalues and eigenvectors (columns of length one) of square matrices, complex: A = V diag(λ) V⁻¹."""

def eigh(A: _Tensor, UPLO: _str = 'L', *, out: _Sequence[_Tensor] | None = None) -> _EighResult:
    """Eigenvalues (real, ascending) and eigenvectors (columns) of Hermitian matrices: A = Q diag(λ) Qᴴ."""

def eigvals(A: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Eigenvalues of square matrices, complex, in arbitrary order."""

def eigvalsh(A: _Tensor, UPLO: _str = 'L', *, out: _Tensor | None = None) -> _Tensor:
    """Eigenvalues of Hermitian matrices, real and ascending; see `linalg.eigh`."""

def householder_product(A: _Tensor, tau: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """The first columns of a product of reflectors: H₁ H₂ … H_k with H_i = I - τ_i v_i v_iᴴ."""

def inv(A: _Tensor) -> _Tensor:
    """Inverses of square matrices: Y = A⁻¹. Raises `LinAlgError` for a singular one."""

def inv_ex(A: _Tensor, *, check_errors: _bool = False) -> _InverseWithInfo:
    """Inverses of square matrices, and for each the position of the pivot that is zero, or 0."""

def ldl_factor(A: _Tensor, *, hermitian: _bool = False, out: _Sequence[_Tensor] | None = None) -> _LDLFactors:
    """Factors of a symmetric (or Hermitian) matrix, A = L D Lᵀ, and pivots; the lower triangle is read."""

def ldl_factor_ex(A: _Tensor, *, hermitian: _bool = False, check_errors: _bool = False, out: _Sequence[_Tensor] | None = None) -> _LDLFactorsWithInfo:
    """Factors and pivots as of `linalg.ldl_factor`, and the position of the first zero on D's diagonal, or 0."""

def ldl_solve(LD: _Tensor, pivots: _Tensor, B: _Tensor, *, hermitian: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Solution X of A X = B given what `linalg.ldl_factor` made of A."""

def lstsq(A: _Tensor, B: _Tensor, rcond: _float | None = None, *, driver: _str | None = None) -> _LstsqResult:
    """Least squares solution X = argmin ‖A X - B‖, the one of least norm where there are many."""

def lu(A: _Tensor, *, pivot: _bool = True) -> _PLU:
    """The factors of A = P L U: a permutation, a unit lower and an upper triangular matrix."""

def lu_factor(A: _Tensor, *, pivot: _bool = True, out: _Sequence[_Tensor] | None = None) -> _LUFactors:
    """Triangular factors of A = P L U in one matrix, and the row exchanges, counted from 1."""

def lu_factor_ex(A: _Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: _Sequence[_Tensor] | None = None) -> _LUFactorsWithInfo:
    """Triangular factors in one matrix, the row exchanges, and the position of the first zero on U's diagonal, or 0."""

def lu_solve(LU: _Tensor, pivots: _Tensor, B: _Tensor, *, left: _bool = True, adjoint: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Solution X of A X = B given what `linalg.lu_factor` made of A."""

def matmul(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Matrix product over the last two dims, batches at the left: y[…, m, n] = Σ_k a[…, m, k]·b[…, k, n]."""

def matrix_exp(A: _Tensor) -> _Tensor:
    """Exponentials of square matrices: Y = Σ_k Aᵏ / k!; of 16-bit floats computed in float32 and rounded once."""

def matrix_norm(A: _Tensor, ord: _Order | None = 'fro', dim: _Sequence[_Dim] = (-2, -1), keepdim: _bool = False, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Norm of matrices: fro √(Σ|a|²), nuc Σ σ, ±2 largest or smallest σ, ±1 column sums, ±∞ row sums of |a|."""

def matrix_power(A: _Tensor, n: _int, *, out: _Tensor | None = None) -> _Tensor:
    """Powers of square matrices: A multiplied n times, its inverse for negative n, the identity for 0."""

def matrix_rank(A: _Tensor, tol: _Tensor | _float | None = None, hermitian: _bool = False, *, atol: _Tensor | _float | None = None, rtol: _Tensor | _float | None = None, out: _Tensor | None = None) -> _Tensor:
    """Number of singular values greater than max(atol, σ₁·rtol); rtol is max(M, N)·ε where neither is given."""

def multi_dot(tensors: _Sequence[_Tensor]) -> _Tensor:
    """Product of several matrices, in the order that needs the fewest multiplications."""

def norm(A: _Tensor, ord: _Order | None = None, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None) -> _Tensor:
    """Norm of a vector or a matrix; see `linalg.vector_norm` and `linalg.matrix_norm` for the orders."""

def pinv(A: _Tensor, rcond: _Tensor | _float | None = None, hermitian: _bool = False, *, atol: _Tensor | _float | None = None, rtol: _Tensor | _float | None = None, out: _Tensor | None = None) -> _Tensor:
    """Pseudoinverse (Moore, Penrose) of matrices: singular values up to max(atol, σ₁·rtol) are taken for zeros."""

def qr(A: _Tensor, mode: _str = 'reduced', *, out: _Sequence[_Tensor] | None = None) -> _QRResult:
    """Orthonormal and upper triangular factor: A = Q R; `mode` is reduced, complete, or r (Q is empty)."""

def slogdet(A: _Tensor, *, out: _Sequence[_Tensor] | None = None) -> _SlogdetResult:
    """Signs (or phases) of determinants, and the logarithms of their moduli: 0 and -∞ for singular matrices."""

def solve(A: _Tensor, B: _Tensor, *, left: _bool = True) -> _Tensor:
    """Solutions of square systems: A X = B, or with ``left=False`` X A = B. Raises `LinAlgError` for a singular A."""

def solve_ex(A: _Tensor, B: _Tensor, *, left: _bool = True, check_errors: _bool = False) -> _SolutionWithInfo:
    """Solutions of square systems, and for each the position of the pivot that is zero, or 0."""

def solve_triangular(A: _Tensor, B: _Tensor, *, upper: _bool, left: _bool = True, unitriangular: _bool = False) -> _Tensor:
    """Solutions of triangular systems: A X = B, or with ``left=False`` X A = B."""

def svd(A: _Tensor, full_matrices: _bool = True, *, driver: _str | None = None, out: _Sequence[_Tensor] | None = None) -> _SVDResult:
    """Singular value decomposition: A = U diag(S) Vh, singular values descending."""

def svdvals(A: _Tensor, *, driver: _str | None = None, out: _Tensor | None = None) -> _Tensor:
    """Singular values, descending."""

def tensorinv(A: _Tensor, ind: _int = 2) -> _Tensor:
    """Inverse of a tensor for `tensordot`: its first `ind` dims taken as rows, the others as columns."""

def tensorsolve(A: _Tensor, B: _Tensor, dims: _Sequence[_int | _str] | None = None) -> _Tensor:
    """Solution X of ``tensordot(A, X, X.ndim) = B``: the first dims of A are those of B, the others those of X."""

def vander(x: _Tensor, N: _int | None = None) -> _Tensor:
    """Powers of every value, from 0 to N - 1: y[…, i, j] = x[…, i]ʲ."""

def vecdot(x: _Tensor, y: _Tensor, *, dim: _Dim = -1) -> _Tensor:
    """Dot products along a dim, `x` conjugated: y = Σ conj(x)·y. Names unify, sizes broadcast."""

def vector_norm(x: _Tensor, ord: _int | _float = 2, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Norm of vectors: (Σ |x|ᵖ)^{1/p}; for p = ±∞ the largest or smallest |x|, for 0 how many are not zero."""
