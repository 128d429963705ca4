"""Fourier transforms as people call them: numpy.fft and torch.fft, by position or by name of the dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.dtypes import as_dtype, get_default_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import ops
from workbench.core.value import dims_of, new
from workbench.ops.complexes import conjugate
from workbench.ops.fourier import SWAPPED

Dim = int | str


def _norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in SWAPPED:
        raise DimensionError(f'Invalid normalization mode: "{norm}": it is one of {", ".join(SWAPPED)}.')
    return norm


def _checked(x: Any, op: str, real: bool = False) -> Any:
    """Return the input of a transform if it has a type that can be transformed."""
    dtype = x._array.dtype
    if dtype.kind == "V" or (dtype.itemsize == 2 and dtype.kind == "f"):
        name = "BFloat16" if dtype.kind == "V" else "Half"
        raise DTypeError(f"{op}: Unsupported dtype {name}; convert it first, e.g. x.float().")
    if real and dtype.kind == "c":
        raise DTypeError(
            f"{op} expects a real input tensor, but got {'ComplexDouble' if dtype.itemsize == 16 else 'ComplexFloat'}."
        )
    return x


def _dims(
    x: Dims, s: Sequence[int] | None, dim: Dim | Sequence[Dim] | None, op: str
) -> tuple[tuple[int, ...], list[int]]:
    """Return which dims are transformed, and how many points each has; -1 where it stays as it is."""
    ndim = len(x.sizes)
    each = None if dim is None else [dim] if isinstance(dim, int | str) else list(dim)
    points = None if s is None else [int(one) for one in ((s,) if isinstance(s, int) else s)]
    if each is not None:
        axes = tuple(_axis(x, one, op) for one in each)
        if len(set(axes)) != len(axes):
            raise DimensionError("FFT dims must be unique.", op=op, operands=(x.operand(),))
        if points is not None and len(points) != len(axes):
            raise DimensionError(
                f"When given, dim and shape arguments must have the same length: got dim={each} and s={points}.",
                op=op,
            )
    elif points is not None:
        if len(points) > ndim:
            raise DimensionError(
                f"Got shape with {len(points)} values but input tensor only has {ndim} dimensions.",
                op=op,
                operands=(x.operand(),),
            )
        axes = tuple(range(ndim - len(points), ndim))
    else:
        axes = tuple(range(ndim))
    return axes, points if points is not None else [-1] * len(axes)


def _axis(x: Dims, dim: Dim, op: str) -> int:
    if not x.sizes:
        raise DimensionError(
            "a tensor without dims has nothing to transform.", op=op, operands=(x.operand(),)
        )
    return dim_index(x, dim, op)


def _sized(x: Any, axes: tuple[int, ...], points: Sequence[int], op: str) -> Any:
    """Return the input cut, or filled up with zeros, at the end of each dim."""
    sizes = dims_of(x).sizes
    widths = [(0, 0)] * len(sizes)
    for axis, n in zip(axes, points, strict=True):
        size = sizes[axis] if n == -1 else n
        if size < 1:
            raise DimensionError(f"Invalid number of data points ({size}) specified.", op=op)
        widths[axis] = (0, size - sizes[axis])
    return ops.pad(x, padding=tuple(widths), value=0.0) if any(after for _, after in widths) else x


def _full(input: Any, s: Any, dim: Any, norm: str | None, inverse: bool, op: str) -> Any:
    axes, points = _dims(dims_of(input), s, dim, op)
    x = _sized(_checked(input, op), axes, points, op)
    return ops.fft_c2c(x, dim=axes, inverse=inverse, norm=_norm(norm))


def _some(axes: tuple[int, ...], op: str) -> tuple[int, ...]:
    if not axes:
        raise DimensionError(f"{op} must transform at least one axis.", op=op)
    return axes


def _half(input: Any, s: Any, dim: Any, norm: str | None, op: str) -> Any:
    axes, points = _dims(dims_of(input), s, dim, op)
    x = _sized(_checked(input, op, real=True), _some(axes, op), points, op)
    return ops.fft_r2c(x, dim=axes, norm=_norm(norm))


def _from_half(input: Any, s: Any, dim: Any, norm: str | None, op: str) -> Any:
    dims = dims_of(input)
    axes, points = _dims(dims, s, dim, op)
    last = _some(axes, op)[-1]
    size = 2 * (dims.sizes[last] - 1) if points[-1] == -1 else points[-1]
    if size < 1:
        raise DimensionError(f"Invalid number of data points ({size}) specified.", op=op)
    x = _sized(_checked(input, op), axes, [*points[:-1], size // 2 + 1], op)
    return ops.fft_c2r(x, dim=axes, size=size, norm=_norm(norm))


# The transform of a Hermitian signal is the inverse one of its conjugate, under the other's scale.


def _one(n: int | None) -> Sequence[int] | None:
    return None if n is None else (n,)


def fft(input: Any, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Any:
    """Discrete Fourier transform along a dim.

    y_k = Σ_t x_t e^{-2πi·kt/n}

    `n` cuts the signal or fills it up with zeros.
    `norm`: 'backward' does not scale, 'ortho' divides by √n, 'forward' by n.

    >>> import workbench as wb
    >>> wb.fft.fft(wb.ones(4)).real.tolist()
    [4.0, 0.0, 0.0, 0.0]
    """
    return _full(input, _one(n), (dim,), norm, False, "fft")


def ifft(input: Any, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Any:
    """Inverse of `fft`.

    y_t = 1/n · Σ_k x_k e^{2πi·kt/n}

    `n` cuts the spectrum or fills it up with zeros.
    `norm`: 'backward' divides by n, 'ortho' by √n, 'forward' does not scale.

    >>> import workbench as wb
    >>> wb.fft.ifft(wb.fft.fft(wb.arange(4.0))).real.tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return _full(input, _one(n), (dim,), norm, True, "ifft")


