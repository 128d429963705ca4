"""Discrete Fourier transforms: PyTorch's `torch.fft`, on named tensors and differentiable."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence as _Sequence
from workbench.base.memory_formats import Layout as _Layout
from workbench.core.typing import DTypeLike as _DTypeLike
from workbench.core.typing import DeviceLike as _DeviceLike
from workbench.core.typing import Dim as _Dim
from workbench.core.typing import DimsLike as _DimsLike
from workbench.tensor.tensor import Tensor as _Tensor

def fft(input: _Tensor, n: _int | None = None, dim: _Dim = -1, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Discrete Fourier transform along a dim."""

def fft2(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike = (-2, -1), norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Discrete Fourier transform over two dims."""

def fftfreq(n: _int, d: _float = 1.0, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Return the frequencies of `fft` for `n` points a time `d` apart: [0, 1, …, -2, -1] / (n·d)."""

def fftn(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike | None = None, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Discrete Fourier transform over several dims."""

def fftshift(input: _Tensor, dim: _DimsLike | None = None) -> _Tensor:
    """Put frequency 0 in the middle of some dims, of all by default."""

def hfft(input: _Tensor, n: _int | None = None, dim: _Dim = -1, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Spectrum, which is real, of a signal of which half is given and the rest is conjugate."""

def hfft2(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike = (-2, -1), norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Real spectrum of a Hermitian signal, half of which is given along the last dim, over two dims."""

def hfftn(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike | None = None, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Real spectrum of a Hermitian signal, half of which is given along the last dim, over several dims."""

def ifft(input: _Tensor, n: _int | None = None, dim: _Dim = -1, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of `fft`."""

def ifft2(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike = (-2, -1), norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse discrete Fourier transform over two dims."""

def ifftn(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike | None = None, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse discrete Fourier transform over several dims."""

def ifftshift(input: _Tensor, dim: _DimsLike | None = None) -> _Tensor:
    """Put frequency 0 first again: the inverse of `fftshift`."""

def ihfft(input: _Tensor, n: _int | None = None, dim: _Dim = -1, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of `hfft`: half of the signal whose spectrum is real."""

def ihfft2(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike = (-2, -1), norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Half of the Hermitian signal along the last dim whose spectrum is real, over two dims."""

def ihfftn(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike | None = None, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Half of the Hermitian signal along the last dim whose spectrum is real, over several dims."""

def irfft(input: _Tensor, n: _int | None = None, dim: _Dim = -1, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of `rfft`: real values from half a spectrum."""

def irfft2(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike = (-2, -1), norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Real values from a spectrum, half of which is given along the last dim, over two dims."""

def irfftn(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike | None = None, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Real values from a spectrum, half of which is given along the last dim, over several dims."""

def rfft(input: _Tensor, n: _int | None = None, dim: _Dim = -1, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Discrete Fourier transform of real values: frequencies 0 to n/2."""

def rfft2(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike = (-2, -1), norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Discrete Fourier transform of real values, half of it along the last dim, over two dims."""

def rfftfreq(n: _int, d: _float = 1.0, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Return the frequencies of `rfft` for `n` points a time `d` apart: [0, 1, …, n/2] / (n·d)."""

def rfftn(input: _Tensor, s: _Sequence[_int] | None = None, dim: _DimsLike | None = None, norm: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Discrete Fourier transform of real values, half of it along the last dim, over several dims."""
