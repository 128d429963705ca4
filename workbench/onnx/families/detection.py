"""Boxes: which of those that overlap stay, and what an image has in each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import bounded, wb
from workbench.tensor.factories import from_numpy

__all__: list[str] = []

Array = np.ndarray[Any, Any]


def _corners(boxes: Array, centred: bool) -> Array:
    """Return boxes as their least and greatest coordinates."""
    if centred:
        middle, half = boxes[:, :2], boxes[:, 2:] / 2
        return np.concatenate([middle - half, middle + half], axis=1)
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


def _overlap(box: Array, others: Array) -> Array:
    first, last = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.clip(last - first, 0, None).prod(axis=1)
    own = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1)
    shares: Array = np.divide(common, own - common, out=np.zeros_like(common), where=own > common)
    return shares


@operator("NonMaxSuppression", since=10, numbers=(2, 3, 4))
def _non_max_suppression(
    boxes: Any,
    scores: Any,
    most: Any = None,
    overlap: Any = None,
    least: Any = None,
    *,
    center_point_box: int = 0,
) -> Any:
    most, overlap, least = (
        one[0] if isinstance(one, list) and one else one for one in (most, overlap, least)
    )
    found = []
    every, values = boxes.detach().numpy(), scores.detach().numpy()
    for batch in range(values.shape[0]):
        places = _corners(every[batch], bool(center_point_box))
        for kind in range(values.shape[1]):
            row = values[batch, kind]
            order = [i for i in np.argsort(-row, kind="stable") if least is None or row[i] > least]
            kept: list[Any] = []
            while order and len(kept) < (most or 0):
                best, order = order[0], order[1:]
                kept.append(best)
                common = _overlap(places[best], places[order])
                order = [one for one, much in zip(order, common, strict=True) if much <= (overlap or 0.0)]
            found += [[batch, kind, int(one)] for one in kept]
    return from_numpy(np.array(found, np.int64).reshape(-1, 3))


def _taps(low: Any, extent: Any, bins: int, samples: int, size: int) -> tuple[Any, Any, Any, Any]:
    """Return for each box the places before and behind each sample, how far it is from the first, and if it counts."""
    step = extent.reshape(-1, 1) / (bins * samples)
    where = low.reshape(-1, 1) + (wb.arange(bins * samples).float() + 0.5) * step
    counts = wb.logical_and(where >= -1, where <= size)
    where = wb.clamp(where, 0, size - 1)
    first = wb.floor(where)
    second = wb.clamp(first + 1, max=size - 1)
    return first.long(), second.long(), where - first, counts


def _align(
    x: Any, boxes: Any, half: float, ratio: int, scale: float, sizes: tuple[int, int], mode: str
) -> Any:
    """Return what the image `x`, `[C, H, W]`, has in each of its boxes."""
    rows = []
    for i in range(boxes.shape[0]):
        left, top, right, bottom = (boxes[i, k] * scale - half for k in range(4))
        high, wide = bottom - top, right - left
        if half == 0.0:
            high, wide = wb.clamp(high, min=1.0), wb.clamp(wide, min=1.0)
        # As many samples in a bin as it has pixels, where the file says no number.
        down = ratio or max(int(np.ceil(high.item() / sizes[0])), 1)
        across = ratio or max(int(np.ceil(wide.item() / sizes[1])), 1)
        bounded([x.shape[0], sizes[0] * down, sizes[1] * across])
        y0, y1, dy, y_in = _taps(top, high, sizes[0], down, x.shape[1])
        x0, x1, dx, x_in = _taps(left, wide, sizes[1], across, x.shape[2])
        dy, dx = dy.reshape(-1, 1), dx.reshape(1, -1)
        parts = []
        for vertical, horizontal, weight in (
            (y0, x0, (1 - dy) * (1 - dx)), (y0, x1, (1 - dy) * dx), (y1, x0, dy * (1 - dx)), (y1, x1, dy * dx),
        ):  # fmt: skip
            seen = wb.index_select(wb.index_select(x, 1, vertical.reshape(-1)), 2, horizontal.reshape(-1))
            parts.append(seen * weight * (y_in.reshape(-1, 1) * x_in.reshape(1, -1)).to(x.dtype))
        shape = [x.shape[0], sizes[0], down, sizes[1], across]
        if mode == "avg":
            rows.append(wb.mean((parts[0] + parts[1] + parts[2] + parts[3]).reshape(shape), (2, 4)))
        else:
            # The greatest of the weighted corners, as the format's own description has it.
            best = wb.maximum(wb.maximum(parts[0], parts[1]), wb.maximum(parts[2], parts[3]))
            rows.append(wb.amax(best.reshape(shape), (2, 4)))
    return rows


def _roi_align(
    x: Any,
    boxes: Any,
    images: list[int],
    mode: str,
    sizes: tuple[int, int],
    ratio: int,
    scale: float,
    half: float,
) -> Any:
    if mode not in ("avg", "max"):
        raise OnnxError(f"RoiAlign knows avg and max, not {mode!r}")
    rows = []
    for i, image in enumerate(images):
        rows += _align(x[image], wb.narrow(boxes, 0, i, 1), half, ratio, scale, sizes, mode)
    return wb.stack(rows) if rows else wb.zeros([0, x.shape[1], *sizes], dtype=x.dtype)


def _bins(start: float, end: float, count: int, size: int, scale: float) -> list[tuple[int, int]]:
    """Return from where to where each bin of a box goes; halves are rounded away from zero."""
    first, last = (math.floor(abs(one) * scale + 0.5) * (1 if one >= 0 else -1) for one in (start, end))
    width = max(last - first + 1, 1) / count
    ends = ((math.floor(i * width) + first, math.ceil((i + 1) * width) + first) for i in range(count))
    return [(min(max(a, 0), size), min(max(b, 0), size)) for a, b in ends]


@operator("MaxRoiPool", numbers=(1,))
def _max_roi_pool(
    x: Any, boxes: list[list[float]], *, pooled_shape: list[int], spatial_scale: float = 1.0
) -> Any:
    height, width = pooled_shape
    bounded([len(boxes), x.shape[1], height, width])
    nothing = wb.zeros([x.shape[1]], dtype=x.dtype)
    found = []
    for image, left, top, right, bottom in boxes:
        rows = _bins(top, bottom, height, int(x.shape[2]), spatial_scale)
        columns = _bins(left, right, width, int(x.shape[3]), spatial_scale)
        cells = [
            wb.amax(x[int(image), :, a:b, c:d], (1, 2)) if a < b and c < d else nothing
            for a, b in rows
            for c, d in columns
        ]
        found.append(wb.stack(cells, dim=-1).reshape([x.shape[1], height, width]))
    return wb.stack(found) if found else wb.zeros([0, x.shape[1], height, width], dtype=x.dtype)


@operator("RoiAlign", since=10, numbers=(2,))
def _roi_align_whole(
    x: Any, boxes: Any, images: list[int], *, mode: str = "avg", output_height: int = 1, output_width: int = 1,
    sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    return _roi_align(
        x, boxes, images, mode, (output_height, output_width), sampling_ratio, spatial_scale, 0.0
    )


@operator("RoiAlign", since=16, numbers=(2,))
def _roi_align_half(
    x: Any, boxes: Any, images: list[int], *, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
    output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    half = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    return _roi_align(
        x, boxes, images, mode, (output_height, output_width), sampling_ratio, spatial_scale, half
    )
