"""Special functions: PyTorch's `torch.special`, on named tensors and differentiable."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from workbench.core.typing import DTypeLike as _DTypeLike
from workbench.core.typing import Dim as _Dim
from workbench.core.typing import DimsLike as _DimsLike
from workbench.core.typing import Operand as _Operand
from workbench.tensor.tensor import Tensor as _Tensor

def bessel_j0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Bessel function of the first kind, of order 0."""

def bessel_j1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Bessel function of the first kind, of order 1."""

def bessel_y0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Bessel function of the second kind, of order 0."""

def bessel_y1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Bessel function of the second kind, of order 1."""

def chebyshev_polynomial_t(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the first kind, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def chebyshev_polynomial_u(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the second kind, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def chebyshev_polynomial_v(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the third kind, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def chebyshev_polynomial_w(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the fourth kind, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def digamma(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Slope of the logarithm of the gamma function."""

def entr(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Entropy of a probability; -infinity below 0."""

def erf(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Error function."""

def erfc(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Complement of the error function, exact where that is near 1."""

def erfcx(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Complement of the error function, scaled so that it does not vanish."""

def erfinv(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the error function."""

def exp2(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Power of 2."""

def expit(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Logistic function."""

def expm1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Exponential minus 1, exact near 0."""

def gammainc(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Regularized lower incomplete gamma function."""

def gammaincc(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Regularized upper incomplete gamma function."""

def gammaln(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the absolute value of the gamma function."""

def hermite_polynomial_h(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Hermite polynomials of physics, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def hermite_polynomial_he(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Hermite polynomials of probability, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def i0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the first kind, of order 0."""

def i0e(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the first kind, of order 0, scaled."""

def i1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the first kind, of order 1."""

def i1e(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the first kind, of order 1, scaled."""

def laguerre_polynomial_l(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Laguerre polynomials, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def legendre_polynomial_p(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Legendre polynomials, of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def log1p(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Natural logarithm of 1 + x, exact near 0."""

def log_ndtr(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the normal distribution function."""

def log_softmax(input: _Tensor, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
    """Logarithm of softmax along `dim`, without overflow: y_i = x_i - ln Σ_j e^{x_j}."""

def logit(input: _Tensor, eps: _float | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the logistic function: y = ln(x/(1 - x)), with x kept within [eps, 1 - eps] where `eps` is given."""

def logsumexp(input: _Tensor, dim: _DimsLike, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the sum of exponentials over dims, without overflow: y = ln Σ e^x."""

def modified_bessel_i0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the first kind, of order 0."""

def modified_bessel_i1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the first kind, of order 1."""

def modified_bessel_k0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the second kind, of order 0."""

def modified_bessel_k1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the second kind, of order 1."""

def multigammaln(input: _Tensor, p: _int, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the multivariate gamma function: y = p(p-1)/4·ln π + Σ_i ln Γ(x - (i-1)/2), i from 1 to p."""

def ndtr(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Normal distribution function."""

def ndtri(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Quantile of the normal distribution."""

def polygamma(n: _int, input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Derivative of order `n` of the digamma function: y = ψ⁽ⁿ⁾(x). Names and sizes pass through."""

def psi(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Slope of the logarithm of the gamma function."""

def round(input: _Tensor, *, decimals: _int = 0, out: _Tensor | None = None) -> _Tensor:
    """Round to `decimals` digits after the point (before it where negative), halves to even: y = rne(x·10^d)/10^d."""

def scaled_modified_bessel_k0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the second kind, of order 0, scaled."""

def scaled_modified_bessel_k1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the second kind, of order 1, scaled."""

def shifted_chebyshev_polynomial_t(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the first kind on [0, 1], of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def shifted_chebyshev_polynomial_u(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the second kind on [0, 1], of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def shifted_chebyshev_polynomial_v(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the third kind on [0, 1], of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def shifted_chebyshev_polynomial_w(input: _Operand, n: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Chebyshev polynomials of the fourth kind on [0, 1], of degree `n` (a number, or a tensor of degrees); 0 for negative degrees."""

def sinc(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Normalized sine over its argument, 1 at 0."""

def softmax(input: _Tensor, dim: _Dim, *, dtype: _DTypeLike | None = None) -> _Tensor:
    """Exponentials scaled to sum to 1 along `dim`: y_i = e^{x_i} / Σ_j e^{x_j}. Computed in `dtype`, if given."""

def spherical_bessel_j0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Spherical Bessel function of the first kind, of order 0: y = sin(x)/x, 1 at 0."""

def xlog1py(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Multiply by the logarithm of 1 + b; 0 where the first is 0, whatever the logarithm."""

def xlogy(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Multiply by a logarithm; 0 where the first is 0, whatever the logarithm."""

def zeta(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Hurwitz zeta function."""