def rfft(input: Any, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Any:
    """Discrete Fourier transform of real values: frequencies 0 to n/2.

    y_k = Σ_t x_t e^{-2πi·kt/n} for k ≤ n/2; the others are conjugates of these

    `n` cuts the signal or fills it up with zeros.
    `norm`: 'backward' does not scale, 'ortho' divides by √n, 'forward' by n.

    >>> import workbench as wb
    >>> wb.fft.rfft(wb.ones(4)).real.tolist()
    [4.0, 0.0, 0.0]
    """
    return _half(input, _one(n), (dim,), norm, "rfft")


def irfft(input: Any, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Any:
    """Inverse of `rfft`: real values from half a spectrum.

    y_t = 1/n · Σ_k x_k e^{2πi·kt/n}; n is 2·(size - 1) unless given

    `n` cuts the spectrum or fills it up with zeros.
    `norm`: 'backward' divides by n, 'ortho' by √n, 'forward' does not scale.

    >>> import workbench as wb
    >>> wb.fft.irfft(wb.fft.rfft(wb.arange(4.0))).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return _from_half(input, _one(n), (dim,), norm, "irfft")


def hfft(input: Any, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Any:
    """Spectrum, which is real, of a signal of which half is given and the rest is conjugate.

    y_k = Σ_t x_t e^{-2πi·kt/n}; n is 2·(size - 1) unless given

    `n` cuts the signal or fills it up with zeros.
    `norm`: 'backward' does not scale, 'ortho' divides by √n, 'forward' by n.

    >>> import workbench as wb
    >>> wb.fft.hfft(wb.ones(3)).tolist()
    [4.0, 0.0, 0.0, 0.0]
    """
    return _from_half(conjugate(input), _one(n), (dim,), SWAPPED[_norm(norm)], "hfft")


def ihfft(input: Any, n: int | None = None, dim: Dim = -1, norm: str | None = None) -> Any:
    """Inverse of `hfft`: half of the signal whose spectrum is real.

    y_t = 1/n · Σ_k x_k e^{2πi·kt/n} for t ≤ n/2

    `n` cuts the spectrum or fills it up with zeros.
    `norm`: 'backward' divides by n, 'ortho' by √n, 'forward' does not scale.

    >>> import workbench as wb
    >>> wb.fft.ihfft(wb.ones(4)).real.tolist()
    [1.0, 0.0, 0.0]
    """
    return conjugate(_half(input, _one(n), (dim,), SWAPPED[_norm(norm)], "ihfft"))


def fft2(
    input: Any, s: Sequence[int] | None = None, dim: Dim | Sequence[Dim] = (-2, -1), norm: str | None = None
) -> Any:
    """Discrete Fourier transform over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `fft`.

    >>> import workbench as wb
    >>> wb.fft.fft2(wb.ones(4, 6)).shape
    (4, 6)
    """
    return _full(input, s, dim, norm, False, "fft2")


def ifft2(
    input: Any, s: Sequence[int] | None = None, dim: Dim | Sequence[Dim] = (-2, -1), norm: str | None = None
) -> Any:
    """Inverse discrete Fourier transform over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `ifft`.

    >>> import workbench as wb
    >>> wb.fft.ifft2(wb.ones(4, 6)).shape
    (4, 6)
    """
    return _full(input, s, dim, norm, True, "ifft2")


def rfft2(
    input: Any, s: Sequence[int] | None = None, dim: Dim | Sequence[Dim] = (-2, -1), norm: str | None = None
) -> Any:
    """Discrete Fourier transform of real values, half of it along the last dim, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `rfft`.

    >>> import workbench as wb
    >>> wb.fft.rfft2(wb.ones(4, 6)).shape
    (4, 4)
    """
    return _half(input, s, dim, norm, "rfft2")


def irfft2(
    input: Any, s: Sequence[int] | None = None, dim: Dim | Sequence[Dim] = (-2, -1), norm: str | None = None
) -> Any:
    """Real values from a spectrum, half of which is given along the last dim, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `irfft`.

    >>> import workbench as wb
    >>> wb.fft.irfft2(wb.ones(4, 6)).shape
    (4, 10)
    """
    return _from_half(input, s, dim, norm, "irfft2")


def hfft2(
    input: Any, s: Sequence[int] | None = None, dim: Dim | Sequence[Dim] = (-2, -1), norm: str | None = None
) -> Any:
    """Real spectrum of a Hermitian signal, half of which is given along the last dim, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `hfft`.

    >>> import workbench as wb
    >>> wb.fft.hfft2(wb.ones(4, 6)).shape
    (4, 10)
    """
    return _from_half(conjugate(input), s, dim, SWAPPED[_norm(norm)], "hfft2")


def ihfft2(
    input: Any, s: Sequence[int] | None = None, dim: Dim | Sequence[Dim] = (-2, -1), norm: str | None = None
) -> Any:
    """Half of the Hermitian signal along the last dim whose spectrum is real, over two dims.

    `s` gives the points of each dim of `dim`.
    A dim whose entry is -1 stays as it is. `norm` is as in `ihfft`.

    >>> import workbench as wb
    >>> wb.fft.ihfft2(wb.ones(4, 6)).shape
    (4, 4)
    """
    return conjugate(_half(input, s, dim, SWAPPED[_norm(norm)], "ihfft2"))


def fftn(
    input: Any,
    s: Sequence[int] | None = None,
    dim: Dim | Sequence[Dim] | None = None,
    norm: str | None = None,
) -> Any:
    """Discrete Fourier transform over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `fft`.

    >>> import workbench as wb
    >>> wb.fft.fftn(wb.ones(4, 6)).shape
    (4, 6)
    """
    return _full(input, s, dim, norm, False, "fftn")


def ifftn(
    input: Any,
    s: Sequence[int] | None = None,
    dim: Dim | Sequence[Dim] | None = None,
    norm: str | None = None,
) -> Any:
    """Inverse discrete Fourier transform over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `ifft`.

    >>> import workbench as wb
    >>> wb.fft.ifftn(wb.ones(4, 6)).shape
    (4, 6)
    """
    return _full(input, s, dim, norm, True, "ifftn")


def rfftn(
    input: Any,
    s: Sequence[int] | None = None,
    dim: Dim | Sequence[Dim] | None = None,
    norm: str | None = None,
) -> Any:
    """Discrete Fourier transform of real values, half of it along the last dim, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `rfft`.

    >>> import workbench as wb
    >>> wb.fft.rfftn(wb.ones(4, 6)).shape
    (4, 4)
    """
    return _half(input, s, dim, norm, "rfftn")


def irfftn(
    input: Any,
    s: Sequence[int] | None = None,
    dim: Dim | Sequence[Dim] | None = None,
    norm: str | None = None,
) -> Any:
    """Real values from a spectrum, half of which is given along the last dim, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `irfft`.

    >>> import workbench as wb
    >>> wb.fft.irfftn(wb.ones(4, 6)).shape
    (4, 10)
    """
    return _from_half(input, s, dim, norm, "irfftn")


def hfftn(
    input: Any,
    s: Sequence[int] | None = None,
    dim: Dim | Sequence[Dim] | None = None,
    norm: str | None = None,
) -> Any:
    """Real spectrum of a Hermitian signal, half of which is given along the last dim, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `hfft`.

    >>> import workbench as wb
    >>> wb.fft.hfftn(wb.ones(4, 6)).shape
    (4, 10)
    """
    return _from_half(conjugate(input), s, dim, SWAPPED[_norm(norm)], "hfftn")


def ihfftn(
    input: Any,
    s: Sequence[int] | None = None,
    dim: Dim | Sequence[Dim] | None = None,
    norm: str | None = None,
) -> Any:
    """Half of the Hermitian signal along the last dim whose spectrum is real, over several dims.

    `s` gives the points of each dim of `dim`, or of the last ones; without either all dims are transformed.
    A dim whose entry is -1 stays as it is. `norm` is as in `ihfft`.

    >>> import workbench as wb
    >>> wb.fft.ihfftn(wb.ones(4, 6)).shape
    (4, 4)
    """
    return conjugate(_half(input, s, dim, SWAPPED[_norm(norm)], "ihfftn"))


def _frequencies(values: Any, n: int, d: float, dtype: Any, requires_grad: bool) -> Any:
    wanted = get_default_dtype() if dtype is None else as_dtype(dtype)
    result = new((values / (n * d)).astype(wanted.numpy))
    return result.requires_grad_() if requires_grad else result


def fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Return the frequencies of `fft` for `n` points a time `d` apart: [0, 1, …, -2, -1] / (n·d).

    >>> import workbench as wb
    >>> wb.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    values = np.arange(n)
    return _frequencies(np.where(values < (n + 1) // 2, values, values - n), n, d, dtype, requires_grad)


def rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Return the frequencies of `rfft` for `n` points a time `d` apart: [0, 1, …, n/2] / (n·d).

    >>> import workbench as wb
    >>> wb.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype, requires_grad)


def _rolled(input: Any, dim: Any, inverse: bool, op: str) -> Any:
    dims = dims_of(input)
    each = range(len(dims.sizes)) if dim is None else [dim] if isinstance(dim, int | str) else dim
    axes = tuple(dim_index(dims, one, op) for one in each)
    halves = tuple(dims.sizes[axis] // 2 for axis in axes)
    return ops.roll(input, shifts=tuple(-half for half in halves) if inverse else halves, dim=axes)


def fftshift(input: Any, dim: Dim | Sequence[Dim] | None = None) -> Any:
    """Put frequency 0 in the middle of some dims, of all by default.

    >>> import workbench as wb
    >>> wb.fft.fftshift(wb.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled(input, dim, False, "fftshift")


def ifftshift(input: Any, dim: Dim | Sequence[Dim] | None = None) -> Any:
    """Put frequency 0 first again: the inverse of `fftshift`.

    >>> import workbench as wb
    >>> wb.fft.ifftshift(wb.fft.fftshift(wb.arange(5.0))).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    return _rolled(input, dim, True, "ifftshift")


FFT: dict[str, Any] = {
    "fft": fft,
    "ifft": ifft,
    "rfft": rfft,
    "irfft": irfft,
    "hfft": hfft,
    "ihfft": ihfft,
    "fft2": fft2,
    "ifft2": ifft2,
    "rfft2": rfft2,
    "irfft2": irfft2,
    "hfft2": hfft2,
    "ihfft2": ihfft2,
    "fftn": fftn,
    "ifftn": ifftn,
    "rfftn": rfftn,
    "irfftn": irfftn,
    "hfftn": hfftn,
    "ihfftn": ihfftn,
    "fftfreq": fftfreq,
    "rfftfreq": rfftfreq,
    "fftshift": fftshift,
    "ifftshift": ifftshift,
}
"""What `workbench.fft` offers."""

OUT = (
    "fft",
    "ifft",
    "rfft",
    "irfft",
    "hfft",
    "ihfft",
    "fft2",
    "ifft2",
    "rfft2",
    "irfft2",
    "hfft2",
    "ihfft2",
    "fftn",
    "ifftn",
    "rfftn",
    "irfftn",
    "hfftn",
    "ihfftn",
)
"""Functions that take ``out=``."""
