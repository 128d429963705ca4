"""What a tensor has from the table: methods, and Python's operators."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import tuple as _tuple
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import Literal as _Literal
from typing import overload as _overload
from workbench.base.codes import QScheme as _QScheme
from workbench.base.memory_formats import Layout as _Layout
from workbench.base.memory_formats import MemoryFormat as _MemoryFormat
from workbench.base.random import Generator as _Generator
from workbench.core.typing import DTypeLike as _DTypeLike
from workbench.core.typing import DeviceLike as _DeviceLike
from workbench.core.typing import Dim as _Dim
from workbench.core.typing import DimsLike as _DimsLike
from workbench.core.typing import Operand as _Operand
from workbench.core.typing import Scalar as _Scalar
from workbench.core.typing import Size as _Size
from workbench.core.value import Value
from workbench.ops.elementwise.powers import MantissaExponent as _MantissaExponent
from workbench.ops.linalg.lu import LUFactors as _LUFactors
from workbench.ops.linalg.lu import LUFactorsWithInfo as _LUFactorsWithInfo
from workbench.ops.linalg.matrix_functions import SlogdetResult as _SlogdetResult
from workbench.ops.linalg.qr import QRResult as _QRResult
from workbench.ops.linalg.qr import Reflectors as _Reflectors
from workbench.ops.linalg.solve import TriangularSolution as _TriangularSolution
from workbench.ops.linalg.svd import OldSVDResult as _OldSVDResult
from workbench.ops.reduce.extremes import MinMax as _MinMax
from workbench.ops.reduce.extremes import ValuesIndices as _ValuesIndices
from workbench.ops.reduce.histogram import Histogram as _Histogram
from workbench.tensor.storages import TypedStorage as _TypedStorage
from workbench.tensor.storages import UntypedStorage as _UntypedStorage
from workbench.tensor.tensor import Tensor as _Tensor

class Methods(Value):
    @property
    def H(self) -> _Tensor:
        """A matrix transposed, and conjugated where it is complex."""

    def _indices(self) -> _Tensor:
        """Return the places of the values, [sparse dims, n]."""

    def _nnz(self) -> _int:
        """Return how many values are there."""

    def _values(self) -> _Tensor:
        """Return the values that are there, [n, …dense dims]; gradients go through them."""

    def abs(self) -> _Tensor:
        """Absolute value."""

    def abs_(self) -> _Tensor:
        """In-place version of `abs`: the result goes into this tensor's memory."""

    def absolute(self) -> _Tensor:
        """Absolute value."""

    def absolute_(self) -> _Tensor:
        """In-place version of `absolute`: the result goes into this tensor's memory."""

    def acos(self) -> _Tensor:
        """Angle in radians whose cosine is given."""

    def acos_(self) -> _Tensor:
        """In-place version of `acos`: the result goes into this tensor's memory."""

    def acosh(self) -> _Tensor:
        """Inverse of the hyperbolic cosine."""

    def acosh_(self) -> _Tensor:
        """In-place version of `acosh`: the result goes into this tensor's memory."""

    def add(self, other: _Operand, *, alpha: _Scalar = 1) -> _Tensor:
        """Add: y = a + alpha·b. Names unify from the right, sizes broadcast."""

    def add_(self, other: _Operand, *, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `add`: the result goes into this tensor's memory."""

    def addbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """Add the sum of the matrix products of two batches: y = β·input + α·Σ_b a[b] @ c[b]."""

    def addbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `addbmm`: the result goes into this tensor's memory."""

    def addcdiv(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor:
        """Add a quotient: y = x + value·a/b. Names of all three unify from the right, sizes broadcast."""

    def addcdiv_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor:
        """In-place version of `addcdiv`: the result goes into this tensor's memory."""

    def addcmul(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor:
        """Add a product: y = x + value·a·b. Names of all three unify from the right, sizes broadcast."""

    def addcmul_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor:
        """In-place version of `addcmul`: the result goes into this tensor's memory."""

    def addmm(self, mat1: _Tensor, mat2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """Add a matrix product: y = β·input + α·(a @ b). Names of `input` unify with those of the product."""

    def addmm_(self, mat1: _Tensor, mat2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `addmm`: the result goes into this tensor's memory."""

    def addmv(self, mat: _Tensor, vec: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """Add the product of a matrix and a vector: y = β·input + α·(A @ x)."""

    def addmv_(self, mat: _Tensor, vec: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `addmv`: the result goes into this tensor's memory."""

    def addr(self, vec1: _Tensor, vec2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """Add an outer product: y = β·input + α·(a ⊗ b)."""

    def addr_(self, vec1: _Tensor, vec2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `addr`: the result goes into this tensor's memory."""

    def adjoint(self) -> _Tensor:
        """The last two dims exchanged, and complex values conjugated: Aᴴ."""

    def all(self, dim: _DimsLike | None = None, keepdim: _bool = False) -> _Tensor:
        """True where all values over the dims are non-zero."""

    def allclose(self, other: _Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Say whether all values of two are nearly equal, see `isclose`."""

    def amax(self, dim: _DimsLike | None = None, keepdim: _bool = False) -> _Tensor:
        """Largest value over dims; the gradient is shared evenly between ties."""

    def amin(self, dim: _DimsLike | None = None, keepdim: _bool = False) -> _Tensor:
        """Smallest value over dims; the gradient is shared evenly between ties."""

    def aminmax(self, *, dim: _Dim | None = None, keepdim: _bool = False) -> _MinMax:
        """Smallest and largest value, of all or along one dim, as a named tuple ``(min, max)``."""

    def angle(self) -> _Tensor:
        """Angle to the positive real axis in radians: y = atan2(Im x, Re x); π for negative numbers. Names pass through."""

    def any(self, dim: _DimsLike | None = None, keepdim: _bool = False) -> _Tensor:
        """True where any value over the dims is non-zero."""

    def apply_(self, callable: _Callable[[_Any], _Any]) -> _Tensor:
        """Put ``callable(value)`` in the place of each value. It is slow, and for values on the CPU."""

    def arccos(self) -> _Tensor:
        """Angle in radians whose cosine is given."""

    def arccos_(self) -> _Tensor:
        """In-place version of `arccos`: the result goes into this tensor's memory."""

    def arccosh(self) -> _Tensor:
        """Inverse of the hyperbolic cosine."""

    def arccosh_(self) -> _Tensor:
        """In-place version of `arccosh`: the result goes into this tensor's memory."""

    def arcsin(self) -> _Tensor:
        """Angle in radians whose sine is given."""

    def arcsin_(self) -> _Tensor:
        """In-place version of `arcsin`: the result goes into this tensor's memory."""

    def arcsinh(self) -> _Tensor:
        """Inverse of the hyperbolic sine."""

    def arcsinh_(self) -> _Tensor:
        """In-place version of `arcsinh`: the result goes into this tensor's memory."""

    def arctan(self) -> _Tensor:
        """Angle in radians whose tangent is given."""

    def arctan2(self, other: _Operand) -> _Tensor:
        """Angle in radians of the point (other, input), in its own quadrant."""

    def arctan2_(self, other: _Operand) -> _Tensor:
        """In-place version of `arctan2`: the result goes into this tensor's memory."""

    def arctan_(self) -> _Tensor:
        """In-place version of `arctan`: the result goes into this tensor's memory."""

    def arctanh(self) -> _Tensor:
        """Inverse of the hyperbolic tangent."""

    def arctanh_(self) -> _Tensor:
        """In-place version of `arctanh`: the result goes into this tensor's memory."""

    def argmax(self, dim: _Dim | None = None, keepdim: _bool = False) -> _Tensor:
        """Index (int64) of the largest value along a dim, or of all values laid out in a row; the first of several."""

    def argmin(self, dim: _Dim | None = None, keepdim: _bool = False) -> _Tensor:
        """Index (int64) of the smallest value along a dim, or of all values laid out in a row; the first of several."""

    def argsort(self, dim: _Dim = -1, descending: _bool = False, stable: _bool = False) -> _Tensor:
        """Indices (int64) that sort the values along a dim; equal values keep their order."""

    def argwhere(self) -> _Tensor:
        """Indices (int64) of the values that are not zero, one a row."""

    def as_strided(self, size: _Size, stride: _Size, storage_offset: _int | None = None) -> _Tensor:
        """The memory of a tensor seen with sizes and strides (in values) given by hand: a view without names."""

    def as_strided_(self, size: _Size, stride: _Size, storage_offset: _int | None = None) -> _Tensor:
        """In-place version of `as_strided`: this tensor's own dims change, its memory does not."""

    def as_strided_scatter(self, src: _Tensor, size: _Size, stride: _Size, storage_offset: _int | None = None) -> _Tensor:
        """A copy of `input` in which what `as_strided` shows is replaced by `src`."""

    def asin(self) -> _Tensor:
        """Angle in radians whose sine is given."""

    def asin_(self) -> _Tensor:
        """In-place version of `asin`: the result goes into this tensor's memory."""

    def asinh(self) -> _Tensor:
        """Inverse of the hyperbolic sine."""

    def asinh_(self) -> _Tensor:
        """In-place version of `asinh`: the result goes into this tensor's memory."""

    def atan(self) -> _Tensor:
        """Angle in radians whose tangent is given."""

    def atan2(self, other: _Operand) -> _Tensor:
        """Angle in radians of the point (other, input), in its own quadrant."""

    def atan2_(self, other: _Operand) -> _Tensor:
        """In-place version of `atan2`: the result goes into this tensor's memory."""

    def atan_(self) -> _Tensor:
        """In-place version of `atan`: the result goes into this tensor's memory."""

    def atanh(self) -> _Tensor:
        """Inverse of the hyperbolic tangent."""

    def atanh_(self) -> _Tensor:
        """In-place version of `atanh`: the result goes into this tensor's memory."""

    def baddbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """Add matrix products of two batches: y[b] = β·input[b] + α·(a[b] @ c[b])."""

    def baddbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `baddbmm`: the result goes into this tensor's memory."""

    def bernoulli(self, p: _float | None = None, *, generator: _Generator | None = None) -> _Tensor:
        """Return 1 with the probability that stands in `input` (or with `p`), else 0. Dims, names and type stay."""

    def bernoulli_(self, p: _Tensor | _float = 0.5, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with 1 with probability `p`, else 0."""

    def bfloat16(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to bfloat16; a tensor of that type is returned as it is. Names and sizes pass through."""

    def bincount(self, weights: _Tensor | None = None, minlength: _int = 0) -> _Tensor:
        """Count how often each of 0, 1, 2, … occurs in a vector, or add up the weights of its occurrences."""

    def bitwise_and(self, other: _Operand) -> _Tensor:
        """Bits set in both."""

    def bitwise_and_(self, other: _Operand) -> _Tensor:
        """In-place version of `bitwise_and`: the result goes into this tensor's memory."""

    def bitwise_left_shift(self, other: _Operand) -> _Tensor:
        """Bits moved up."""

    def bitwise_left_shift_(self, other: _Operand) -> _Tensor:
        """In-place version of `bitwise_left_shift`: the result goes into this tensor's memory."""

    def bitwise_not(self) -> _Tensor:
        """All bits flipped; for bool, not."""

    def bitwise_not_(self) -> _Tensor:
        """In-place version of `bitwise_not`: the result goes into this tensor's memory."""

    def bitwise_or(self, other: _Operand) -> _Tensor:
        """Bits set in either."""

    def bitwise_or_(self, other: _Operand) -> _Tensor:
        """In-place version of `bitwise_or`: the result goes into this tensor's memory."""

    def bitwise_right_shift(self, other: _Operand) -> _Tensor:
        """Bits moved down; the sign stays."""

    def bitwise_right_shift_(self, other: _Operand) -> _Tensor:
        """In-place version of `bitwise_right_shift`: the result goes into this tensor's memory."""

    def bitwise_xor(self, other: _Operand) -> _Tensor:
        """Bits set in one and not in the other."""

    def bitwise_xor_(self, other: _Operand) -> _Tensor:
        """In-place version of `bitwise_xor`: the result goes into this tensor's memory."""

    def bmm(self, mat2: _Tensor) -> _Tensor:
        """Matrix products of two batches of one size: y[b, n, p] = Σ_m a[b, n, m]·c[b, m, p]."""

    def bool(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to bool; a tensor of that type is returned as it is. Names and sizes pass through."""

    def broadcast_to(self, size: _Size) -> _Tensor:
        """Stretch to the sizes `size`: `expand` by another name."""

    def byte(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to uint8; a tensor of that type is returned as it is. Names and sizes pass through."""

    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with draws from a Cauchy distribution."""

    def cdouble(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to complex128; a tensor of that type is returned as it is. Names and sizes pass through."""

    def ceil(self) -> _Tensor:
        """Smallest integer not below."""

    def ceil_(self) -> _Tensor:
        """In-place version of `ceil`: the result goes into this tensor's memory."""

    def cfloat(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to complex64; a tensor of that type is returned as it is. Names and sizes pass through."""

    def char(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to int8; a tensor of that type is returned as it is. Names and sizes pass through."""

    def cholesky(self, upper: _bool = False) -> _Tensor:
        """Triangular square root of Hermitian positive-definite matrices; see `linalg.cholesky`."""

    def cholesky_inverse(self, upper: _bool = False) -> _Tensor:
        """Inverse of A given its Cholesky factor: A = L Lᴴ, or with `upper` A = Uᴴ U."""

    def cholesky_solve(self, L: _Tensor, upper: _bool = False) -> _Tensor:
        """Solution X of A X = B given the Cholesky factor of A: A = L Lᴴ, or with `upper` A = Uᴴ U."""

    def chunk(self, chunks: _int, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Cut a dim into at most `chunks` parts of equal size, the last one smaller: a tuple of views."""

    def clamp(self, min: _Operand | None = None, max: _Operand | None = None) -> _Tensor:
        """Keep values within [min, max]: y = min(max(x, low), high). Bounds are numbers or tensors that broadcast."""

    def clamp_(self, min: _Operand | None = None, max: _Operand | None = None) -> _Tensor:
        """In-place version of `clamp`: the result goes into this tensor's memory."""

    def clamp_max(self, max: _Operand) -> _Tensor:
        """Keep values up to a bound: y = min(x, high). Names of a tensor of bounds unify, sizes broadcast."""

    def clamp_max_(self, max: _Operand) -> _Tensor:
        """In-place version of `clamp_max`: the result goes into this tensor's memory."""

    def clamp_min(self, min: _Operand) -> _Tensor:
        """Keep values from a bound up: y = max(x, low). Names of a tensor of bounds unify, sizes broadcast."""

    def clamp_min_(self, min: _Operand) -> _Tensor:
        """In-place version of `clamp_min`: the result goes into this tensor's memory."""

    def clip(self, min: _Operand | None = None, max: _Operand | None = None) -> _Tensor:
        """Keep values within [min, max]: y = min(max(x, low), high). Bounds are numbers or tensors that broadcast."""

    def clip_(self, min: _Operand | None = None, max: _Operand | None = None) -> _Tensor:
        """In-place version of `clip`: the result goes into this tensor's memory."""

    def clone(self, *, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Copy: y = x, in memory of its own. Names and sizes pass through, and gradients go back to the original."""

    def coalesce(self) -> _Tensor:
        """Return the same values with each place once, in the order of rows; values of one place are added up."""

    def col_indices(self) -> _Tensor:
        """Return the columns of the values, row by row."""

    def conj(self) -> _Tensor:
        """Complex conjugate as a view: y = Re x - i·Im x; a real tensor is returned as it is. Names pass through."""

    def conj_physical(self) -> _Tensor:
        """Complex conjugate with values of its own: y = Re x - i·Im x; a real tensor is returned as it is."""

    def conj_physical_(self) -> _Tensor:
        """In-place version of `conj_physical`: the result goes into this tensor's memory."""

    def contiguous(self, memory_format: _MemoryFormat = ...) -> _Tensor:
        """Return the tensor if its values lie in memory as asked, else a copy for which that is so: row-major order, or ``channels_last``."""

    def copysign(self, other: _Operand) -> _Tensor:
        """The size of the first with the sign of the second."""

    def copysign_(self, other: _Operand) -> _Tensor:
        """In-place version of `copysign`: the result goes into this tensor's memory."""

    def corrcoef(self) -> _Tensor:
        """Correlation of the variables in rows over the observations in columns: y_ij = c_ij / √(c_ii·c_jj)."""

    def cos(self) -> _Tensor:
        """Cosine of an angle in radians."""

    def cos_(self) -> _Tensor:
        """In-place version of `cos`: the result goes into this tensor's memory."""

    def cosh(self) -> _Tensor:
        """Hyperbolic cosine."""

    def cosh_(self) -> _Tensor:
        """In-place version of `cosh`: the result goes into this tensor's memory."""

    def count_nonzero(self, dim: _DimsLike | None = None) -> _Tensor:
        """Count (int64) the values over the dims that are not zero."""

    def cov(self, *, correction: _int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
        """Covariance of the variables in rows over the observations in columns: y_ij = Σ_k (x_ik - x̄_i)·(x_jk - x̄_j)* / n."""

    def cpu(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Return the tensor on the CPU; itself if it is there."""

    def cross(self, other: _Tensor, dim: _Dim | None = None) -> _Tensor:
        """Cross product along a dim, or without one along the first that has size 3; see `linalg.cross`."""

    def crow_indices(self) -> _Tensor:
        """Return where the values of each row begin, and where the last ones end."""

    def cuda(self, device: _DeviceLike | _int | None = None, non_blocking: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Return the tensor on an NVIDIA GPU, as ``x.to("cuda")`` does. Raises `DeviceError` where there is none."""

    def cummax(self, dim: _Dim) -> _ValuesIndices:
        """Running maximum along a dim and where it stands last, as a named tuple ``(values, indices)``."""

    def cummin(self, dim: _Dim) -> _ValuesIndices:
        """Running minimum along a dim and where it stands last, as a named tuple ``(values, indices)``."""

    def cumprod(self, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """Running product along a dim: y_i = Π_{j ≤ i} x_j. Integers are multiplied as int64."""

    def cumprod_(self, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """In-place version of `cumprod`: the result goes into this tensor's memory."""

    def cumsum(self, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """Running sum along a dim: y_i = Σ_{j ≤ i} x_j. Integers are summed as int64."""

    def cumsum_(self, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """In-place version of `cumsum`: the result goes into this tensor's memory."""

    def deg2rad(self) -> _Tensor:
        """Angles in degrees as radians: y = x·π/180. Names and sizes pass through."""

    def deg2rad_(self) -> _Tensor:
        """In-place version of `deg2rad`: the result goes into this tensor's memory."""

    def dense_dim(self) -> _int:
        """Return how many dims each value that is there has."""

    def dequantize(self) -> _Tensor:
        """Return the float32 numbers that codes stand for, see `workbench.dequantize`."""

    def det(self) -> _Tensor:
        """Determinants of square matrices."""

    def diag(self, diagonal: _int = 0) -> _Tensor:
        """Of a vector the matrix with it on a diagonal, of a matrix that diagonal."""

    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> _Tensor:
        """The last dim on the diagonals of square matrices of zeros, whose dims stand at `dim1` and `dim2`."""

    def diagflat(self, offset: _int = 0) -> _Tensor:
        """The matrix with all values of a tensor, taken as flat, on a diagonal."""

    def diagonal(self, offset: _int = 0, dim1: _Dim = 0, dim2: _Dim = 1, *, outdim: _str | None = None) -> _Tensor:
        """The diagonal of two dims as the last dim, `offset` above (or, negative, below) the main one: a view."""

    def diagonal_scatter(self, src: _Tensor, offset: _int = 0, dim1: _Dim = 0, dim2: _Dim = 1) -> _Tensor:
        """A copy of `input` in which the diagonal of two dims is replaced by `src`."""

    def diff(self, n: _int = 1, dim: _Dim = -1, prepend: _Tensor | None = None, append: _Tensor | None = None) -> _Tensor:
        """Differences of neighbours along a dim, `n` times over: y_i = x_{i+1} - x_i. Of bools: whether they differ."""

    def digamma(self) -> _Tensor:
        """Slope of the logarithm of the gamma function."""

    def digamma_(self) -> _Tensor:
        """In-place version of `digamma`: the result goes into this tensor's memory."""

    def dist(self, other: _Tensor, p: _float = 2) -> _Tensor:
        """Distance of two tensors: the p-norm of their difference, over all dims."""

    def div(self, other: _Operand, *, rounding_mode: _str | None = None) -> _Tensor:
        """Divide: y = a/b, rounded down with "floor" and towards 0 with "trunc". Names unify, sizes broadcast."""

    def div_(self, other: _Operand, *, rounding_mode: _str | None = None) -> _Tensor:
        """In-place version of `div`: the result goes into this tensor's memory."""

    def divide(self, other: _Operand, *, rounding_mode: _str | None = None) -> _Tensor:
        """Divide: y = a/b, rounded down with "floor" and towards 0 with "trunc". Names unify, sizes broadcast."""

    def divide_(self, other: _Operand, *, rounding_mode: _str | None = None) -> _Tensor:
        """In-place version of `divide`: the result goes into this tensor's memory."""

    def dot(self, tensor: _Tensor) -> _Tensor:
        """Dot product of two vectors, without conjugation: y = Σ_i a[i]·b[i]."""

    def double(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to float64; a tensor of that type is returned as it is. Names and sizes pass through."""

    def dsplit(self, indices_or_sections: _Size | _Tensor) -> _tuple[_Tensor, ...]:
        """Cut the third dim at indices or into equal parts."""

    def eq(self, other: _Operand) -> _Tensor:
        """Equal."""

    def eq_(self, other: _Operand) -> _Tensor:
        """In-place version of `eq`: the result goes into this tensor's memory."""

    def equal(self, other: _Tensor) -> _bool:
        """Say whether two tensors have the same names, sizes and values; codes also the same scale and zero point."""

    def erf(self) -> _Tensor:
        """Error function."""

    def erf_(self) -> _Tensor:
        """In-place version of `erf`: the result goes into this tensor's memory."""

    def erfc(self) -> _Tensor:
        """Complement of the error function, exact where that is near 1."""

    def erfc_(self) -> _Tensor:
        """In-place version of `erfc`: the result goes into this tensor's memory."""

    def erfinv(self) -> _Tensor:
        """Inverse of the error function."""

    def erfinv_(self) -> _Tensor:
        """In-place version of `erfinv`: the result goes into this tensor's memory."""

    def exp(self) -> _Tensor:
        """Exponential."""

    def exp2(self) -> _Tensor:
        """Power of 2."""

    def exp2_(self) -> _Tensor:
        """In-place version of `exp2`: the result goes into this tensor's memory."""

    def exp_(self) -> _Tensor:
        """In-place version of `exp`: the result goes into this tensor's memory."""

    def expand(self, *sizes: _Size, size: _Size | None = None) -> _Tensor:
        """Stretch dims of size 1 without copying, and add dims at the left; -1 keeps a size."""

    def expand_as(self, other: _Tensor) -> _Tensor:
        """Stretch to the sizes of `other`: a view."""

    def expm1(self) -> _Tensor:
        """Exponential minus 1, exact near 0."""

    def expm1_(self) -> _Tensor:
        """In-place version of `expm1`: the result goes into this tensor's memory."""

    def exponential_(self, lambd: _float = 1.0, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with exponential draws of rate `lambd`."""

    def fake_quantize_per_channel_affine(self, scale: _Tensor | _float, zero_point: _Tensor | _int, axis: _Dim, quant_min: _int, quant_max: _int) -> _Tensor:
        """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each entry of `axis`."""

    def fake_quantize_per_tensor_affine(self, scale: _Tensor | _float, zero_point: _Tensor | _int, quant_min: _int, quant_max: _int) -> _Tensor:
        """Round to the numbers that codes can stand for: y = (clamp(rne(x·(1/s)) + z, qmin, qmax) - z)·s."""

    def fill_diagonal(self, fill_value: _float, wrap: _bool = False) -> _Tensor:
        """A copy with a number on the main diagonal; with `wrap` it goes on below, after a row without, in tall matrices."""

    def fill_diagonal_(self, fill_value: _float, wrap: _bool = False) -> _Tensor:
        """In-place version of `fill_diagonal`: the result goes into this tensor's memory."""

    def fix(self) -> _Tensor:
        """Integer part: rounded towards 0."""

    def fix_(self) -> _Tensor:
        """In-place version of `fix`: the result goes into this tensor's memory."""

    def flatten(self, start_dim: _DimsLike = 0, end_dim: _Dim = -1, out_dim: _str | None = None) -> _Tensor:
        """Lay several neighbouring dims out as one: ``flatten(1)``, or by name ``flatten(['C', 'H', 'W'], 'features')``."""

    def flip(self, *order: _DimsLike, dims: _DimsLike | None = None) -> _Tensor:
        """Reverse the order of entries along the given dims: a copy."""

    def fliplr(self) -> _Tensor:
        """Reverse the second dim: left and right change places."""

    def flipud(self) -> _Tensor:
        """Reverse the first dim: up and down change places."""

    def float(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to float32; a tensor of that type is returned as it is. Names and sizes pass through."""

    def float_power(self, exponent: _Operand) -> _Tensor:
        """Raise to a power in double precision: y = a^b as float64, or complex128 where one is complex. Names unify."""

    def float_power_(self, exponent: _Operand) -> _Tensor:
        """In-place version of `float_power`: the result goes into this tensor's memory."""

    def floor(self) -> _Tensor:
        """Largest integer not above."""

    def floor_(self) -> _Tensor:
        """In-place version of `floor`: the result goes into this tensor's memory."""

    def floor_divide(self, other: _Operand) -> _Tensor:
        """Divide and round down."""

    def floor_divide_(self, other: _Operand) -> _Tensor:
        """In-place version of `floor_divide`: the result goes into this tensor's memory."""

    def fmax(self, other: _Operand) -> _Tensor:
        """The larger of two; where one is NaN, the other."""

    def fmin(self, other: _Operand) -> _Tensor:
        """The smaller of two; where one is NaN, the other."""

    def fmod(self, other: _Operand) -> _Tensor:
        """Remainder of the division that rounds towards 0: it has the sign of the dividend."""

    def fmod_(self, other: _Operand) -> _Tensor:
        """In-place version of `fmod`: the result goes into this tensor's memory."""

    def frac(self) -> _Tensor:
        """Fractional part, with the sign of the value: y = x - sgn(x)·⌊|x|⌋. Names and sizes pass through."""

    def frac_(self) -> _Tensor:
        """In-place version of `frac`: the result goes into this tensor's memory."""

    def frexp(self) -> _MantissaExponent:
        """Split into mantissa and exponent: x = mantissa · 2^exponent with 0.5 ≤ |mantissa| < 1."""

    def gather(self, dim: _Dim, index: _Tensor, *, sparse_grad: _bool = False) -> _Tensor:
        """Pick one value along `dim` for each index: for dim 0, y[i][j] = x[index[i][j]][j]."""

    def gcd(self, other: _Operand) -> _Tensor:
        """Greatest common divisor."""

    def gcd_(self, other: _Operand) -> _Tensor:
        """In-place version of `gcd`: the result goes into this tensor's memory."""

    def ge(self, other: _Operand) -> _Tensor:
        """Greater or equal."""

    def ge_(self, other: _Operand) -> _Tensor:
        """In-place version of `ge`: the result goes into this tensor's memory."""

    def geometric_(self, p: _float, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with the number of trials to a first success."""

    def geqrf(self) -> _Reflectors:
        """R with the reflectors of Q below it, and their factors, as `linalg.householder_product` takes them."""

    def ger(self, vec2: _Tensor) -> _Tensor:
        """All products of the values of two vectors: y[i, j] = a[i]·b[j]."""

    def get_device(self) -> _int:
        """Return the number of the device that the values are on, -1 for the CPU."""

    def greater(self, other: _Operand) -> _Tensor:
        """Greater."""

    def greater_(self, other: _Operand) -> _Tensor:
        """In-place version of `greater`: the result goes into this tensor's memory."""

    def greater_equal(self, other: _Operand) -> _Tensor:
        """Greater or equal."""

    def greater_equal_(self, other: _Operand) -> _Tensor:
        """In-place version of `greater_equal`: the result goes into this tensor's memory."""

    def gt(self, other: _Operand) -> _Tensor:
        """Greater."""

    def gt_(self, other: _Operand) -> _Tensor:
        """In-place version of `gt`: the result goes into this tensor's memory."""

    def half(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to float16; a tensor of that type is returned as it is. Names and sizes pass through."""

    def hardshrink(self, lambd: _float = 0.5) -> _Tensor:
        """Drop values near 0: y = x where |x| > λ, 0 elsewhere. Names and sizes pass through."""

    def heaviside(self, values: _Tensor) -> _Tensor:
        """Step from 0 to 1: y = 0 below 0, `values` at 0, 1 above. Names unify from the right, sizes broadcast."""

    def heaviside_(self, values: _Tensor) -> _Tensor:
        """In-place version of `heaviside`: the result goes into this tensor's memory."""

    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> _Tensor:
        """Count the values in `bins` bins of equal width between `min` and `max`, or if these are equal, over all values."""

    def histogram(self, bins: _int | _Tensor, *, range: _Sequence[_float] | None = None, weight: _Tensor | None = None, density: _bool = False) -> _Histogram:
        """Count the values in bins, as a named tuple ``(hist, bin_edges)``."""

    def hsplit(self, indices_or_sections: _Size | _Tensor) -> _tuple[_Tensor, ...]:
        """Cut the second dim (of one dim: that) at indices or into equal parts."""

    def hypot(self, other: _Operand) -> _Tensor:
        """Length of the hypotenuse."""

    def hypot_(self, other: _Operand) -> _Tensor:
        """In-place version of `hypot`: the result goes into this tensor's memory."""

    def i0(self) -> _Tensor:
        """Modified Bessel function of the first kind, of order 0."""

    def i0_(self) -> _Tensor:
        """In-place version of `i0`: the result goes into this tensor's memory."""

    def igamma(self, other: _Operand) -> _Tensor:
        """Regularized lower incomplete gamma function."""

    def igamma_(self, other: _Operand) -> _Tensor:
        """In-place version of `igamma`: the result goes into this tensor's memory."""

    def igammac(self, other: _Operand) -> _Tensor:
        """Regularized upper incomplete gamma function."""

    def igammac_(self, other: _Operand) -> _Tensor:
        """In-place version of `igammac`: the result goes into this tensor's memory."""

    def index_add(self, dim: _Dim, index: _Tensor, source: _Tensor, *, alpha: _Scalar = 1) -> _Tensor:
        """A copy of `input` to which entries of `source`, times alpha, are added at entries of a dim."""

    def index_add_(self, dim: _Dim, index: _Tensor, source: _Tensor, *, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `index_add`: the result goes into this tensor's memory."""

    def index_copy(self, dim: _Dim, index: _Tensor, source: _Tensor) -> _Tensor:
        """A copy of `input` in which entries of a dim are those of `source`."""

    def index_copy_(self, dim: _Dim, index: _Tensor, source: _Tensor) -> _Tensor:
        """In-place version of `index_copy`: the result goes into this tensor's memory."""

    def index_fill(self, dim: _Dim, index: _Tensor, value: _Operand) -> _Tensor:
        """A copy of `input` in which entries of a dim are one number (or that of a tensor without dims)."""

    def index_fill_(self, dim: _Dim, index: _Tensor, value: _Operand) -> _Tensor:
        """In-place version of `index_fill`: the result goes into this tensor's memory."""

    def index_put(self, indices: _Sequence[_Tensor | None], values: _Tensor, accumulate: _bool = False) -> _Tensor:
        """A copy of `input` with `values` written (or, with `accumulate`, added) at tensors of indices, one a dim."""

    def index_put_(self, indices: _Sequence[_Tensor | None], values: _Tensor, accumulate: _bool = False) -> _Tensor:
        """In-place version of `index_put`: the result goes into this tensor's memory."""

    def index_reduce(self, dim: _Dim, index: _Tensor, source: _Tensor, reduce: _str, *, include_self: _bool = True) -> _Tensor:
        """A copy of `input` into which the entries of `source` along `dim` are put at the entries that `index` names."""

    def index_reduce_(self, dim: _Dim, index: _Tensor, source: _Tensor, reduce: _str, *, include_self: _bool = True) -> _Tensor:
        """In-place version of `index_reduce`: the result goes into this tensor's memory."""

    def index_select(self, dim: _Dim, index: _Tensor) -> _Tensor:
        """Pick entries along one dim by a vector of indices; the dim keeps its name, or takes the index's."""

    def indices(self) -> _Tensor:
        """Return the places of the values, [sparse dims, n]."""

    def inner(self, other: _Tensor) -> _Tensor:
        """Dot products along the last dims of two tensors: y[i…, j…] = Σ_k a[i…, k]·b[j…, k]."""

    def int(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to int32; a tensor of that type is returned as it is. Names and sizes pass through."""

    def int_repr(self) -> _Tensor:
        """Return a copy of the codes of a quantized tensor as plain integers."""

    def inverse(self) -> _Tensor:
        """Inverses of square matrices: Y = A⁻¹. Raises `LinAlgError` for a singular one."""

    def is_coalesced(self) -> _bool:
        """Say whether each place stands once, in the order of rows."""

    def is_complex(self) -> _bool:
        """Say whether the values are complex."""

    def is_conj(self) -> _bool:
        """Say whether the tensor shows the conjugate of what lies in memory, as `conj` and ``mH`` do."""

    def is_contiguous(self, memory_format: _MemoryFormat = ...) -> _bool:
        """True if the values lie in memory without gaps, in row-major order or in the one that a format has."""

    def is_floating_point(self) -> _bool:
        """Say whether the values are real floating point numbers."""

    def is_neg(self) -> _bool:
        """Say whether a negative is pending: never, they are computed when they are asked for."""

    def is_nonzero(self) -> _bool:
        """Say whether the one value of a tensor is not 0. Raises where it has more or none."""

    def is_pinned(self, device: _Any = None) -> _bool:
        """Say whether the memory is pinned for a GPU's driver: it is not."""

    def is_same_size(self, other: _Tensor) -> _bool:
        """Say whether two tensors have the same sizes, whatever their types; their names must go together."""

    def is_signed(self) -> _bool:
        """Say whether the type of the values has negative numbers."""

    def isclose(self, other: _Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _Tensor:
        """True where two are nearly equal: |a - b| ≤ atol + rtol·|b|. Names unify from the right, sizes broadcast."""

    def isfinite(self) -> _Tensor:
        """True where finite."""

    def isin(self, test_elements: _Operand, *, assume_unique: _bool = False, invert: _bool = False) -> _Tensor:
        """Whether each element is one of the test elements; with `invert`, whether it is none."""

    def isinf(self) -> _Tensor:
        """True where infinite."""

    def isnan(self) -> _Tensor:
        """True where not a number."""

    def isneginf(self) -> _Tensor:
        """True where -infinity."""

    def isposinf(self) -> _Tensor:
        """True where +infinity."""

    def isreal(self) -> _Tensor:
        """True where the imaginary part is 0: everywhere in a real tensor. Names and sizes pass through."""

    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: _Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> _Tensor:
        """Inverse of `stft`: the signal whose spectra come nearest to those given, [T] or [N, T]."""

    def kron(self, other: _Tensor) -> _Tensor:
        """Kronecker product: every value of `input` times the whole of `other`."""

    def kthvalue(self, k: _int, dim: _Dim = -1, keepdim: _bool = False) -> _ValuesIndices:
        """The `k`-th smallest value along a dim (from 1) and where it stands, as a named tuple ``(values, indices)``."""

    def lcm(self, other: _Operand) -> _Tensor:
        """Least common multiple."""

    def lcm_(self, other: _Operand) -> _Tensor:
        """In-place version of `lcm`: the result goes into this tensor's memory."""

    def ldexp(self, other: _Operand) -> _Tensor:
        """Multiply by a power of 2: y = a·2^b. Names unify from the right, sizes broadcast."""

    def ldexp_(self, other: _Operand) -> _Tensor:
        """In-place version of `ldexp`: the result goes into this tensor's memory."""

    def le(self, other: _Operand) -> _Tensor:
        """Less or equal."""

    def le_(self, other: _Operand) -> _Tensor:
        """In-place version of `le`: the result goes into this tensor's memory."""

    def lerp(self, end: _Tensor | _float, weight: _Tensor | _float) -> _Tensor:
        """Go from one to the other: y = a + w·(b - a). Names of all three unify from the right, sizes broadcast."""

    def lerp_(self, end: _Tensor | _float, weight: _Tensor | _float) -> _Tensor:
        """In-place version of `lerp`: the result goes into this tensor's memory."""

    def less(self, other: _Operand) -> _Tensor:
        """Less."""

    def less_(self, other: _Operand) -> _Tensor:
        """In-place version of `less`: the result goes into this tensor's memory."""

    def less_equal(self, other: _Operand) -> _Tensor:
        """Less or equal."""

    def less_equal_(self, other: _Operand) -> _Tensor:
        """In-place version of `less_equal`: the result goes into this tensor's memory."""

    def lgamma(self) -> _Tensor:
        """Logarithm of the absolute value of the gamma function."""

    def lgamma_(self) -> _Tensor:
        """In-place version of `lgamma`: the result goes into this tensor's memory."""

    def log(self) -> _Tensor:
        """Natural logarithm."""

    def log10(self) -> _Tensor:
        """Logarithm to base 10."""

    def log10_(self) -> _Tensor:
        """In-place version of `log10`: the result goes into this tensor's memory."""

    def log1p(self) -> _Tensor:
        """Natural logarithm of 1 + x, exact near 0."""

    def log1p_(self) -> _Tensor:
        """In-place version of `log1p`: the result goes into this tensor's memory."""

    def log2(self) -> _Tensor:
        """Logarithm to base 2."""

    def log2_(self) -> _Tensor:
        """In-place version of `log2`: the result goes into this tensor's memory."""

    def log_(self) -> _Tensor:
        """In-place version of `log`: the result goes into this tensor's memory."""

    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with e to the power of normal draws."""

    def log_softmax(self, dim: _Dim, dtype: _DTypeLike | None = None) -> _Tensor:
        """Logarithm of softmax along `dim`, without overflow: y_i = x_i - ln Σ_j e^{x_j}. Computed in `dtype`, if given."""

    def logaddexp(self, other: _Operand) -> _Tensor:
        """Logarithm of the sum of exponentials."""

    def logaddexp2(self, other: _Operand) -> _Tensor:
        """Logarithm to base 2 of the sum of powers of 2."""

    def logcumsumexp(self, dim: _Dim) -> _Tensor:
        """Logarithm of the running sum of exponentials along a dim, without overflow: y_i = ln Σ_{j ≤ i} e^{x_j}."""

    def logdet(self) -> _Tensor:
        """Logarithms of determinants: -∞ where one is zero, NaN where one is negative."""

    def logical_and(self, other: _Operand) -> _Tensor:
        """Both non-zero."""

    def logical_and_(self, other: _Operand) -> _Tensor:
        """In-place version of `logical_and`: the result goes into this tensor's memory."""

    def logical_not(self) -> _Tensor:
        """True where zero."""

    def logical_not_(self) -> _Tensor:
        """In-place version of `logical_not`: the result goes into this tensor's memory."""

    def logical_or(self, other: _Operand) -> _Tensor:
        """Either non-zero."""

    def logical_or_(self, other: _Operand) -> _Tensor:
        """In-place version of `logical_or`: the result goes into this tensor's memory."""

    def logical_xor(self, other: _Operand) -> _Tensor:
        """One non-zero and the other not."""

    def logical_xor_(self, other: _Operand) -> _Tensor:
        """In-place version of `logical_xor`: the result goes into this tensor's memory."""

    def logit(self, eps: _float | None = None) -> _Tensor:
        """Inverse of the logistic function: y = ln(x/(1 - x)), with x kept within [eps, 1 - eps] where `eps` is given."""

    def logit_(self, eps: _float | None = None) -> _Tensor:
        """In-place version of `logit`: the result goes into this tensor's memory."""

    def logsumexp(self, dim: _DimsLike | None, keepdim: _bool = False) -> _Tensor:
        """Logarithm of the sum of exponentials over dims, without overflow: y = ln Σ e^x."""

    def long(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to int64; a tensor of that type is returned as it is. Names and sizes pass through."""

    def lt(self, other: _Operand) -> _Tensor:
        """Less."""

    def lt_(self, other: _Operand) -> _Tensor:
        """In-place version of `lt`: the result goes into this tensor's memory."""

    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> _LUFactors | _LUFactorsWithInfo:
        """Triangular factors in one matrix, and the row exchanges; see `linalg.lu_factor`."""

    def lu_solve(self, LU_data: _Tensor, LU_pivots: _Tensor) -> _Tensor:
        """Solution X of A X = `input` given what `linalg.lu_factor` made of A; see `linalg.lu_solve`."""

    @property
    def mH(self) -> _Tensor:
        """The last two dims exchanged, and complex values conjugated."""

    @property
    def mT(self) -> _Tensor:
        """The last two dims exchanged."""

    def map_(self, tensor: _Tensor, callable: _Callable[[_Any, _Any], _Any]) -> _Tensor:
        """Put ``callable(value, other)`` in the place of each value, `other` from a tensor that broadcasts to this one."""

    def masked_fill(self, mask: _Tensor, value: _Operand) -> _Tensor:
        """Put one number where `mask` is True: y = mask ? value : x. Names unify, sizes broadcast, the type stays."""

    def masked_fill_(self, mask: _Tensor, value: _Operand) -> _Tensor:
        """In-place version of `masked_fill`: the result goes into this tensor's memory."""

    def masked_scatter(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """A copy of `input` in which the values where a mask is true are those of `source`, one after another."""

    def masked_scatter_(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """In-place version of `masked_scatter`: the result goes into this tensor's memory."""

    def masked_select(self, mask: _Tensor) -> _Tensor:
        """The values where a mask is true, in row-major order, as one dim; mask and input broadcast."""

    def matmul(self, other: _Tensor) -> _Tensor:
        """Matrix product over the last two dims, batches at the left: y[…, m, n] = Σ_k a[…, m, k]·b[…, k, n]."""

    def matrix_exp(self) -> _Tensor:
        """Exponentials of square matrices: Y = Σ_k Aᵏ / k!; of 16-bit floats computed in float32 and rounded once."""

    def matrix_power(self, n: _int) -> _Tensor:
        """Powers of square matrices: A multiplied n times, its inverse for negative n, the identity for 0."""

    @_overload
    def max(self) -> _Tensor:
        """Largest of all values; with `dim`, largest along it as a named tuple ``(values, indices)``."""
    @_overload
    def max(self, dim: _Dim, keepdim: _bool = False) -> _ValuesIndices: ...
    @_overload
    def max(self, dim: _Tensor) -> _Tensor: ...
    @_overload
    def max(self, *, other: _Tensor) -> _Tensor: ...

    def maximum(self, other: _Operand) -> _Tensor:
        """The larger of two; NaN where one is."""

    def mean(self, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """Arithmetic mean over one dim, several or all: y = Σ x / n. Integers need a floating `dtype`."""

    @_overload
    def median(self) -> _Tensor:
        """Middle value, the lower of two; with `dim`, along it as a named tuple ``(values, indices)``."""
    @_overload
    def median(self, dim: _Dim, keepdim: _bool = False) -> _ValuesIndices: ...

    @_overload
    def min(self) -> _Tensor:
        """Smallest of all values; with `dim`, smallest along it as a named tuple ``(values, indices)``."""
    @_overload
    def min(self, dim: _Dim, keepdim: _bool = False) -> _ValuesIndices: ...
    @_overload
    def min(self, dim: _Tensor) -> _Tensor: ...
    @_overload
    def min(self, *, other: _Tensor) -> _Tensor: ...

    def minimum(self, other: _Operand) -> _Tensor:
        """The smaller of two; NaN where one is."""

    def mm(self, mat2: _Tensor) -> _Tensor:
        """Matrix product of two matrices: y[n, p] = Σ_m a[n, m]·b[m, p]."""

    def mode(self, dim: _Dim = -1, keepdim: _bool = False) -> _ValuesIndices:
        """Most frequent value along a dim and where it stands last, as a named tuple ``(values, indices)``."""

    def moveaxis(self, source: _DimsLike, destination: _DimsLike) -> _Tensor:
        """Move dims to other positions: `movedim` by another name."""

    def movedim(self, source: _DimsLike, destination: _DimsLike) -> _Tensor:
        """Move the dims `source`, one or several, to the positions `destination`; the others keep their order. A view."""

    def msort(self) -> _Tensor:
        """Values along the first dim in order."""

    def mul(self, other: _Operand) -> _Tensor:
        """Multiply."""

    def mul_(self, other: _Operand) -> _Tensor:
        """In-place version of `mul`: the result goes into this tensor's memory."""

    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
        """Return indices drawn with the weights in each row of `input`: dims [..., C] give [..., num_samples], int64."""

    def multiply(self, other: _Operand) -> _Tensor:
        """Multiply."""

    def multiply_(self, other: _Operand) -> _Tensor:
        """In-place version of `multiply`: the result goes into this tensor's memory."""

    def mv(self, vec: _Tensor) -> _Tensor:
        """Product of a matrix and a vector: y[n] = Σ_m a[n, m]·x[m]."""

    def mvlgamma(self, p: _int) -> _Tensor:
        """Logarithm of the multivariate gamma function: y = p(p-1)/4·ln π + Σ_i ln Γ(x - (i-1)/2), i from 1 to p."""

    def mvlgamma_(self, p: _int) -> _Tensor:
        """In-place version of `mvlgamma`: the result goes into this tensor's memory."""

    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> _Tensor:
        """Put numbers in the place of NaN (0 by default) and of infinities (by default the largest of the type)."""

    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> _Tensor:
        """In-place version of `nan_to_num`: the result goes into this tensor's memory."""

    def nanmean(self, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """Mean over dims of the values that are numbers; NaN where there is none."""

    @_overload
    def nanmedian(self) -> _Tensor:
        """Middle of the values that are numbers, see `median`; NaN where there is none."""
    @_overload
    def nanmedian(self, dim: _Dim, keepdim: _bool = False) -> _ValuesIndices: ...

    def nanquantile(self, q: _Tensor | _float | _Sequence[_float], dim: _Dim | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear') -> _Tensor:
        """The q-th quantile of the values that are numbers, see `quantile`; NaN where there is none."""

    def nansum(self, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """Sum over dims of the values that are numbers: NaN counts as 0."""

    def narrow(self, dim: _Dim, start: _int | _Tensor, length: _int) -> _Tensor:
        """The `length` entries of a dim from `start` on; both are checked. A view."""

    def narrow_copy(self, dim: _Dim, start: _int | _Tensor, length: _int) -> _Tensor:
        """As `narrow`, with memory of its own instead of a view."""

    def ne(self, other: _Operand) -> _Tensor:
        """Not equal."""

    def ne_(self, other: _Operand) -> _Tensor:
        """In-place version of `ne`: the result goes into this tensor's memory."""

    def neg(self) -> _Tensor:
        """Negate."""

    def neg_(self) -> _Tensor:
        """In-place version of `neg`: the result goes into this tensor's memory."""

    def negative(self) -> _Tensor:
        """Negate."""

    def negative_(self) -> _Tensor:
        """In-place version of `negative`: the result goes into this tensor's memory."""

    def new(self, *data: _Any, device: _DeviceLike | None = None) -> _Tensor:
        """Return a tensor of the type of this one: with a copy of `data`, or where sizes are given with memory as it is."""

    def new_empty(self, *size: _Size, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, **options: _Any) -> _Tensor:
        """Return memory as it is, of the type and on the device of this tensor."""

    def new_empty_strided(self, size: _Sequence[_int], stride: _Sequence[_int], *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
        """Return memory as it is, of the type and on the device of this tensor, with strides given by hand."""

    def new_full(self, size: _Size, fill_value: _Scalar | _Tensor, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, **options: _Any) -> _Tensor:
        """Return one value everywhere, of the type and on the device of this tensor."""

    def new_ones(self, *size: _Size, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, **options: _Any) -> _Tensor:
        """Return ones of the type and on the device of this tensor."""

    def new_tensor(self, data: _Any, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
        """Return a tensor with a copy of `data`, of the type and on the device of this one."""

    def new_zeros(self, *size: _Size, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, **options: _Any) -> _Tensor:
        """Return zeros of the type and on the device of this tensor: ``x.new_zeros(2, 3)``, ``x.new_zeros(N=2)``."""

    def nextafter(self, other: _Operand) -> _Tensor:
        """The next floating point number from the first towards the second."""

    def nextafter_(self, other: _Operand) -> _Tensor:
        """In-place version of `nextafter`: the result goes into this tensor's memory."""

    def nnz(self) -> _int:
        """Return how many values are there."""

    @_overload
    def nonzero(self, *, as_tuple: _Literal[False] = False) -> _Tensor:
        """Indices (int64) of the values that are not zero, one a row; with `as_tuple` one vector a dim."""
    @_overload
    def nonzero(self, *, as_tuple: _Literal[True]) -> _tuple[_Tensor, ...]: ...

    def norm(self, p: _float | _str | None = 'fro', dim: _DimsLike | None = None, keepdim: _bool = False, dtype: _DTypeLike | None = None, *, out: _Tensor | None = None) -> _Tensor:
        """Norm of all values or over dims: (Σ |x|^p)^{1/p}; ``"fro"`` is p = 2, ``"nuc"`` the sum of singular values."""

    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with values drawn from a normal distribution."""

    def not_equal(self, other: _Operand) -> _Tensor:
        """Not equal."""

    def not_equal_(self, other: _Operand) -> _Tensor:
        """In-place version of `not_equal`: the result goes into this tensor's memory."""

    def orgqr(self, tau: _Tensor) -> _Tensor:
        """The first columns of a product of reflectors: H₁ H₂ … H_k with H_i = I - τ_i v_i v_iᴴ."""

    def ormqr(self, tau: _Tensor, other: _Tensor, left: _bool = True, transpose: _bool = False) -> _Tensor:
        """Product of the whole Q that reflectors make with another matrix: Q C, or C Q; with `transpose` Qᴴ for Q."""

    def outer(self, vec2: _Tensor) -> _Tensor:
        """All products of the values of two vectors: y[i, j] = a[i]·b[j]."""

    def permute(self, *order: _DimsLike, dims: _DimsLike | None = None) -> _Tensor:
        """The dims in another order, by position or by name: a view."""

    def pin_memory(self, device: _Any = None) -> _Tensor:
        """Raise RuntimeError: memory is pinned for a GPU's driver, and copies to a device work without."""

    def pinverse(self, rcond: _float = 1e-15) -> _Tensor:
        """Pseudoinverse of matrices; see `linalg.pinv`."""

    def polygamma(self, n: _int) -> _Tensor:
        """Derivative of order `n` of the digamma function: y = ψ⁽ⁿ⁾(x). Names and sizes pass through."""

    def polygamma_(self, n: _int) -> _Tensor:
        """In-place version of `polygamma`: the result goes into this tensor's memory."""

    def positive(self) -> _Tensor:
        """Return the tensor itself: y = +x. Raises `DTypeError` for bool."""

    def pow(self, exponent: _Operand) -> _Tensor:
        """Raise to a power: y = a^b. Names unify from the right, sizes broadcast."""

    def pow_(self, exponent: _Operand) -> _Tensor:
        """In-place version of `pow`: the result goes into this tensor's memory."""

    def prelu(self, weight: _Tensor) -> _Tensor:
        """Rectified linear unit with learned slopes below 0: y = x above 0, w·x below."""

    def prod(self, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """Product over one dim, several or all: y = Π x. Integers are multiplied as int64."""

    def put(self, index: _Tensor, source: _Tensor, accumulate: _bool = False) -> _Tensor:
        """A copy of `input`, taken as flat, with `source` written (or, with `accumulate`, added) at positions."""

    def put_(self, index: _Tensor, source: _Tensor, accumulate: _bool = False) -> _Tensor:
        """In-place version of `put`: the result goes into this tensor's memory."""

    def q_per_channel_axis(self) -> _int:
        """Return the position of the dim each entry of which has a scale of its own."""

    def q_per_channel_scales(self) -> _Tensor:
        """Return the scales of a tensor that is quantized per channel: float64, one a channel."""

    def q_per_channel_zero_points(self) -> _Tensor:
        """Return the zero points of a tensor that is quantized per channel: int64, one a channel."""

    def q_scale(self) -> _float:
        """Return the scale of a tensor that is quantized per tensor."""

    def q_zero_point(self) -> _int:
        """Return the zero point of a tensor that is quantized per tensor."""

    def qr(self, some: _bool = True) -> _QRResult:
        """Orthonormal and upper triangular factor, reduced or (without `some`) complete; see `linalg.qr`."""

    def qscheme(self) -> _QScheme:
        """Return how a tensor is quantized."""

    def quantile(self, q: _Tensor | _float | _Sequence[_float], dim: _Dim | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear') -> _Tensor:
        """The q-th quantile along a dim, or of all values: the value at rank q·(n - 1) of the sorted ones."""

    def quantize_per_channel(self, scales: _Tensor, zero_points: _Tensor, axis: _Dim, dtype: _DTypeLike, *, quant_min: _int | None = None, quant_max: _int | None = None) -> _Tensor:
        """Quantize float32 values with a scale and a zero point for each entry of `axis`, a position or a name."""

    def quantize_per_tensor(self, scale: _Tensor | _float, zero_point: _Tensor | _int, dtype: _DTypeLike, *, quant_min: _int | None = None, quant_max: _int | None = None) -> _Tensor:
        """Quantize float32 values, see `workbench.quantize_per_tensor`."""

    def rad2deg(self) -> _Tensor:
        """Angles in radians as degrees: y = x·180/π. Names and sizes pass through."""

    def rad2deg_(self) -> _Tensor:
        """In-place version of `rad2deg`: the result goes into this tensor's memory."""

    def random_(self, from_: _int | None = None, to: _int | None = None, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with whole numbers drawn evenly."""

    def ravel(self) -> _Tensor:
        """All values in row-major order as one dim; shares memory where they lie so already."""

    def reciprocal(self) -> _Tensor:
        """Reciprocal."""

    def reciprocal_(self) -> _Tensor:
        """In-place version of `reciprocal`: the result goes into this tensor's memory."""

    def record_stream(self, stream: _Any) -> None:
        """Raise `DeviceError`: streams belong to GPUs, whose backend orders its own work."""

    def relu(self, inplace: _bool = False) -> _Tensor:
        """Rectified linear unit: y = max(x, 0). Names and sizes pass through; the gradient at 0 is 0."""

    def relu_(self, inplace: _bool = False) -> _Tensor:
        """In-place version of `relu`: the result goes into this tensor's memory."""

    def remainder(self, other: _Operand) -> _Tensor:
        """Remainder of the division that rounds down: it has the sign of the divisor."""

    def remainder_(self, other: _Operand) -> _Tensor:
        """In-place version of `remainder`: the result goes into this tensor's memory."""

    def renorm(self, p: _float, dim: _int | _str, maxnorm: _float) -> _Tensor:
        """Scale down the parts along `dim` whose p-norm is larger than `maxnorm`, to that norm."""

    def renorm_(self, p: _float, dim: _int | _str, maxnorm: _float) -> _Tensor:
        """In-place version of `renorm`: the result goes into this tensor's memory."""

    def repeat(self, *sizes: _Size, repeats: _Size | None = None) -> _Tensor:
        """The tensor several times along each dim: `repeats` counts from the left, new dims come first. A copy."""

    def repeat_interleave(self, repeats: _Tensor | _int | None = None, dim: _Dim | None = None, *, output_size: _int | None = None) -> _Tensor:
        """Each entry along `dim` (without it, of all values in a row) repeated as often as `repeats` says, for all or each."""

    def reshape(self, *sizes: _Size, shape: _Size | None = None) -> _Tensor:
        """The same values in row-major order under other sizes, one of which may be -1."""

    def reshape_as(self, other: _Tensor) -> _Tensor:
        """The same values under the sizes of `other`."""

    def resize_(self, *size: _Any, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Give this tensor other sizes: its memory is read anew row by row, and what is new in it nobody has set."""

    def resize_as_(self, the_template: _Tensor, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Give this tensor the sizes of another, as `resize_` does."""

    def resolve_conj(self) -> _Tensor:
        """Return a copy of a conjugate (`is_conj`), which changes with nothing else; any other tensor as it is."""

    def resolve_neg(self) -> _Tensor:
        """Return the tensor itself: negatives are computed when they are asked for, none is pending."""

    def roll(self, shifts: _Size, dims: _DimsLike | None = None) -> _Tensor:
        """Move entries along dims by `shifts`; what leaves at one end enters at the other."""

    def rot90(self, k: _int = 1, dims: _Sequence[_int | _str] = (0, 1)) -> _Tensor:
        """Rotate by k quarter turns in the plane of two dims, from the first towards the second: a copy."""

    def round(self, *, decimals: _int = 0) -> _Tensor:
        """Round to `decimals` digits after the point (before it where negative), halves to even: y = rne(x·10^d)/10^d."""

    def round_(self, *, decimals: _int = 0) -> _Tensor:
        """In-place version of `round`: the result goes into this tensor's memory."""

    def rsqrt(self) -> _Tensor:
        """Reciprocal of the square root."""

    def rsqrt_(self) -> _Tensor:
        """In-place version of `rsqrt`: the result goes into this tensor's memory."""

    def scatter(self, dim: _Dim, index: _Tensor, src: _Operand | None = None, *, value: _Scalar | None = None, reduce: _str | None = None) -> _Tensor:
        """A copy of `input` in which the value at each index along `dim` is replaced by one of `src`, or by a number."""

    def scatter_(self, dim: _Dim, index: _Tensor, src: _Operand | None = None, *, value: _Scalar | None = None, reduce: _str | None = None) -> _Tensor:
        """In-place version of `scatter`: the result goes into this tensor's memory."""

    def scatter_add(self, dim: _Dim, index: _Tensor, src: _Tensor) -> _Tensor:
        """A copy of `input` to which each value of `src` is added at its index along `dim`."""

    def scatter_add_(self, dim: _Dim, index: _Tensor, src: _Tensor) -> _Tensor:
        """In-place version of `scatter_add`: the result goes into this tensor's memory."""

    def scatter_reduce(self, dim: _Dim, index: _Tensor, src: _Tensor, reduce: _str, *, include_self: _bool = True) -> _Tensor:
        """A copy of `input` into which each value of `src` is put at its index along `dim`."""

    def scatter_reduce_(self, dim: _Dim, index: _Tensor, src: _Tensor, reduce: _str, *, include_self: _bool = True) -> _Tensor:
        """In-place version of `scatter_reduce`: the result goes into this tensor's memory."""

    def select(self, dim: _Dim, index: _int) -> _Tensor:
        """One entry of a dim, which goes with its name: a view."""

    def select_scatter(self, src: _Tensor, dim: _Dim, index: _int) -> _Tensor:
        """A copy of `input` in which one entry of a dim is replaced by `src`."""

    def set_(self, source: _Tensor | None = None, storage_offset: _int = 0, size: _tuple[_int, ...] | None = None, stride: _tuple[_int, ...] | None = None) -> _Tensor:
        """Have this tensor share the memory of another, with its sizes or as `size` and `stride` say; with none be empty."""

    def sgn(self) -> _Tensor:
        """Sign; of a complex number, its direction: y = x/|x|, 0 at 0. Names pass through."""

    def sgn_(self) -> _Tensor:
        """In-place version of `sgn`: the result goes into this tensor's memory."""

    def short(self, memory_format: _MemoryFormat | None = None) -> _Tensor:
        """Cast to int16; a tensor of that type is returned as it is. Names and sizes pass through."""

    def sigmoid(self) -> _Tensor:
        """Logistic function."""

    def sigmoid_(self) -> _Tensor:
        """In-place version of `sigmoid`: the result goes into this tensor's memory."""

    def sign(self) -> _Tensor:
        """Sign: -1, 0 or 1."""

    def sign_(self) -> _Tensor:
        """In-place version of `sign`: the result goes into this tensor's memory."""

    def signbit(self) -> _Tensor:
        """True where the sign is set: below 0, and at -0."""

    def sin(self) -> _Tensor:
        """Sine of an angle in radians."""

    def sin_(self) -> _Tensor:
        """In-place version of `sin`: the result goes into this tensor's memory."""

    def sinc(self) -> _Tensor:
        """Normalized sine over its argument, 1 at 0."""

    def sinc_(self) -> _Tensor:
        """In-place version of `sinc`: the result goes into this tensor's memory."""

    def sinh(self) -> _Tensor:
        """Hyperbolic sine."""

    def sinh_(self) -> _Tensor:
        """In-place version of `sinh`: the result goes into this tensor's memory."""

    def slice_scatter(self, src: _Tensor, dim: _Dim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> _Tensor:
        """A copy of `input` in which what `slice` shows is replaced by `src`."""

    def slogdet(self) -> _SlogdetResult:
        """Signs (or phases) of determinants, and the logarithms of their moduli: 0 and -∞ for singular matrices."""

    def softmax(self, dim: _Dim, dtype: _DTypeLike | None = None) -> _Tensor:
        """Exponentials scaled to sum to 1 along `dim`: y_i = e^{x_i} / Σ_j e^{x_j}. Computed in `dtype`, if given."""

    def sort(self, dim: _Dim = -1, descending: _bool = False, stable: _bool = False) -> _ValuesIndices:
        """Values along a dim in order and where they stood, as a named tuple ``(values, indices)``."""

    def sparse_dim(self) -> _int:
        """Return how many dims places are in; none for a dense tensor."""

    def sparse_mask(self, mask: _Tensor) -> _Tensor:
        """Return the values of `input` at the places of the sparse tensor `mask`."""

    def split(self, split_size_or_sections: _Size, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Cut a dim into parts of a size (the last may be smaller), or of the sizes listed: a tuple of views."""

    def split_with_sizes(self, split_sizes: _Sequence[_int], dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Cut a dim into parts of the given sizes, which together are all of it: a tuple of views."""

    def sqrt(self) -> _Tensor:
        """Square root."""

    def sqrt_(self) -> _Tensor:
        """In-place version of `sqrt`: the result goes into this tensor's memory."""

    def square(self) -> _Tensor:
        """Square: y = x². Names and sizes pass through."""

    def square_(self) -> _Tensor:
        """In-place version of `square`: the result goes into this tensor's memory."""

    def squeeze(self, dim: _DimsLike | None = None) -> _Tensor:
        """Take dims of size 1 away, with their names: all of them, or those given (of which others stay). A view."""

    def squeeze_(self, dim: _DimsLike | None = None) -> _Tensor:
        """In-place version of `squeeze`: this tensor's own dims change, its memory does not."""

    def std(self, dim: _DimsLike | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> _Tensor:
        """Standard deviation over dims: y = √(Σ |x - x̄|² / (n - correction))."""

    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: _Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> _Tensor:
        """Short-time Fourier transform of [T] or [N, T]: the spectrum of every stretch of `n_fft` values."""

    def storage(self) -> _TypedStorage:
        """Return the memory that this tensor is a view of, as values."""

    def storage_offset(self) -> _int:
        """How many values stand before the first one in the memory that the tensor is a part of."""

    @_overload
    def stride(self) -> _tuple[_int, ...]:
        """How many values apart the entries of each dim lie in memory, or those of one dim."""
    @_overload
    def stride(self, dim: _Dim) -> _int: ...

    def sub(self, other: _Operand, *, alpha: _Scalar = 1) -> _Tensor:
        """Subtract: y = a - alpha·b. Names unify from the right, sizes broadcast."""

    def sub_(self, other: _Operand, *, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `sub`: the result goes into this tensor's memory."""

    def subtract(self, other: _Operand, *, alpha: _Scalar = 1) -> _Tensor:
        """Subtract: y = a - alpha·b. Names unify from the right, sizes broadcast."""

    def subtract_(self, other: _Operand, *, alpha: _Scalar = 1) -> _Tensor:
        """In-place version of `subtract`: the result goes into this tensor's memory."""

    def sum(self, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None) -> _Tensor:
        """Sum over one dim, several or all: y = Σ x. Integers are summed as int64."""

    def sum_to_size(self, *size: _Size) -> _Tensor:
        """Sum over the dims along which a tensor of the given size would be stretched to this one."""

    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _OldSVDResult:
        """Singular value decomposition A = U diag(S) Vᴴ with V itself; see `linalg.svd`."""

    def swapaxes(self, axis0: _Dim, axis1: _Dim) -> _Tensor:
        """Exchange two dims: `transpose` by another name."""

    def swapaxes_(self, axis0: _Dim, axis1: _Dim) -> _Tensor:
        """In-place version of `swapaxes`: this tensor's own dims change, its memory does not."""

    def swapdims(self, dim0: _Dim, dim1: _Dim) -> _Tensor:
        """Exchange two dims: `transpose` by another name."""

    def swapdims_(self, dim0: _Dim, dim1: _Dim) -> _Tensor:
        """In-place version of `swapdims`: this tensor's own dims change, its memory does not."""

    def t(self) -> _Tensor:
        """Transpose a tensor of at most two dims: a view."""

    def t_(self) -> _Tensor:
        """In-place version of `t`: this tensor's own dims change, its memory does not."""

    def take(self, index: _Tensor) -> _Tensor:
        """Values of the tensor taken as flat, in the shape (and with the names) of `index`."""

    def take_along_dim(self, indices: _Tensor, dim: _Dim | None = None) -> _Tensor:
        """Pick values along `dim` by indices that broadcast with `input`; without `dim` both are taken as flat."""

    def tan(self) -> _Tensor:
        """Tangent of an angle in radians."""

    def tan_(self) -> _Tensor:
        """In-place version of `tan`: the result goes into this tensor's memory."""

    def tanh(self) -> _Tensor:
        """Hyperbolic tangent."""

    def tanh_(self) -> _Tensor:
        """In-place version of `tanh`: the result goes into this tensor's memory."""

    def tensor_split(self, indices_or_sections: _Size | _Tensor, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Cut a dim before each of the given indices, or into as many parts, the first ones longer by one."""

    def tile(self, *sizes: _Size, dims: _Size | None = None) -> _Tensor:
        """The tensor several times along each dim: `dims` counts from the right, what is missing is 1. A copy."""

    def to(self, *targets: _DTypeLike | _DeviceLike | _Tensor | _bool | None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, non_blocking: _bool = False, copy: _bool = False, memory_format: _MemoryFormat | None = None, other: _Tensor | None = None) -> _Tensor:
        """Return the tensor in another type, on another device, or both; itself if it is so already, unless `copy`."""

    def to_dense(self, dtype: _DTypeLike | None = None, *, masked_grad: _bool | None = None) -> _Tensor:
        """Return all values of a sparse tensor, zeros too; a dense tensor is returned as it is."""

    def to_sparse(self, sparse_dim: _int | None = None, *, layout: _Layout | None = None, blocksize: _Any = None, dense_dim: _int | None = None) -> _Tensor:
        """Return the values that are not 0, with their places: a coalesced tensor of layout ``sparse_coo``, or `layout`."""

    def to_sparse_coo(self) -> _Tensor:
        """As `to_sparse`."""

    def to_sparse_csr(self, dense_dim: _int | None = None) -> _Tensor:
        """Return a matrix by compressed rows."""

    def topk(self, k: _int, dim: _Dim = -1, largest: _bool = True, sorted: _bool = True) -> _ValuesIndices:
        """The `k` largest (or smallest) values along a dim and where they stood, as a named tuple ``(values, indices)``."""

    def trace(self) -> _Tensor:
        """The sum of the main diagonal of a matrix."""

    def transpose(self, dim0: _Dim, dim1: _Dim) -> _Tensor:
        """Exchange two dims: a view."""

    def transpose_(self, dim0: _Dim, dim1: _Dim) -> _Tensor:
        """In-place version of `transpose`: this tensor's own dims change, its memory does not."""

    def triangular_solve(self, A: _Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _TriangularSolution:
        """Solutions of A X = B with A triangular (or its transpose), and A again; see `linalg.solve_triangular`."""

    def tril(self, diagonal: _int = 0) -> _Tensor:
        """The lower triangle of the last two dims, up to a diagonal above the main one; zeros elsewhere."""

    def tril_(self, diagonal: _int = 0) -> _Tensor:
        """In-place version of `tril`: the result goes into this tensor's memory."""

    def triu(self, diagonal: _int = 0) -> _Tensor:
        """The upper triangle of the last two dims, from a diagonal above the main one on; zeros elsewhere."""

    def triu_(self, diagonal: _int = 0) -> _Tensor:
        """In-place version of `triu`: the result goes into this tensor's memory."""

    def true_divide(self, other: _Operand) -> _Tensor:
        """Divide: y = a/b; integers give floats. Names unify from the right, sizes broadcast."""

    def true_divide_(self, other: _Operand) -> _Tensor:
        """In-place version of `true_divide`: the result goes into this tensor's memory."""

    def trunc(self) -> _Tensor:
        """Integer part: rounded towards 0."""

    def trunc_(self) -> _Tensor:
        """In-place version of `trunc`: the result goes into this tensor's memory."""

    @_overload
    def type(self) -> _str:
        """Cast to another data type; without one, say which it is, in the words that programs compare with."""
    @_overload
    def type(self, dtype: _DTypeLike, non_blocking: _bool = False) -> _Tensor: ...

    def type_as(self, other: _Tensor) -> _Tensor:
        """Cast to the data type of another tensor."""

    def unbind(self, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Every entry of a dim by itself: a tuple of views."""

    def unflatten(self, dim: _Dim, sizes: _Sequence[_int] | _Sequence[_tuple[_str, _int]]) -> _Tensor:
        """Split one dim into several: `sizes` is a list of sizes, or of pairs of name and size, or a dict of these."""

    def unfold(self, dimension: _Dim, size: _int, step: _int) -> _Tensor:
        """Windows of `size` entries along a dim, `step` apart, in a new dim at the end: a view."""

    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, *, generator: _Generator | None = None) -> _Tensor:
        """Overwrite with values drawn evenly from [from, to)."""

    @_overload
    def unique(self, sorted: _bool = True, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dim | None = None) -> _Tensor:
        """The distinct values in order, or with `dim` the distinct entries along it."""
    @_overload
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dim | None = None) -> _Tensor | _tuple[_Tensor, ...]: ...

    @_overload
    def unique_consecutive(self, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dim | None = None) -> _Tensor:
        """The values without those equal to the one before them, or with `dim` the entries along it; see `unique`."""
    @_overload
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dim | None = None) -> _Tensor | _tuple[_Tensor, ...]: ...

    def unsafe_chunk(self, chunks: _int, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Cut a dim into at most `chunks` parts of equal size, the last one smaller: a tuple of views."""

    def unsafe_split(self, split_size_or_sections: _Size, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Cut a dim into parts of a size (the last may be smaller), or of the sizes listed: a tuple of views."""

    def unsafe_split_with_sizes(self, split_sizes: _Sequence[_int], dim: _Dim = 0) -> _tuple[_Tensor, ...]:
        """Cut a dim into parts of the given sizes, which together are all of it: a tuple of views."""

    def unsqueeze(self, dim: _int, name: _str | None = None) -> _Tensor:
        """Put a new dim of size 1 at position `dim`, under `name` if given: a view."""

    def unsqueeze_(self, dim: _int, name: _str | None = None) -> _Tensor:
        """In-place version of `unsqueeze`: this tensor's own dims change, its memory does not."""

    def untyped_storage(self) -> _UntypedStorage:
        """Return the memory that this tensor is a view of, as bytes."""

    def values(self) -> _Tensor:
        """Return the values that are there, [n, …dense dims]; gradients go through them."""

    def var(self, dim: _DimsLike | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> _Tensor:
        """Variance over dims: y = Σ |x - x̄|² / (n - correction)."""

    def vdot(self, other: _Tensor) -> _Tensor:
        """Dot product of two vectors, the first conjugated: y = Σ_i conj(a[i])·b[i]."""

    def view(self, *shape: _Size, size: _Size | None = None, dtype: _DTypeLike | None = None) -> _Tensor:
        """The same memory under other sizes, one of which may be -1, or (given a data type) with its bits read anew."""

    def view_as(self, other: _Tensor) -> _Tensor:
        """The same memory under the sizes of `other`; never copies, see `Tensor.view`."""

    def vsplit(self, indices_or_sections: _Size | _Tensor) -> _tuple[_Tensor, ...]:
        """Cut the first of at least two dims at indices or into equal parts."""

    def where(self, condition: _Tensor, other: _Tensor | _Scalar) -> _Tensor:
        """Keep the values where `condition` is True, and take those of `other` elsewhere: y = condition ? x : other."""

    def xlogy(self, other: _Operand) -> _Tensor:
        """Multiply by a logarithm; 0 where the first is 0, whatever the logarithm."""

    def xlogy_(self, other: _Operand) -> _Tensor:
        """In-place version of `xlogy`: the result goes into this tensor's memory."""

    def __add__(self, other: _Operand) -> _Tensor: ...

    def __radd__(self, other: _Operand) -> _Tensor: ...

    def __iadd__(self, other: _Operand) -> _Tensor: ...

    def __sub__(self, other: _Operand) -> _Tensor: ...

    def __rsub__(self, other: _Operand) -> _Tensor: ...

    def __isub__(self, other: _Operand) -> _Tensor: ...

    def __mul__(self, other: _Operand) -> _Tensor: ...

    def __rmul__(self, other: _Operand) -> _Tensor: ...

    def __imul__(self, other: _Operand) -> _Tensor: ...

    def __truediv__(self, other: _Operand) -> _Tensor: ...

    def __rtruediv__(self, other: _Operand) -> _Tensor: ...

    def __itruediv__(self, other: _Operand) -> _Tensor: ...

    def __floordiv__(self, other: _Operand) -> _Tensor: ...

    def __rfloordiv__(self, other: _Operand) -> _Tensor: ...

    def __ifloordiv__(self, other: _Operand) -> _Tensor: ...

    def __mod__(self, other: _Operand) -> _Tensor: ...

    def __rmod__(self, other: _Operand) -> _Tensor: ...

    def __imod__(self, other: _Operand) -> _Tensor: ...

    def __pow__(self, other: _Operand) -> _Tensor: ...

    def __rpow__(self, other: _Operand) -> _Tensor: ...

    def __ipow__(self, other: _Operand) -> _Tensor: ...

    def __matmul__(self, other: _Operand) -> _Tensor: ...

    def __rmatmul__(self, other: _Operand) -> _Tensor: ...

    def __and__(self, other: _Operand) -> _Tensor: ...

    def __rand__(self, other: _Operand) -> _Tensor: ...

    def __iand__(self, other: _Operand) -> _Tensor: ...

    def __or__(self, other: _Operand) -> _Tensor: ...

    def __ror__(self, other: _Operand) -> _Tensor: ...

    def __ior__(self, other: _Operand) -> _Tensor: ...

    def __xor__(self, other: _Operand) -> _Tensor: ...

    def __rxor__(self, other: _Operand) -> _Tensor: ...

    def __ixor__(self, other: _Operand) -> _Tensor: ...

    def __lshift__(self, other: _Operand) -> _Tensor: ...

    def __rlshift__(self, other: _Operand) -> _Tensor: ...

    def __ilshift__(self, other: _Operand) -> _Tensor: ...

    def __rshift__(self, other: _Operand) -> _Tensor: ...

    def __rrshift__(self, other: _Operand) -> _Tensor: ...

    def __irshift__(self, other: _Operand) -> _Tensor: ...

    def __eq__(self, other: _Operand) -> _Tensor: ...  # type: ignore[override]

    def __ne__(self, other: _Operand) -> _Tensor: ...  # type: ignore[override]

    def __lt__(self, other: _Operand) -> _Tensor: ...

    def __le__(self, other: _Operand) -> _Tensor: ...

    def __gt__(self, other: _Operand) -> _Tensor: ...

    def __ge__(self, other: _Operand) -> _Tensor: ...

    def __neg__(self) -> _Tensor: ...

    def __pos__(self) -> _Tensor: ...

    def __abs__(self) -> _Tensor: ...

    def __invert__(self) -> _Tensor: ...
