"""Means of windows: what they are divided by, and those of codes, whole sums brought back to codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.quantized_array import QuantizedArray
from workbench.base.symbolic_size import remembered
from workbench.core.quantized_rules import computed
from workbench.ops.nn.conv.window_geometry import Sizes, output_size

__all__ = ["Edges", "average_codes", "averaged", "divisor", "window_edges", "windows_of_codes"]

Edges = tuple[tuple[int, ...], tuple[int, ...]]
"""Where the windows along one dim begin and end, within it."""

_KERNEL = kernels.lookup("average_codes")


def average_codes(codes: Any, edges: tuple[Edges, ...], factors: Any, zero_point: int) -> Any:
    """Return q = clamp(rne(Σ (x - z)·f + z)) for the windows of codes [N, C, …], exactly summed.

    `factors` are float32, with a dim for each of `edges`: 1 / count of each window. PyTorch rounds so where values lie
    row by row; halves of channels-last ones go otherwise in most channels there.

    >>> average_codes(np.array([[[1, 2, 4, 9]]], np.uint8), (((0, 2), (2, 4)),), np.full(2, 0.5, np.float32), 0)
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

    >>> window_edges((5,), (3,), (2,), (1,), False)
    (((0, 1, 3), (2, 4, 5)),)
    """
    found = []
    for size, k, s, p in zip(sizes, kernel, stride, padding, strict=True):
        first = [place * s - p for place in range(output_size(size, k, s, p, 1, ceil))]
        found.append((tuple(max(one, 0) for one in first), tuple(min(one + k, size) for one in first)))
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
    """Return where the windows of a pooling lie, and what the sum of each is divided by."""
    edges = window_edges(sizes, kernel, stride, padding, ceil)
    out = tuple(len(first) for first, _ in edges)
    return edges, divisor(sizes, out, kernel, stride, padding, pad, override, np.dtype(np.float32))


def averaged(op: Any, q: QuantizedArray, edges: tuple[Edges, ...], counts: Any, **params: Any) -> Any:
    """Return the means of the windows of a quantized payload: sums of `counts` values, which broadcast against them.

    `params` are those of the op, which computes what is not of bytes under one scale.
    """
    if not (q.per_tensor and q.dtype.bits == 8):
        return computed(op, q, **params)
    sizes = tuple(len(start) for start, _ in edges)
    factors = np.broadcast_to(np.float32(1) / np.asarray(counts, np.float32), sizes)
    given = (q.codes, edges, np.ascontiguousarray(factors), int(q.zero_point))
    run = average_codes if _KERNEL is None or not _KERNEL.accepts(*given) else _KERNEL.run
    return QuantizedArray.own(run(*given), q.scale, q.zero_point, q.dtype)
