"""Pools: the greatest of a window, its mean, its norm; and those of all there is."""

from __future__ import annotations

import itertools
import math
from typing import Any

from workbench.onnx.errors import OnnxError
from workbench.onnx.families.convolution import each, padded, pads_of
from workbench.onnx.table import operator
from workbench.onnx.values import is_floating, wb

__all__: list[str] = []

_GREATEST = {1: wb.max_pool1d, 2: wb.max_pool2d, 3: wb.max_pool3d}
_MEANS = {1: wb.avg_pool1d, 2: wb.avg_pool2d, 3: wb.avg_pool3d}
_SUMS = {1: wb.conv1d, 2: wb.conv2d, 3: wb.conv3d}


class _Windows:
    """Where the windows of a pool stand."""

    def __init__(
        self, x: Any, kernel: Any, strides: Any, dilations: Any, pads: Any, auto_pad: str, ceil_mode: int
    ) -> None:
        self.rank = x.dim() - 2
        if self.rank not in _SUMS:
            raise OnnxError(f"a pool of {x.dim()} dims is not here: of 3 to 5 dims are")
        sizes = list(x.shape[2:])
        self.kernel = each(kernel, self.rank, 1, "kernel_shape")
        self.strides = each(strides, self.rank, 1, "strides")
        self.dilations = each(dilations, self.rank, 1, "dilations")
        self.before, self.after = pads_of(sizes, self.kernel, self.strides, self.dilations, pads, auto_pad)
        self.beyond = [0] * self.rank
        """How far the last windows stand out, where sizes are rounded up."""
        for i, size in enumerate(sizes):
            if ceil_mode and auto_pad in ("NOTSET", "VALID"):
                there = size + self.before[i] + self.after[i]
                reach = (self.kernel[i] - 1) * self.dilations[i] + 1
                count = -(-(there - reach) // self.strides[i]) + 1
                # A window that would begin in the padding behind is none.
                if (count - 1) * self.strides[i] >= size + self.before[i]:
                    count -= 1
                self.beyond[i] = max((count - 1) * self.strides[i] + reach - there, 0)

    def plain(self) -> bool:
        """Say whether PyTorch's pools have them: next to one another, with as much around on all sides."""
        return (
            all(one == 1 for one in self.dilations)
            and not any(self.beyond)
            and list(self.before) == list(self.after)
            and all(2 * pad <= size for pad, size in zip(self.before, self.kernel, strict=True))
        )

    def padded(self, x: Any, value: Any) -> Any:
        """Return `x` with all that the windows see."""
        return padded(x, self.before, [a + b for a, b in zip(self.after, self.beyond, strict=True)], value)

    def totals(self, x: Any) -> Any:
        """Return the sum of each window of what is padded, in ops that say that they add up.

        A convolution with ones would be taken for a layer with weights when the model is explained.
        """
        if all(one == 1 for one in self.dilations):
            means = _MEANS[self.rank](x, tuple(self.kernel), tuple(self.strides))
            return means * float(math.prod(self.kernel))
        spans = [
            (size - (width - 1) * gap - 1) // step * step + 1
            for size, width, gap, step in zip(
                x.shape[2:], self.kernel, self.dilations, self.strides, strict=True
            )
        ]
        found: Any = None
        for place in itertools.product(*map(range, self.kernel)):
            starts = [at * gap for at, gap in zip(place, self.dilations, strict=True)]
            each_dim = zip(starts, spans, self.strides, strict=True)
            one = x[(slice(None), slice(None), *(slice(at, at + span, step) for at, span, step in each_dim))]
            found = one if found is None else found + one
        return found

    def counts(self, x: Any) -> Any:
        """Return how many ones there are in each window of what is padded, exactly."""
        n, c = x.shape[:2]
        ones = wb.ones([1, 1, *self.kernel], dtype=x.dtype)
        rows = x.reshape([n * c, 1, *x.shape[2:]])
        found = _SUMS[self.rank](rows, ones, None, stride=tuple(self.strides), dilation=tuple(self.dilations))
        return found.reshape([n, c, *found.shape[2:]])


@operator("MaxPool")
def _max_pool(
    x: Any, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
    pads: Any = None, storage_order: int = 0, strides: Any = None, outputs: int,
) -> Any:  # fmt: skip
    windows = _Windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    floating, kind = is_floating(x), x.dtype
    # Whole numbers of 8 bits are floats to the last: pools of those are fast.
    values = x if floating else x.float()
    if outputs == 1:
        return (_greatest(windows, values, False).to(kind),)
    found, places = _greatest(windows, values, True)
    return found.to(kind), _flat_places(windows, x, places, storage_order)


def _greatest(windows: _Windows, x: Any, places: bool) -> Any:
    return _GREATEST[windows.rank](
        windows.padded(x, -math.inf), tuple(windows.kernel), stride=tuple(windows.strides),
        dilation=tuple(windows.dilations), return_indices=places,
    )  # fmt: skip


def _flat_places(windows: _Windows, x: Any, places: Any, storage_order: int) -> Any:
    """Return places in what was padded as places in the whole of `x`."""
    sizes = list(x.shape[2:])
    whole = [size + windows.before[i] + windows.after[i] + windows.beyond[i] for i, size in enumerate(sizes)]
    coordinates = []
    for i in reversed(range(windows.rank)):
        coordinates.append(wb.remainder(places, whole[i]) - windows.before[i])
        places = wb.div(places, whole[i], rounding_mode="floor")
    coordinates.reverse()
    order = list(range(windows.rank)) if not storage_order else list(reversed(range(windows.rank)))
    found = wb.zeros_like(coordinates[0])
    for i in order:
        found = found * sizes[i] + coordinates[i]
    n, c = x.shape[:2]
    rows = (wb.arange(n * c) * math.prod(sizes)).reshape([n, c] + [1] * windows.rank)
    return found + rows


@operator("AveragePool", since=7)
def _average_pool(
    x: Any, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    windows = _Windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if windows.plain():
        return _MEANS[windows.rank](
            x, tuple(windows.kernel), tuple(windows.strides), tuple(windows.before),
            count_include_pad=bool(count_include_pad),
        )  # fmt: skip
    total = windows.totals(windows.padded(x, 0))
    ones = wb.ones([1, 1, *x.shape[2:]], dtype=x.dtype)
    if count_include_pad:
        ones = padded(ones, windows.before, windows.after, 1)
        counted = windows.counts(padded(ones, [0] * windows.rank, windows.beyond, 0))
    else:
        counted = windows.counts(windows.padded(ones, 0))
    return total / counted


@operator("LpPool", since=2)
def _lp_pool(
    x: Any, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None, p: int = 2,
    pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    windows = _Windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return windows.totals(windows.padded(wb.abs(x) ** p, 0)) ** (1 / p)


def _all(x: Any) -> tuple[int, ...]:
    return tuple(range(2, x.dim()))


@operator("GlobalAveragePool")
def _global_average_pool(x: Any) -> Any:
    return wb.mean(x, _all(x), keepdim=True)


@operator("GlobalMaxPool")
def _global_max_pool(x: Any) -> Any:
    return wb.amax(x, _all(x), keepdim=True)


@operator("GlobalLpPool", since=2)
def _global_lp_pool(x: Any, *, p: int = 2) -> Any:
    return wb.sum(wb.abs(x) ** p, _all(x), keepdim=True) ** (1 / p)


@operator("MaxUnpool", since=9, numbers=(2,))
def _max_unpool(
    x: Any, places: Any, shape: Any = None, *, kernel_shape: list[int], pads: Any = None, strides: Any = None
) -> Any:
    rank = x.dim() - 2
    strides, own = each(strides, rank, 1, "strides"), each(pads, 2 * rank, 0, "pads")
    sizes = [
        (size - 1) * strides[i] + kernel_shape[i] - own[i] - own[i + rank]
        for i, size in enumerate(x.shape[2:])
    ]
    base = [*x.shape[:2], *sizes]
    flat = wb.scatter(wb.zeros(math.prod(base), dtype=x.dtype), 0, places.reshape(-1), x.reshape(-1))
    found = flat.reshape(base)
    if shape is not None and list(shape) != base:
        # Places are those of the smaller image; the rest of the larger one is zero.
        found = padded(found, [0] * rank, [a - b for a, b in zip(list(shape)[2:], sizes, strict=True)], 0)
    return found
