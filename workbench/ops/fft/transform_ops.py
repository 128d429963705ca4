"""The discrete Fourier transform: three ops, complex to complex, real to half a spectrum, and back.

Each is the transpose of another one up to the scale, so that gradients of every order are transforms again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.lazy import scipy_fft
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import DIGITS
from workbench.core.tape import Call
from workbench.core.value import new
from workbench.kernels.fourier import (
    from_half,
    half,
    takes_from_half,
    takes_half,
    takes_transform,
    transform,
)
from workbench.ops.elementwise.complex import complex_type, real_type

SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The scale of the transposed transform; also what is forward for one is backward for its inverse."""

REFERENCE = "Cooley and Tukey 1965"


def _spectrum(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return complex_type(FLOAT.common(dtype) if FLOAT.common is not None else dtype)


TO_COMPLEX = DTypeRule(
    "promoted, integers become float32; the complex type of that width",
    FLOAT.common,
    lambda dtype, params: complex_type(dtype),
)
FROM_COMPLEX = DTypeRule(
    "complex of the input's width; the real type of that width",
    _spectrum,
    lambda dtype, params: real_type(dtype),
)


def _cost(dims: tuple[Dims, ...], out: Dims, *, dim: tuple[int, ...], **params: Any) -> float:
    sizes = [max(a, b) for a, b in zip(dims[0].sizes, out.sizes, strict=True)]
    points = math.prod(sizes[one] for one in dim)
    return 5.0 * math.prod(sizes) * math.log2(max(points, 2))


SMALL = 4096
"""Number of values up to which single precision is computed in double: the time goes into the call anyway."""


def _run(function: Any, x: Any, **params: Any) -> Any:
    """Call a transform of SciPy; the type's width stays.

    On one thread: SciPy's pool ends its threads before a fork, and now and then one of them never hears of it. Then the
    process that starts a worker waits for ever.
    """
    widen = x.size <= SMALL and x.dtype.char in "fF"
    y = function(
        x.astype(x.dtype.char.replace("f", "d").replace("F", "D")) if widen else x,
        workers=1,
        **params,
    )
    return y.astype(np.float32 if y.dtype.kind == "f" else np.complex64) if widen else y


def _full(x: Any, dim: tuple[int, ...], inverse: bool, norm: str) -> Any:
    if not dim:
        return x.astype(complex_type(x.dtype))
    if takes_transform(x, dim):
        return transform(x, dim, inverse, norm)
    return _run(scipy_fft.ifftn if inverse else scipy_fft.fftn, x, axes=dim, norm=norm)


def _half(x: Any, dim: tuple[int, ...], norm: str) -> Any:
    if takes_half(x, dim):
        return half(x, dim, norm)
    return _run(scipy_fft.rfftn, x, axes=dim, norm=norm)


def _from_half(x: Any, dim: tuple[int, ...], size: int, norm: str) -> Any:
    # Half a spectrum may be given with another number of frequencies: the rest is cut off, or zero.
    if x.shape[dim[-1]] == size // 2 + 1 and takes_from_half(x, dim, size):
        return from_half(x, dim, size, norm)
    # From n/2 + 1 frequencies n cannot be told: it may be even or odd.
    sizes = [*(x.shape[one] for one in dim[:-1]), size]
    return _run(scipy_fft.irfftn, x, s=sizes, axes=dim, norm=norm)


def _with_size(x: Dims, dim: int, size: int) -> Dims:
    return Dims(x.names, (*x.sizes[:dim], size, *x.sizes[dim + 1 :]))


def _times_twins(value: Any, dim: int, size: int, factor: float) -> Any:
    """Multiply the frequencies by `factor` that stand for two of the full spectrum of `size` points."""
    shape = value.payload.shape
    twins = np.full(shape[dim], factor, real_type(value.payload.dtype))
    # Frequency 0, and of an even number of points the highest, have no twin.
    twins[0] = 1
    if size % 2 == 0:
        twins[-1] = 1
    return ops.mul(value, new(twins.reshape(-1, *(1,) * (len(shape) - dim - 1))))


def _full_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    inverse, norm = c.params["inverse"], c.params["norm"]
    # The other direction, which has to divide where this one does.
    return (ops.fft_c2c(g, dim=c.params["dim"], inverse=not inverse, norm=SWAPPED[norm]),)


def _half_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    dim = c.params["dim"]
    size = c.inputs[0].payload.shape[dim[-1]]
    halved = _times_twins(g, dim[-1], size, 0.5)
    return (ops.fft_c2r(halved, dim=dim, size=size, norm=SWAPPED[c.params["norm"]]),)


def _from_half_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    dim = c.params["dim"]
    spectrum = ops.fft_r2c(g, dim=dim, norm=SWAPPED[c.params["norm"]])
    return (_times_twins(spectrum, dim[-1], c.params["size"], 2.0),)


def _points(*shape: int) -> Any:
    return grid(*shape) + 1j * grid(*shape, seed=7)


def _whole(*shape: int) -> Any:
    """Whole numbers: transforms over four and two of them are exact."""
    return np.arange(math.prod(shape)).reshape(shape)


NCT = ("N", "C", "T")

FFT_C2C = Op(
    name="fft_c2c",
    doc="Discrete Fourier transform over some dims, or its inverse.",
    equation="y_k = s·Σ_t x_t e^{∓2πi·kt/n}; s is 1, 1/√n or 1/n by the norm",
    reference=REFERENCE,
    dims=lambda x, dim, inverse, norm: x,
    rule="names and sizes pass through",
    dtype=TO_COMPLEX,
    forward=_full,
    vjp=_full_vjp,
    saves=Saves((), output=False),
    cost=_cost,
    samples=lambda: [
        Sample((_points(2, 3, 4),), {"dim": (2,), "inverse": False, "norm": "backward"}, names=(NCT,)),
        Sample((_points(2, 3, 5),), {"dim": (0, 2), "inverse": True, "norm": "backward"}, names=(NCT,)),
        Sample((_points(3, 4),), {"dim": (1, 0), "inverse": True, "norm": "ortho"}),
    ],
    properties=frozenset({"linear"}),
    quantized=DIGITS,
)

FFT_R2C = Op(
    name="fft_r2c",
    doc="Discrete Fourier transform of real values: the half of the spectrum that the rest follows from.",
    equation="y_k = s·Σ_t x_t e^{-2πi·kt/n} for k ≤ n/2",
    reference=REFERENCE,
    dims=lambda x, dim, norm: _with_size(x, dim[-1], x.sizes[dim[-1]] // 2 + 1),
    rule="names pass through; the last transformed dim has n/2 + 1 frequencies",
    dtype=TO_COMPLEX,
    forward=_half,
    vjp=_half_vjp,
    saves=Saves((), output=False),
    cost=_cost,
    samples=lambda: [
        Sample((_whole(2, 3, 4),), {"dim": (2,), "norm": "backward"}, names=(NCT,)),
        Sample((_whole(4, 4),), {"dim": (0, 1), "norm": "ortho"}),
        Sample((_whole(4, 2),), {"dim": (1, 0), "norm": "forward"}),
    ],
    properties=frozenset({"linear"}),
    quantized=DIGITS,
)

FFT_C2R = Op(
    name="fft_c2r",
    doc="Inverse discrete Fourier transform of half a spectrum to real values.",
    equation="y_t = s·Σ_k x_k e^{2πi·kt/n}, where the frequencies above n/2 are the conjugates of those below",
    reference=REFERENCE,
    dims=lambda x, dim, size, norm: _with_size(x, dim[-1], size),
    rule="names pass through; the last transformed dim has the given size",
    dtype=FROM_COMPLEX,
    forward=_from_half,
    vjp=_from_half_vjp,
    saves=Saves((), output=False),
    cost=_cost,
    samples=lambda: [
        Sample((grid(2, 3, 4),), {"dim": (2,), "size": 6, "norm": "backward"}, names=(NCT,)),
        Sample((grid(3, 3),), {"dim": (0, 1), "size": 5, "norm": "ortho"}),
        Sample((_points(3, 4),), {"dim": (1, 0), "size": 4, "norm": "forward"}),
    ],
    properties=frozenset({"linear"}),
    quantized=DIGITS,
)
