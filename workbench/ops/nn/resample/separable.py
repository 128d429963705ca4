"""Resampling along the spatial dims: each dim by its own small linear map, for every interpolation and area mean.

An output value is a weighted sum of few inputs along each dim in turn. The maps are worked out once for each pair of
sizes; the transpose, which the gradient needs, is the product with the map written out as a matrix.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import COMPUTED, GRADIENT
from workbench.core.tape import Call
from workbench.ops.nn import batching
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes

Array = np.ndarray[Any, Any]

MODES = ("nearest", "nearest-exact", "linear", "cubic", "area")


class Taps(NamedTuple):
    """For each output position: the inputs that it reads (several columns), and their weights."""

    reads: Array
    weight: Array


class Along(NamedTuple):
    """How one dim is resampled."""

    mode: str
    size: int
    out: int
    scale: float | None
    """The scale asked for, where it and not the sizes decides how positions correspond."""
    align_corners: bool
    antialias: bool


@lru_cache(maxsize=256)
def taps_of(along: Along, double: bool) -> Taps:
    """Return the taps of one dim; positions are computed in the precision of the values."""
    kind: Any = np.float64 if double else np.float32
    if along.mode == "area":
        return _area(along, kind)
    if along.antialias:
        return _smoothed(along, kind)
    if along.mode.startswith("nearest"):
        return _nearest(along)
    position = _positions(along, kind)
    last = along.size - 1
    if along.mode == "linear":
        # PyTorch holds positions at the first pixel for linear weights, but not for cubic ones.
        position = np.maximum(position, kind(0))
        low = np.minimum(np.floor(position).astype(np.int64), last)
        share = np.clip(position - low.astype(kind), 0, 1)
        return Taps(np.stack([low, np.minimum(low + 1, last)], 1), np.stack([1 - share, share], 1))
    low = np.minimum(np.floor(position).astype(np.int64), last)
    t = np.clip(position - low.astype(kind), 0, 1)
    weight = np.stack([_outer(t + 1), _inner(t), _inner(1 - t), _outer(2 - t)], 1)
    return Taps(np.clip(low[:, None] + np.arange(-1, 3), 0, last), weight.astype(kind))


def _ratio(along: Along, kind: Any) -> Any:
    """Return how far the inputs of neighbouring outputs lie apart."""
    if along.align_corners and not along.mode.startswith("nearest"):
        return kind(along.size - 1) / kind(along.out - 1) if along.out > 1 else kind(0)
    # A scale that was given relates positions, even where the sizes say another: PyTorch's rule.
    return kind(1 / along.scale) if along.scale else kind(along.size) / kind(along.out)


def _positions(along: Along, kind: Any) -> Array:
    index = np.arange(along.out).astype(kind)
    if along.out == along.size and not along.scale:
        return index
    ratio = _ratio(along, kind)
    found: Array = index * ratio if along.align_corners else ratio * (index + kind(0.5)) - kind(0.5)
    return found


def _nearest(along: Along) -> Taps:
    # In float32 whatever the type, as in PyTorch: rounding decides which pixel is the nearest.
    ratio = _ratio(along, np.float32)
    index = np.arange(along.out)
    if along.mode == "nearest-exact":
        found = np.floor((index + np.float32(0.5)).astype(np.float32) * ratio)
    elif along.out == along.size:
        # Exact for these two, where the product below may round to the pixel before.
        found = index
    elif along.out == 2 * along.size:
        found = index // 2
    else:
        found = np.floor(index.astype(np.float32) * ratio)
    return Taps(np.minimum(found.astype(np.int64), along.size - 1)[:, None], np.ones((along.out, 1)))


def _inner(t: Array, a: float = -0.75) -> Array:
    """Keys' cubic convolution for distances up to 1."""
    return ((a + 2) * t - (a + 3)) * t * t + 1


def _outer(t: Array, a: float = -0.75) -> Array:
    """Keys' cubic convolution for distances from 1 to 2."""
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a


