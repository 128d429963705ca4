"""Means of windows: what they are divided by, and those of codes, whole sums brought back to codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.quantized_array import QuantizedArray
from workbench.base.symbolic_size import remembered
from workbench.core.quantized_rules import computed
from workbench.ops.nn.conv.window_geometry import Sizes, output_size

__all__ = [
    "Edges",
    "average_codes",
    "averaged",
    "divisor",
    "even_shares_of_codes",
    "window_edges",
    "windows_of_codes",
]

Edges = np.ndarray[Any, Any]
"""Where the windows along one dim begin, and where they end, within it: int64 [2, places]."""

_KERNEL = kernels.lookup("average_codes")


def average_codes(codes: Any, edges: tuple[Edges, ...], factors: Any, zero_point: int) -> Any:
    """Return q = clamp(rne(Σ (x - z)·f + z)) for the windows of codes [N, C, …], exactly summed.

    `factors` are float32, with a dim for each of `edges`: 1 / count of each window. PyTorch rounds so where values lie
    row by row; halves of channels-last ones go otherwise in most channels there.

    >>> windows = np.array([(0, 2), (2, 4)])
    >>> average_codes(np.array([[[1, 2, 4, 9]]], np.uint8), (windows,), np.full(2, 0.5, np.float32), 0)
    array([[[2, 6]]], dtype=uint8)
    """
    sums = codes.astype(np.int64) - zero_point
    for dim, (start, end) in enumerate(edges, 2):
        before = np.zeros((*sums.shape[:dim], 1, *sums.shape[dim + 1 :]), np.int64)
        running = np.concatenate([before, np.cumsum(sums, axis=dim)], axis=dim)
        sums = running.take(end, axis=dim) - running.take(start, axis=dim)
    limits = np.iinfo(codes.dtype)
    numbers = sums.astype(np.float32) * factors + np.float32(zero_point)
    return np.clip(np.rint(numbers), limits.min, limits.max).astype(codes.dtype)


def window_edges(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, ceil: bool) -> tuple[Edges, ...]:
    """Return where the windows of a pooling begin and end in each dim, without what lies in the padding.

    >>> window_edges((5,), (3,), (2,), (1,), False)[0].tolist()
    [[0, 1, 3], [2, 4, 5]]
    """
    found = []
    for size, k, s, p in zip(sizes, kernel, stride, padding, strict=True):
        first = np.arange(output_size(size, k, s, p, 1, ceil), dtype=np.int64) * s - p
        found.append(np.stack([np.maximum(first, 0), np.minimum(first + k, size)]))
    return tuple(found)


def divisor(
    sizes: Sizes,
    out: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    count_include_pad: bool,
    divisor_override: int | None,
    dtype: np.dtype[Any],
) -> Any:
    """Return what the sum of each window is divided by."""
    if divisor_override is not None:
        return dtype.type(divisor_override)
    counts = np.ones((), dtype)
    for size, o, k, s, p in zip(sizes, out, kernel, stride, padding, strict=True):
        start = np.arange(o) * s - p
        # In ceil mode the last window may reach beyond the padding: that part of it is not counted.
        end = np.minimum(start + k, size + p)
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        counts = counts[..., None] * (end - start).astype(dtype)
    return counts


@remembered(256)
def windows_of_codes(
    sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, ceil: bool, pad: bool, override: int | None
) -> tuple[tuple[Edges, ...], Any]:
    """Return where the windows of a pooling lie, and what the sum of each is multiplied by."""
    edges = window_edges(sizes, kernel, stride, padding, ceil)
    out = tuple(one.shape[1] for one in edges)
    counts = divisor(sizes, out, kernel, stride, padding, pad, override, np.dtype(np.float32))
    return edges, _factors(out, counts)


@remembered(256)
def even_shares_of_codes(sizes: Sizes, out: Sizes) -> tuple[tuple[Edges, ...], Any]:
    """Return the same of as many windows as asked for, which together see all values.

    >>> edges, factors = even_shares_of_codes((5,), (2,))
    >>> edges[0].tolist(), factors.round(3).tolist()
    ([[0, 2], [3, 5]], [0.3330000042915344, 0.3330000042915344])
    """
    edges = []
    counts: Any = np.ones((), np.float32)
    for size, many in zip(sizes, out, strict=True):
        places = np.arange(many, dtype=np.int64)
        edges.append(np.stack([places * size // many, -(-(places + 1) * size // many)]))
        counts = counts[..., None] * (edges[-1][1] - edges[-1][0]).astype(np.float32)
    return tuple(edges), _factors(out, counts)


def _factors(out: Sizes, counts: Any) -> Any:
    found = np.broadcast_to(np.float32(1) / np.asarray(counts, np.float32), out)
    return np.ascontiguousarray(found)


def averaged(op: Any, q: QuantizedArray, edges: tuple[Edges, ...], factors: Any, **params: Any) -> Any:
    """Return the means of the windows of a quantized payload, whose sums are multiplied by `factors`.

    `params` are those of the op, which computes what is not of bytes under one scale.
    """
    if not (q.per_tensor and q.dtype.bits == 8):
        return computed(op, q, **params)
    given = (q.codes, edges, factors, int(q.zero_point))
    run = average_codes if _KERNEL is None or not _KERNEL.accepts(*given) else _KERNEL.run
    return QuantizedArray.own(run(*given), q.scale, q.zero_point, q.dtype)
