"""What all Fourier transforms share: which dims, how many points, which scale, and the three that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import ops
from workbench.core.typing import Dim, DimsLike, Tensor
from workbench.core.value import dims_of
from workbench.ops.fft.transform_ops import SWAPPED


def norm_of(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in SWAPPED:
        raise DimensionError(f'Invalid normalization mode: "{norm}": it is one of {", ".join(SWAPPED)}.')
    return norm


def _checked(x: Any, op: str, real: bool = False) -> Any:
    """Return the input of a transform if it has a type that can be transformed."""
    dtype = x.payload.dtype
    if dtype.kind == "V" or (dtype.itemsize == 2 and dtype.kind == "f"):
        name = "BFloat16" if dtype.kind == "V" else "Half"
        raise DTypeError(f"{op}: Unsupported dtype {name}; convert it first, e.g. x.float().")
    if real and dtype.kind == "c":
        raise DTypeError(
            f"{op} expects a real input tensor, but got {'ComplexDouble' if dtype.itemsize == 16 else 'ComplexFloat'}."
        )
    return x


def _dims(
    x: Dims, s: Sequence[int] | None, dim: DimsLike | None, op: str
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
        # A negative width cuts.
        widths[axis] = (0, size - sizes[axis])
    return ops.pad(x, padding=tuple(widths), value=0.0) if any(after for _, after in widths) else x


def full_spectrum(input: Any, s: Any, dim: Any, norm: str | None, inverse: bool, op: str) -> Tensor:
    axes, points = _dims(dims_of(input), s, dim, op)
    x = _sized(_checked(input, op), axes, points, op)
    return ops.fft_c2c(x, dim=axes, inverse=inverse, norm=norm_of(norm))


def _some(axes: tuple[int, ...], op: str) -> tuple[int, ...]:
    if not axes:
        raise DimensionError(f"{op} must transform at least one axis.", op=op)
    return axes


def half_spectrum(input: Any, s: Any, dim: Any, norm: str | None, op: str) -> Tensor:
    axes, points = _dims(dims_of(input), s, dim, op)
    x = _sized(_checked(input, op, real=True), _some(axes, op), points, op)
    return ops.fft_r2c(x, dim=axes, norm=norm_of(norm))


def from_half(input: Any, s: Any, dim: Any, norm: str | None, op: str) -> Tensor:
    dims = dims_of(input)
    axes, points = _dims(dims, s, dim, op)
    last = _some(axes, op)[-1]
    # Half a spectrum does not say whether the whole had an even or an odd number of points: even, unless it is said.
    size = 2 * (dims.sizes[last] - 1) if points[-1] == -1 else points[-1]
    if size < 1:
        raise DimensionError(f"Invalid number of data points ({size}) specified.", op=op)
    x = _sized(_checked(input, op), axes, [*points[:-1], size // 2 + 1], op)
    return ops.fft_c2r(x, dim=axes, size=size, norm=norm_of(norm))
