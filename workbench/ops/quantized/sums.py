"""Convolutions in whole numbers, written plainly: the oracle of every engine and kernel.

Operands are codes less their zero points, in float64, which holds every sum of products of theirs exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["convolve", "transposed"]

Sizes = tuple[int, ...]


def _taps(
    kernel: Sizes, out: Sizes, stride: Sizes, dilation: Sizes
) -> Iterator[tuple[Sizes, tuple[slice, ...]]]:
    """Yield each entry of a kernel, and where in the padded image it meets the positions of the result."""
    for tap in np.ndindex(kernel):
        begins = [k * d for k, d in zip(tap, dilation, strict=True)]
        yield (
            tap,
            tuple(
                slice(b, b + (size - 1) * s + 1, s) for b, size, s in zip(begins, out, stride, strict=True)
            ),
        )


def _by_group(values: Any, groups: int) -> Any:
    """Return [N, C, ...] as [N, groups, C / groups, positions]."""
    count, channels, *spatial = values.shape
    return values.reshape(count, groups, channels // groups, int(np.prod(spatial)))


def convolve(x: Any, weight: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    """Return y[n, o, p] = Σ x[n, c, p·s + k·d - pad]·w[o, c, k] of [N, C, ...] and [O, C / groups, ...]."""
    border = [(0, 0), (0, 0), *((p, p) for p in padding)]
    image = np.pad(x, border)
    kernel, outputs = weight.shape[2:], weight.shape[0]
    out = tuple(
        (size - d * (k - 1) - 1) // s + 1
        for size, d, k, s in zip(image.shape[2:], dilation, kernel, stride, strict=True)
    )
    y = np.zeros((x.shape[0], groups, outputs // groups, int(np.prod(out))))
    for tap, where in _taps(kernel, out, stride, dilation):
        column = weight[(slice(None), slice(None), *tap)].reshape(groups, outputs // groups, -1)
        y += column @ _by_group(image[(slice(None), slice(None), *where)], groups)
    return y.reshape(x.shape[0], outputs, *out)


def transposed(
    x: Any, weight: Any, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    """Return the transposed convolution of [N, C, ...] and [C, O / groups, ...]: each value adds a kernel."""
    kernel, (count, channels, *spatial) = weight.shape[2:], x.shape
    full = tuple(
        (size - 1) * s + d * (k - 1) + 1 + more
        for size, s, d, k, more in zip(spatial, stride, dilation, kernel, output_padding, strict=True)
    )
    each = weight.shape[1]
    y = np.zeros((count, groups * each, *full))
    values = _by_group(x, groups)
    for tap, where in _taps(kernel, tuple(spatial), stride, dilation):
        column = weight[(slice(None), slice(None), *tap)].reshape(groups, channels // groups, each)
        added = np.swapaxes(column, 1, 2) @ values
        y[(slice(None), slice(None), *where)] += added.reshape(count, groups * each, *spatial)
    inside = tuple(slice(p, size - p) for p, size in zip(padding, full, strict=True))
    return y[(slice(None), slice(None), *inside)]
