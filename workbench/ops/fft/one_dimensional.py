"""Fourier transforms along one dim, as people call them: numpy.fft and torch.fft, by position or by name."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.typing import Dim, Tensor
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.fft.axes import from_half, full_spectrum, half_spectrum, norm_of
from workbench.ops.fft.transform_ops import SWAPPED
from workbench.ops.offer import offered

# The transform of a Hermitian signal is the inverse one of its conjugate, under the other's scale.


def _one(n: int | None) -> Sequence[int] | None:
    return None if n is None else (n,)


@offered("fft", out=True)
def fft(input: Tensor, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Tensor:
    """Discrete Fourier transform along a dim.

    y_k = Σ_t x_t e^{-2πi·kt/n}

    `n` cuts the signal or fills it up with zeros.
    `norm`: 'backward' does not scale, 'ortho' divides by √n, 'forward' by n.

    >>> import workbench as wb
    >>> wb.fft.fft(wb.ones(4)).real.tolist()
    [4.0, 0.0, 0.0, 0.0]
    """
    return full_spectrum(input, _one(n), (dim,), norm, False, "fft")


@offered("fft", out=True)
def ifft(input: Tensor, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Tensor:
    """Inverse of `fft`.

    y_t = 1/n · Σ_k x_k e^{2πi·kt/n}

    `n` cuts the spectrum or fills it up with zeros.
    `norm`: 'backward' divides by n, 'ortho' by √n, 'forward' does not scale.

    >>> import workbench as wb
    >>> wb.fft.ifft(wb.fft.fft(wb.arange(4.0))).real.tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return full_spectrum(input, _one(n), (dim,), norm, True, "ifft")


@offered("fft", out=True)
def rfft(input: Tensor, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Tensor:
    """Discrete Fourier transform of real values: frequencies 0 to n/2.

    y_k = Σ_t x_t e^{-2πi·kt/n} for k ≤ n/2; the others are conjugates of these

    `n` cuts the signal or fills it up with zeros.
    `norm`: 'backward' does not scale, 'ortho' divides by √n, 'forward' by n.

    >>> import workbench as wb
    >>> wb.fft.rfft(wb.ones(4)).real.tolist()
    [4.0, 0.0, 0.0]
    """
    return half_spectrum(input, _one(n), (dim,), norm, "rfft")


@offered("fft", out=True)
def irfft(input: Tensor, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Tensor:
    """Inverse of `rfft`: real values from half a spectrum.

    y_t = 1/n · Σ_k x_k e^{2πi·kt/n}; n is 2·(size - 1) unless given

    `n` cuts the spectrum or fills it up with zeros.
    `norm`: 'backward' divides by n, 'ortho' by √n, 'forward' does not scale.

    >>> import workbench as wb
    >>> wb.fft.irfft(wb.fft.rfft(wb.arange(4.0))).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return from_half(input, _one(n), (dim,), norm, "irfft")


@offered("fft", out=True)
def hfft(input: Tensor, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Tensor:
    """Spectrum, which is real, of a signal of which half is given and the rest is conjugate.

    y_k = Σ_t x_t e^{-2πi·kt/n}; n is 2·(size - 1) unless given

    `n` cuts the signal or fills it up with zeros.
    `norm`: 'backward' does not scale, 'ortho' divides by √n, 'forward' by n.

    >>> import workbench as wb
    >>> wb.fft.hfft(wb.ones(3)).tolist()
    [4.0, 0.0, 0.0, 0.0]
    """
    return from_half(conjugate(input), _one(n), (dim,), SWAPPED[norm_of(norm)], "hfft")


@offered("fft", out="exact")
def ihfft(input: Tensor, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Tensor:
    """Inverse of `hfft`: half of the signal whose spectrum is real.

    y_t = 1/n · Σ_k x_k e^{2πi·kt/n} for t ≤ n/2

    `n` cuts the spectrum or fills it up with zeros.
    `norm`: 'backward' divides by n, 'ortho' by √n, 'forward' does not scale.

    >>> import workbench as wb
    >>> wb.fft.ihfft(wb.ones(4)).real.tolist()
    [1.0, 0.0, 0.0]
    """
    return conjugate(half_spectrum(input, _one(n), (dim,), SWAPPED[norm_of(norm)], "ihfft"))
