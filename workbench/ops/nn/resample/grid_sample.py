"""Images looked at where a grid says, and the grids that affine maps make."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, unnamed
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.symbolic_size import as_float, whole
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.shape.creation import made, record

MODES = ("bilinear", "nearest", "bicubic")
PADDING_MODES = ("zeros", "border", "reflection")

Picked = tuple[Any, Any]
"""Positions along one dim, as floats, and the weight of each; None for 1."""


def _in_pixels(x: Any, size: int, align_corners: bool) -> Any:
    """Return the position in pixels of a coordinate between -1 and 1."""
    if align_corners:
        return (x + 1.0) * ((size - 1) / 2)
    return ((x + 1.0) * as_float(size) - 1.0) / 2.0


def _clipped(p: Any, size: int) -> Any:
    """Keep positions in the image; at the border and outside nothing flows back."""
    inside = ops.logical_and(p > 0.0, p < as_float(size - 1))
    return ops.where(inside, p, ops.clamp(p.detach(), low=0.0, high=as_float(size - 1)))


def _reflected(p: Any, size: int, align_corners: bool) -> Any:
    """Fold positions back at the border: through the centres of the outer pixels, or at their outer edges."""
    low, span = (0.0, as_float(size - 1)) if align_corners else (-0.5, as_float(size))
    # One pixel has no other to be reflected to.
    if span == 0.0:
        return ops.fill(p, value=0.0)
    distance = ops.abs(p - low)
    rest = ops.fmod(distance, span)
    # Which fold a position is in is constant: its gradient goes by the rest alone.
    turns = ops.floor(distance.detach() / span)
    odd = ops.remainder(turns, 2.0) > 0.5
    return ops.where(odd, span - rest, rest) + low


def _bounded(p: Any, size: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "zeros":
        return p
    if padding_mode == "reflection":
        p = _reflected(p, size, align_corners)
    return _clipped(p, size)


def _cubic_weights(t: Any) -> list[Any]:
    """Keys' cubic convolution with a = -0.75, at the distances of the four nearest pixels."""

    s = 1.0 - t

    def inner(d: Any) -> Any:
        return (d * 1.25 - 2.25) * d * d + 1.0

    # Factored, the outer ones lose nothing to cancellation.
    return [t * s * s * -0.75, inner(t), inner(s), s * t * t * -0.75]


def _along(p: Any, size: int, mode: str, padding_mode: str, align_corners: bool) -> list[Picked]:
    """Return which positions along one dim are looked at, and with which weights."""
    p = _in_pixels(p, size, align_corners)
    if mode == "bicubic":
        # Where pixels lie does not move with a position, only how they weigh.
        base = ops.floor(p.detach())
        places = [_bounded(base + float(i), size, padding_mode, align_corners) for i in range(-1, 3)]
        return list(zip(places, _cubic_weights(p - base), strict=True))
    p = _bounded(p, size, padding_mode, align_corners)
    if mode == "nearest":
        return [(ops.round(p.detach()), None)]
    base = ops.floor(p.detach())
    share = p - base
    return [(base, 1.0 - share), (base + 1.0, share)]


def _sampled(input: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool, op: str) -> Tensor:
    dims, its = dims_of(input), dims_of(grid)
    n = len(dims.sizes) - 2
    _check(dims, its, mode, op)
    _check_types(input, grid, op)
    examples, channels, *sizes = dims.sizes
    out = its.sizes[1:-1]
    points = math.prod(out)
    bare = ops.rename(grid, names=None) if grid._names is not None else grid
    flat = ops.reshape(bare, sizes=(examples, points, n))
    # The last dim of the image is the first coordinate.
    each = [
        _along(flat[:, :, n - 1 - axis], size, mode, padding_mode, align_corners)
        for axis, size in enumerate(sizes)
    ]
    indices, weights = [], []
    for corner in itertools.product(*each):
        index, weight = _corner(corner, sizes)
        indices.append(index.reshape(examples, 1, points))
        weights.append(weight.reshape(examples, 1, points))
    plain = ops.rename(input, names=None) if input._names is not None else input
    values = ops.reshape(plain, sizes=(examples, channels, math.prod(sizes)))
    found = ops.sample_at(values, ops.cat(*indices, dim=1), ops.cat(*weights, dim=1))
    y = ops.reshape(found, sizes=(examples, channels, *out))
    names = (*dims.names[:2], *its.names[1:-1])
    given = [name for name in names if name is not None]
    return ops.rename(y, names=names) if given and len(set(given)) == len(given) else y


