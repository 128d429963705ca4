"""Fourier transforms over two or several dims, by position or by name."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.typing import DimsLike, Tensor
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.fft.axes import from_half, full_spectrum, half_spectrum, norm_of
from workbench.ops.fft.transform_ops import SWAPPED
from workbench.ops.offer import offered


@offered("fft", out=True)
def fft2(
    input: Tensor, s: Sequence[int] | None = None, dim: DimsLike = (-2, -1), norm: str | None = None
) -> Tensor:
    """Discrete Fourier transform over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `fft`.

    >>> import workbench as wb
    >>> wb.fft.fft2(wb.ones(4, 6)).shape
    (4, 6)
    """
    return full_spectrum(input, s, dim, norm, False, "fft2")


@offered("fft", out=True)
def ifft2(
    input: Tensor, s: Sequence[int] | None = None, dim: DimsLike = (-2, -1), norm: str | None = None
) -> Tensor:
    """Inverse discrete Fourier transform over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `ifft`.

    >>> import workbench as wb
    >>> wb.fft.ifft2(wb.ones(4, 6)).shape
    (4, 6)
    """
    return full_spectrum(input, s, dim, norm, True, "ifft2")


@offered("fft", out=True)
def rfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: DimsLike = (-2, -1), norm: str | None = None
) -> Tensor:
    """Discrete Fourier transform of real values, half of it along the last dim, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `rfft`.

    >>> import workbench as wb
    >>> wb.fft.rfft2(wb.ones(4, 6)).shape
    (4, 4)
    """
    return half_spectrum(input, s, dim, norm, "rfft2")


@offered("fft", out=True)
def irfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: DimsLike = (-2, -1), norm: str | None = None
) -> Tensor:
    """Real values from a spectrum, half of which is given along the last dim, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `irfft`.

    >>> import workbench as wb
    >>> wb.fft.irfft2(wb.ones(4, 6)).shape
    (4, 10)
    """
    return from_half(input, s, dim, norm, "irfft2")


@offered("fft", out=True)
def hfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: DimsLike = (-2, -1), norm: str | None = None
) -> Tensor:
    """Real spectrum of a Hermitian signal, half of which is given along the last dim, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `hfft`.

    >>> import workbench as wb
    >>> wb.fft.hfft2(wb.ones(4, 6)).shape
    (4, 10)
    """
    # With a sign changed in the exponent, hfft is irfft: of the conjugate, under the norm of the other direction.
    return from_half(conjugate(input), s, dim, SWAPPED[norm_of(norm)], "hfft2")


@offered("fft", out=True)
def ihfft2(
    input: Tensor, s: Sequence[int] | None = None, dim: DimsLike = (-2, -1), norm: str | None = None
) -> Tensor:
    """Half of the Hermitian signal along the last dim whose spectrum is real, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `ihfft`.

    >>> import workbench as wb
    >>> wb.fft.ihfft2(wb.ones(4, 6)).shape
    (4, 4)
    """
    return conjugate(half_spectrum(input, s, dim, SWAPPED[norm_of(norm)], "ihfft2"))


@offered("fft", out=True)
def fftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: DimsLike | None = None,
    norm: str | None = None,
) -> Tensor:
    """Discrete Fourier transform over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `fft`.

    >>> import workbench as wb
    >>> wb.fft.fftn(wb.ones(4, 6)).shape
    (4, 6)
    """
    return full_spectrum(input, s, dim, norm, False, "fftn")


@offered("fft", out=True)
def ifftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: DimsLike | None = None,
    norm: str | None = None,
) -> Tensor:
    """Inverse discrete Fourier transform over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `ifft`.

    >>> import workbench as wb
    >>> wb.fft.ifftn(wb.ones(4, 6)).shape
    (4, 6)
    """
    return full_spectrum(input, s, dim, norm, True, "ifftn")


@offered("fft", out=True)
def rfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: DimsLike | None = None,
    norm: str | None = None,
) -> Tensor:
    """Discrete Fourier transform of real values, half of it along the last dim, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `rfft`.

    >>> import workbench as wb
    >>> wb.fft.rfftn(wb.ones(4, 6)).shape
    (4, 4)
    """
    return half_spectrum(input, s, dim, norm, "rfftn")


@offered("fft", out=True)
def irfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: DimsLike | None = None,
    norm: str | None = None,
) -> Tensor:
    """Real values from a spectrum, half of which is given along the last dim, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `irfft`.

    >>> import workbench as wb
    >>> wb.fft.irfftn(wb.ones(4, 6)).shape
    (4, 10)
    """
    return from_half(input, s, dim, norm, "irfftn")


@offered("fft", out=True)
def hfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: DimsLike | None = None,
    norm: str | None = None,
) -> Tensor:
    """Real spectrum of a Hermitian signal, half of which is given along the last dim, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `hfft`.

    >>> import workbench as wb
    >>> wb.fft.hfftn(wb.ones(4, 6)).shape
    (4, 10)
    """
    return from_half(conjugate(input), s, dim, SWAPPED[norm_of(norm)], "hfftn")


@offered("fft", out=True)
def ihfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: DimsLike | None = None,
    norm: str | None = None,
) -> Tensor:
    """Half of the Hermitian signal along the last dim whose spectrum is real, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `ihfft`.

    >>> import workbench as wb
    >>> wb.fft.ihfftn(wb.ones(4, 6)).shape
    (4, 4)
    """
    return conjugate(half_spectrum(input, s, dim, SWAPPED[norm_of(norm)], "ihfftn"))
