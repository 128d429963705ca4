"""Images of another size: each dim by itself is a few picked rows, weighted and added up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from workbench.onnx.errors import OnnxError
from workbench.onnx.families.shapes import placed
from workbench.onnx.table import operator
from workbench.onnx.values import bounded, wb
from workbench.tensor.factories import from_numpy

__all__: list[str] = []

Array = np.ndarray[Any, Any]


def _coordinates(way: str, size: int, out: int, scale: float, roi: tuple[float, float]) -> Array:
    """Return where in the old dim each place of the new one lies."""
    place = np.arange(out, dtype=np.float64)
    match way:
        case "half_pixel":
            return (place + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            # As if the new dim had the length that the scale says, in its middle.
            whole = size * scale
            return size / 2 * (1 - out / whole) + (place + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (place + 0.5) / scale - 0.5 if out > 1 else np.zeros(out)
        case "align_corners":
            # By the length that the scale says, which need not be whole.
            whole = size * scale
            return np.zeros(out) if whole == 1 else place * (size - 1) / (whole - 1)
        case "asymmetric":
            return place / scale
        case "tf_half_pixel_for_nn":
            return (place + 0.5) / scale
        case "tf_crop_and_resize":
            first, last = roi
            if out == 1:
                return np.full(out, 0.5 * (first + last) * (size - 1))
            return first * (size - 1) + place * (last - first) * (size - 1) / (out - 1)
    raise OnnxError(f"coordinate_transformation_mode {way!r} is none of this format")


_NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5), "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip


def _cubic(distance: Array, a: float) -> Array:
    d = np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _taps(x: Array, size: int, mode: str, scale: float, options: dict[str, Any]) -> tuple[Array, Array]:
    """Return for each new place the old ones that it is made of, and their weights."""
    if mode == "nearest":
        rule = _NEAREST.get(options["nearest_mode"])
        if rule is None:
            raise OnnxError(f"nearest_mode {options['nearest_mode']!r} is none of this format")
        return np.clip(rule(x), 0, size - 1).astype(np.int64)[:, None], np.ones((len(x), 1))
    radius = {"linear": 1, "cubic": 2}.get(mode)
    if radius is None:
        raise OnnxError(f"a mode is nearest, linear or cubic, not {mode!r}")
    # Smaller with antialias: the kernel is as much wider as the image is smaller.
    narrow = min(scale, 1.0) if options["antialias"] else 1.0
    reach = math.ceil(radius / narrow)
    places = np.floor(x)[:, None] + np.arange(-reach + 1, reach + 1)
    distance = (x[:, None] - places) * narrow
    weights = (
        np.clip(1 - np.abs(distance), 0, None) if mode == "linear" else _cubic(distance, options["cubic"])
    )
    if options["exclude_outside"]:
        weights = np.where((places < 0) | (places >= size), 0.0, weights)
    if options["exclude_outside"] or options["antialias"]:
        weights = weights / weights.sum(-1, keepdims=True)
    return np.clip(places, 0, size - 1).astype(np.int64), weights


def _along(x: Any, axis: int, places: Array, weights: Array) -> Any:
    if places.shape[1] == 1 and (weights == 1).all():
        return wb.index_select(x, axis, from_numpy(np.ascontiguousarray(places[:, 0])))
    total = None
    shape = [-1 if i == axis else 1 for i in range(x.dim())]
    for tap in range(places.shape[1]):
        if not weights[:, tap].any():
            continue
        part = wb.index_select(x, axis, from_numpy(np.ascontiguousarray(places[:, tap])))
        part = part * from_numpy(np.ascontiguousarray(weights[:, tap])).to(x.dtype).reshape(shape)
        total = part if total is None else total + part
    return total


def _resized(
    x: Any, axes: list[int], roi: Any, scales: list[float], sizes: list[int], options: dict[str, Any]
) -> Any:
    kind, mode, way = x.dtype, options["mode"], options["way"]
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    found = list(x.shape)
    for axis, size in zip(axes, sizes, strict=True):
        found[axis] = size
    bounded(found)
    # Rounded at the end, as whole numbers are where they are weighted.
    values = x if kind.is_floating_point or mode == "nearest" else x.float()
    outside = None
    for i, (axis, scale, out) in enumerate(zip(axes, scales, sizes, strict=True)):
        size = int(x.shape[axis])
        region = (float(roi[i]), float(roi[i + len(axes)])) if roi else (0.0, 1.0)
        if out == size and scale == 1.0 and way != "tf_crop_and_resize":
            continue
        if size == 0 or scale <= 0:
            raise OnnxError(f"a dim of {size} cannot be made {scale} times as long")
        where = _coordinates(way, size, out, scale, region)
        values = _along(values, axis, *_taps(where, size, mode, scale, options))
        if way == "tf_crop_and_resize":
            beyond = from_numpy((where < 0) | (where > size - 1)).reshape(
                [-1 if k == axis else 1 for k in range(x.dim())]
            )
            outside = beyond if outside is None else wb.logical_or(outside, beyond)
    if outside is not None:
        values = wb.where(outside, options["extrapolation"], values)
    if kind.is_floating_point or mode == "nearest":
        return values.to(kind)
    info = np.iinfo(kind.numpy)
    return wb.clamp(wb.round(values), int(info.min), int(info.max)).to(kind)


def _stretched(axes: Iterable[int], scales: Iterable[float]) -> tuple[list[int], list[float]]:
    """Leave out the dims that stay as they are: their size is not asked for, so that a graph fits any batch."""
    found = [(axis, float(scale)) for axis, scale in zip(axes, scales, strict=True) if scale != 1.0]
    return [axis for axis, _ in found], [scale for _, scale in found]


@operator("Resize", since=11, numbers=(1, 2, 3))
def _resize(
    x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, *, antialias: int = 0,
    axes: list[int] | None = None, coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0, extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest", nearest_mode: str = "round_prefer_floor",
) -> Any:  # fmt: skip
    where = list(range(x.dim())) if axes is None else [placed(one, x.dim()) for one in axes]
    given = scales or sizes
    if not given or len(given) != len(where):
        raise OnnxError(f"it needs scales or sizes of {len(where)} dims")
    by_scales = bool(scales)
    if by_scales and coordinate_transformation_mode != "tf_crop_and_resize":
        where, scales, roi = *_stretched(where, scales), None
    old = [int(x.shape[axis]) for axis in where]
    if by_scales:
        factors = [float(one) for one in scales]
        new = [math.floor(size * factor) for size, factor in zip(old, factors, strict=True)]
    else:
        new = [int(one) for one in sizes]
        factors = [a / b if b else 1.0 for a, b in zip(new, old, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            factor = min(factors) if keep_aspect_ratio_policy == "not_larger" else max(factors)
            new = [math.floor(factor * size + 0.5) for size in old]
            factors = [factor] * len(old)
    options = {
        "antialias": bool(antialias), "cubic": cubic_coeff_a, "exclude_outside": bool(exclude_outside),
        "extrapolation": extrapolation_value, "mode": mode, "nearest_mode": nearest_mode,
        "way": coordinate_transformation_mode,
    }  # fmt: skip
    return _resized(x, where, roi, factors, new, options)


_OLD = {
    "antialias": False, "cubic": -0.75, "exclude_outside": False, "extrapolation": 0.0, "nearest_mode": "floor",
    "way": "asymmetric",
}  # fmt: skip


@operator("Resize", since=10, numbers=(1,))
def _resize_by_scales(x: Any, scales: list[float], *, mode: str = "nearest") -> Any:
    if len(scales) != x.dim():
        raise OnnxError(f"it needs scales of {x.dim()} dims")
    where, factors = _stretched(range(x.dim()), scales)
    new = [math.floor(int(x.shape[axis]) * one) for axis, one in zip(where, factors, strict=True)]
    return _resized(x, where, None, factors, new, {**_OLD, "mode": mode})


@operator("Upsample", since=9, numbers=(1,))
def _upsample(x: Any, scales: list[float], *, mode: str = "nearest") -> Any:
    return _resize_by_scales(x, scales, mode=mode)


@operator("Upsample", since=7)
def _upsample_by_attribute(x: Any, *, scales: list[float], mode: str = "nearest") -> Any:
    return _resize_by_scales(x, scales, mode=mode)


@operator("GridSample", since=16)
def _grid_sample(
    x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Any:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return wb.grid_sample(
        x, grid.to(x.dtype), mode=mode, padding_mode=padding_mode, align_corners=bool(align_corners)
    )


@operator("AffineGrid", since=20, numbers=(1,))
def _affine_grid(theta: Any, size: list[int], *, align_corners: int = 0) -> Any:
    bounded(size)
    return wb.affine_grid(theta, tuple(size), bool(align_corners))