def _corner(corner: Sequence[Picked], sizes: Sequence[int]) -> tuple[Any, Any]:
    """Return the index in the plane of one pixel around each position, and its weight: 0 outside the image."""
    inside = weight = None
    for (place, share), size in zip(corner, sizes, strict=True):
        here = ops.logical_and(place >= 0.0, place <= as_float(size - 1))
        inside = here if inside is None else ops.logical_and(inside, here)
        if share is not None:
            weight = share if weight is None else weight * share
    index = None
    for (place, _), size in zip(corner, sizes, strict=True):
        # Outside of the image any pixel will do, since it weighs nothing; a NaN would be no index at all.
        safe = ops.to(ops.where(inside, place.detach(), 0.0), dtype=np.dtype(np.int64))
        index = safe if index is None else index * size + safe
    one = corner[0][0]
    if weight is None:
        return index, ops.to(inside, dtype=one.payload.dtype)
    return index, ops.where(inside, weight, 0.0)


def _check_types(input: Any, grid: Any, op: str) -> None:
    for label, value in (("input", input), ("grid", grid)):
        if value.payload.dtype.kind not in "fV":
            raise DTypeError(
                f"{op}: {label} must have a real floating point type, got {value.payload.dtype}. "
                f"Use {f'{label}.real' if value.payload.dtype.kind == 'c' else as_numbers(label, value.dtype)}"
            )


def _check(x: Dims, grid: Dims, mode: str, op: str) -> None:
    n = len(x.sizes) - 2
    operands = (x.operand("input"), grid.operand("grid"))

    def sizes() -> str:
        # Only a refusal writes them down: sizes of a trace would be fixed by it.
        return f"input with sizes {list(x.sizes)} and grid with sizes {list(grid.sizes)}"

    if n not in (2, 3) or len(grid.sizes) != len(x.sizes):
        raise DimensionError(
            f"expected 4D or 5D input and grid with same number of dimensions, but got {sizes()}.",
            op=op,
            operands=operands,
        )
    if x.sizes[0] != grid.sizes[0]:
        raise DimensionError(
            f"expected grid and input to have same batch size, but got {sizes()}.", op=op, operands=operands
        )
    if grid.sizes[-1] != n:
        raise DimensionError(
            f"expected grid to have size {n} in last dimension, but got grid with sizes {list(grid.sizes)}.",
            op=op,
            operands=operands,
        )
    if any(one < 1 for one in x.sizes[2:]):
        raise DimensionError(
            f"expected input to have non-empty spatial dimensions, but input has sizes {list(x.sizes)}.",
            op=op,
            operands=operands,
        )
    if mode == "bicubic" and n == 3:
        raise DimensionError("bicubic interpolation only supports 4D input.", op=op, operands=operands)


@offered("nn.functional")
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Look at [N, C, H, W] where `grid`, [N, H', W', 2], says: (x, y) from -1 to 1 spans the image.

    Also [N, C, D, H, W] with a grid of (x, y, z). Modes: bilinear, nearest, bicubic; outside the image there are
    zeros, the border goes on, or the image is reflected. With `align_corners` -1 and 1 are the centres of the outer
    pixels, without it their outer edges. N and C keep their names, the others are the grid's.

    >>> import workbench as wb
    >>> centre = wb.zeros(1, 1, 1, 2)
    >>> image = wb.arange(4.0).reshape(1, 1, 2, 2)
    >>> wb.nn.functional.grid_sample(image, centre, align_corners=False).item()
    1.5
    """
    for value, known, what in ((mode, MODES, "mode"), (padding_mode, PADDING_MODES, "padding_mode")):
        if value not in known:
            raise ValueError(
                f"grid_sample: expected {what} to be one of {', '.join(known)}, but got {value!r}"
            )
    if align_corners is None:
        warnings.warn(
            "grid_sample: align_corners is False unless given; say which one is meant", stacklevel=2
        )
    return _sampled(input, grid, mode, padding_mode, bool(align_corners), "grid_sample")


def _by_number(input: Any, grid: Any, mode: int, padding_mode: int, align_corners: bool, op: str) -> Tensor:
    for value, what in ((mode, "interpolation_mode"), (padding_mode, "padding_mode")):
        if value not in (0, 1, 2):
            raise ValueError(f"{op}: {what} is 0, 1 or 2, got {value!r}")
    return _sampled(input, grid, MODES[mode], PADDING_MODES[padding_mode], align_corners, op)


@offered("workbench")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Call `grid_sample` with its modes as numbers.

    They are 0 bilinear, 1 nearest, 2 bicubic; and 0 zeros, 1 border, 2 reflection.
    """
    return _by_number(input, grid, interpolation_mode, padding_mode, align_corners, "grid_sampler")