def _area(along: Along, kind: Any) -> Taps:
    index = np.arange(along.out)
    start = index * along.size // along.out
    # Rounded up: windows meet or overlap, and leave no value out.
    end = -(-(index + 1) * along.size // along.out)
    width = int((end - start).max()) if along.out else 0
    each = start[:, None] + np.arange(width)
    inside = each < end[:, None]
    weight = inside / (end - start)[:, None].astype(kind)
    return Taps(np.where(inside, each, start[:, None]), weight.astype(kind))


def _smoothed(along: Along, kind: Any) -> Taps:
    """Taps of a filter that is as much wider as the output is smaller, so that nothing aliases."""
    ratio = float(_ratio(along, kind))
    reach = 1.0 if along.mode == "linear" else 2.0
    stretch = max(ratio, 1.0)
    centre = ratio * (np.arange(along.out) + 0.5)
    start = np.maximum((centre - reach * stretch + 0.5).astype(np.int64), 0)
    end = np.minimum((centre + reach * stretch + 0.5).astype(np.int64), along.size)
    each = start[:, None] + np.arange(int((end - start).max()) if along.out else 0)
    inside = each < end[:, None]
    t = np.abs((each - centre[:, None] + 0.5) / stretch)
    if along.mode == "linear":
        weight = np.maximum(1 - t, 0)
    else:
        # With antialiasing PyTorch's cubic has another constant, that of Pillow.
        weight = np.where(t < 1, _inner(t, -0.5), np.where(t < 2, _outer(t, -0.5), 0.0))
    weight = np.where(inside, weight, 0.0)
    weight /= weight.sum(1, keepdims=True)
    return Taps(np.where(inside, each, start[:, None]), weight.astype(kind))


@lru_cache(maxsize=64)
def matrix_of(along: Along, double: bool) -> Array:
    """Return the map of one dim as a matrix [out, size]."""
    index, weight = taps_of(along, double)
    matrix = np.zeros((along.out, along.size), np.float64 if double else np.float32)
    np.add.at(matrix, (np.arange(along.out)[:, None], index), weight)
    return matrix


FEW = 8
"""Number of taps up to which they are added one by one; more are one product with a matrix."""


def _is_identity(along: Along) -> bool:
    return along.size == along.out and along.scale in (None, 1.0) and not along.antialias


def plan_of(
    sizes: Sizes,
    out: Sizes,
    mode: str,
    scales: tuple[float | None, ...],
    align_corners: bool,
    antialias: bool,
) -> list[Along]:
    """Return how each dim is resampled."""
    return [
        Along(mode, size, o, scale, align_corners, antialias)
        for size, o, scale in zip(sizes, out, scales, strict=True)
    ]


def _resample(x: Any, sizes: Sizes, mode: str, scales: Any, align_corners: bool, antialias: bool) -> Any:
    # Whole numbers are interpolated as floats and rounded after every dim.
    whole = x.dtype.kind in "biu" and not mode.startswith("nearest")
    plan, given = plan_of(x.shape[2:], sizes, mode, scales, align_corners, antialias), x
    for axis in reversed(range(2, x.ndim)):
        along = plan[axis - 2]
        if not _is_identity(along):
            x = (
                _rounded(_along_axis(x.astype(np.float32), axis, along), x.dtype)
                if whole
                else _along_axis(x, axis, along)
            )
    return x.copy() if x is given else x  # the result is written to by itself


def _rounded(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return the nearest whole numbers that the type has."""
    info = np.iinfo(dtype)
    return np.clip(np.floor(values + np.float32(0.5)), info.min, info.max).astype(dtype)


def _taken(x: Any, places: Any, axis: int) -> Any:
    """Return entries along a dim; the result lies as the array does, of which whole runs are copied so."""
    if type(x) is not np.ndarray or x.flags.c_contiguous:
        return x.take(places, axis)
    order = sorted(range(x.ndim), key=lambda i: -x.strides[i])
    return x.transpose(order).take(places, order.index(axis)).transpose(np.argsort(order))


def _along_axis(x: Any, axis: int, along: Along) -> Any:
    if along.mode.startswith("nearest"):
        return _taken(x, taps_of(along, False).reads[:, 0], axis)
    double = x.dtype == np.float64
    index, weight = taps_of(along, double)
    if not index.shape[1]:
        return x.take(index.reshape(along.out), axis)
    if index.shape[1] > FEW:
        total = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix_of(along, double).T, -1, axis)
    else:
        total = _tap_by_tap(x, axis, index, weight)
    if _is_ragged(along) and not np.isfinite(total).all():
        # What is outside of a window weighs 0: times infinity or NaN that would be NaN.
        total = _tap_by_tap(x, axis, index, weight, weight != 0)
    return total


def _is_ragged(along: Along) -> bool:
    """Say whether windows differ in size, so that taps of the smaller ones stand for nothing."""
    return along.mode == "area" or along.antialias


def _tap_by_tap(x: Any, axis: int, index: Array, weight: Array, there: Array | None = None) -> Any:
    """Add up what the taps read, times their weights; of some only what is `there`."""
    column = (-1, *(1,) * (x.ndim - axis - 1))
    total = None
    for tap in range(index.shape[1]):
        part = x.take(index[:, tap], axis) * weight[:, tap].reshape(column)
        if there is not None:
            part = np.where(there[:, tap].reshape(column), part, x.dtype.type(0))
        total = part if total is None else np.add(total, part, out=total)
    return total


def _transposed(g: Any, input_shape: Sizes, sizes: Sizes, **params: Any) -> Any:
    double, given = g.dtype == np.float64, g
    for axis, along in enumerate(plan_of(input_shape[2:], sizes, **params), 2):
        if not _is_identity(along):
            back = np.moveaxis(np.moveaxis(g, axis, -1) @ matrix_of(along, double), -1, axis)
            g = back if np.isfinite(back).all() else _put_back(g, axis, along)
    return g.copy() if g is given else g


def _put_back(g: Any, axis: int, along: Along) -> Any:
    """Add a gradient up where it was read from, and nowhere else: a product with a matrix spreads NaN over all."""
    index, weight = taps_of(along, g.dtype == np.float64)
    found = np.zeros((along.size, *np.moveaxis(g, axis, 0).shape[1:]), g.dtype)
    for tap in range(index.shape[1]):
        w = weight[:, tap].reshape(-1, *(1,) * (g.ndim - 1))
        part = np.moveaxis(g, axis, 0) * w
        np.add.at(found, index[:, tap], np.where(w != 0, part, 0) if _is_ragged(along) else part)
    return np.moveaxis(found, 0, axis)


def _resample_dims(x: Dims, sizes: Sizes, **params: Any) -> Dims:
    if len(x.sizes) != len(sizes) + 2:
        raise DimensionError(
            f"Expected {len(sizes) + 2}D input for {len(sizes)} spatial sizes, but got {len(x.sizes)}D.",
            op="resample",
            operands=(x.operand("input"),),
        )
    empty = params["mode"] != "area" and any(one < 1 for one in sizes)
    if empty or any(one < 1 for one in x.sizes[2:]):
        raise DimensionError(
            f"Input and output sizes should be greater than 0, but got input {list(x.sizes[2:])} and output "
            f"{list(sizes)}.",
            op="resample",
            operands=(x.operand("input", range(2, len(x.sizes))),),
        )
    return Dims(x.names, (*x.sizes[:2], *sizes))


def _transposed_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    return (ops.resample(u, **{key: value for key, value in c.params.items() if key != "input_shape"}),)


def _params(
    sizes: Sizes, mode: str, align_corners: bool = False, scale: float | None = None, antialias: bool = False
) -> dict[str, Any]:
    scales = (scale,) * len(sizes)
    return {
        "sizes": sizes,
        "mode": mode,
        "scales": scales,
        "align_corners": align_corners,
        "antialias": antialias,
    }


def _samples() -> list[tuple[Sizes, dict[str, Any]]]:
    return [
        ((2, 3, 4, 5), _params((3, 7), "linear")),
        ((1, 2, 5, 4), _params((3, 6), "linear", True)),
        ((1, 2, 5, 4), _params((7, 3), "cubic")),
        ((1, 2, 5), _params((3,), "nearest-exact")),
        ((1, 2, 5), _params((8,), "nearest", False, 1.7)),
        ((1, 2, 7, 4), _params((3, 4), "area")),
        ((1, 2, 9, 4), _params((3, 6), "linear", antialias=True)),
        ((1, 1, 21, 4), _params((3, 6), "cubic", antialias=True)),
        ((1, 2, 3, 2), _params((3, 2), "nearest")),  # nothing to be done: it still has memory of its own
    ]


def _resample_codes(op: Op, q: Any, **params: Any) -> Any:
    served: Any = ops.quantized_resample
    return served.quantized.codes(served, q, **params)


RESAMPLE = Op(
    name="resample",
    doc="Values at other positions along the spatial dims, interpolated or averaged.",
    equation="y[n, c, p] = Σ_k w[p, k]·x[n, c, k] along each spatial dim in turn",
    reference="Keys 1981, for the cubic",
    dims=_resample_dims,
    rule="names pass through; the spatial dims have the given sizes",
    dtype=KEEP,
    forward=_resample,
    vjp=lambda c, g: (ops.resample_gradient(g, input_shape=c.inputs[0].payload.shape, **c.params),),
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: 4.0 * len(params["sizes"]) * out.numel,
    samples=lambda: [
        Sample((grid(*shape),), params, names=(LAYOUT[len(shape) - 2],)) for shape, params in _samples()
    ],
    bad=lambda: [
        BadInput((grid(2, 3, 4),), _params((3, 7), "linear"), DimensionError, "Expected 4D input"),
        BadInput((grid(2, 3, 4),), _params((0,), "linear"), DimensionError, "should be greater than 0"),
    ],
    properties=frozenset({"linear"}),
    batch=batching.as_samples,
    quantized=replace(
        COMPUTED,
        codes=_resample_codes,
        kernel="quantized_resample",
    ),
)

RESAMPLE_GRADIENT = Op(
    name="resample_gradient",
    doc="Gradient of resample: each value goes back to those it was made from.",
    equation="gx = ∂⟨g, resample(x)⟩/∂x",
    dims=lambda g, input_shape, **params: Dims(g.names, input_shape),
    rule="names of the gradient, sizes of the input",
    dtype=KEEP,
    forward=_transposed,
    vjp=_transposed_vjp,
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: 2.0 * dims[0].numel * math.prod(out.sizes[2:]),
    samples=lambda: [
        Sample((grid(*shape[:2], *params["sizes"]),), {"input_shape": shape, **params})
        for shape, params in _samples()
    ],
    properties=frozenset({"linear"}),
    batch=batching.as_samples_into,
    quantized=GRADIENT,
)