@offered("workbench")
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Call `grid_sample` on [N, C, H, W] with its modes as numbers, see `grid_sampler`."""
    return _by_number(input, grid, interpolation_mode, padding_mode, align_corners, "grid_sampler_2d")


@offered("workbench")
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Call `grid_sample` on [N, C, D, H, W] with its modes as numbers, see `grid_sampler`."""
    return _by_number(input, grid, interpolation_mode, padding_mode, align_corners, "grid_sampler_3d")


def _ticks(size: int, align_corners: bool) -> Any:
    """Return the coordinates of the centres of the pixels along one dim."""
    if size == 1:
        return np.zeros(1)
    # Corners aligned the centres span -1 to 1, else the outer edges do and the centres lie half a pixel inside.
    return np.linspace(-1, 1, size) * (1.0 if align_corners else (size - 1) / size)


def _points(sizes: tuple[int, ...], align_corners: bool, dtype: Any) -> Any:
    """Return (x, y, 1), or (x, y, z, 1), of each pixel, one a row."""
    ticks = [_ticks(one, align_corners) for one in sizes]
    each = [*reversed(np.meshgrid(*ticks, indexing="ij")), np.ones(sizes)]
    return np.stack(each, -1).reshape(math.prod(sizes), len(sizes) + 1).astype(dtype)


POINTS = record(
    "grid_points",
    "The coordinates of all pixels between -1 and 1, and a 1 behind them.",
    "y[i] = (x, y, 1) of pixel i",
    lambda sizes, align_corners, dtype: unnamed((math.prod(sizes), len(sizes) + 1)),
    _points,
    {"sizes": (2, 3), "align_corners": False, "dtype": np.dtype(np.float32)},
    {"sizes": (2, 1, 3), "align_corners": True, "dtype": np.dtype(np.float64)},
)


@offered("nn.functional")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the grid for `grid_sample` that an affine map makes of the pixels of an output of `size`.

    grid[n, h, w] = theta[n] @ (x, y, 1)

    Shapes: theta [N, 2, 3] with size [N, C, H, W] gives [N, H, W, 2]; [N, 3, 4] with [N, C, D, H, W] gives
    [N, D, H, W, 3].

    >>> import workbench as wb
    >>> same = wb.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> wb.nn.functional.affine_grid(same, (1, 1, 2, 2), align_corners=True)[0, 1, 0].tolist()
    [-1.0, 1.0]
    """
    dims = dims_of(theta)
    examples, _, *spatial = (whole(one) for one in size)
    n = len(spatial)
    if n not in (2, 3) or any(one < 1 for one in (examples, *spatial)):
        raise ValueError(
            f"affine_grid: size is [N, C, H, W] or [N, C, D, H, W] with positive numbers, got {list(size)}"
        )
    if dims.sizes != (examples, n, n + 1):
        raise DimensionError(
            f"Expected a batch of {n}D affine matrices of shape {examples}x{n}x{n + 1} for size {list(size)}. Got "
            f"{'x'.join(map(str, dims.sizes))}.",
            op="affine_grid",
            operands=(dims.operand("theta"),),
        )
    if theta.payload.dtype.kind not in "fV":
        raise TypeError(f"affine_grid: expected theta to have floating point type, but got {theta.dtype}")
    if align_corners is None:
        warnings.warn(
            "affine_grid: align_corners is False unless given; say which one is meant", stacklevel=2
        )
    way = {"sizes": tuple(spatial), "align_corners": bool(align_corners), "dtype": theta.payload.dtype}
    base = made(POINTS, *spatial, **way)
    bare = ops.rename(theta, names=None) if theta._names is not None else theta
    turned = ops.permute(bare, dim=(0, 2, 1))
    rows = dims_of(base).sizes
    points = ops.reshape(base, sizes=(1, *rows))
    product = ops.matmul(ops.expand(points, sizes=(examples, *rows)), turned)
    grid = ops.reshape(product, sizes=(examples, *spatial, n))
    return ops.rename(grid, names=(dims.names[0], *(None,) * (n + 1))) if dims.names[0] else grid


@offered("workbench")
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Call `affine_grid`."""
    return affine_grid(theta, size, align_corners)
