"""Windows that slide over the inputs, and inputs with one window covered."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.base.errors import DimensionError

__all__ = ["Windows", "usual_windows", "windows_of"]

Array = np.ndarray[Any, Any]
Place = tuple[slice, ...]


@dataclass(frozen=True)
class Windows:
    """All places of the windows of one question, input after input."""

    question: Question
    places: tuple[tuple[int, Place], ...]
    """Number of the input, and where in a sample of it the window is."""

    @property
    def count(self) -> int:
        """Number of windows."""
        return len(self.places)

    def without(self, windows: Array, samples: Array) -> list[Array]:
        """Return the inputs of `samples` where row i has the baseline in window ``windows[i]``."""
        question = self.question
        rows = [one.payload[samples] for one in question.inputs]
        starts = [np.broadcast_to(one, (len(one), *value.shape[1:])) for one, value in
                  zip(question.baselines, question.inputs, strict=True)]  # fmt: skip
        for row, (window, sample) in enumerate(zip(windows.tolist(), samples.tolist(), strict=True)):
            which, place = self.places[window]
            start = starts[which]
            rows[which][(row, *place)] = start[(sample if len(start) > 1 else 0, *place)]
        return rows

    def averaged(self, values: Array) -> list[Array]:
        """Return for each value of the inputs the mean of `values` [windows, outputs] over the windows that cover it.

        One float64 array [outputs, *sizes] an input; NaN where no window was reached.
        """
        reached = ~np.isnan(values).any(axis=1)
        totals = [np.zeros((values.shape[1], *one.shape[1:])) for one in self.question.inputs]
        counts = [np.zeros(one.shape[1:]) for one in self.question.inputs]
        for window in np.flatnonzero(reached):
            which, place = self.places[window]
            each = values[window].reshape(-1, *(1,) * len(place))
            totals[which][(slice(None), *place)] += each
            counts[which][place] += 1
        with np.errstate(invalid="ignore"):
            return [total / count for total, count in zip(totals, counts, strict=True)]


USUAL_SHARE = 8
"""Usual windows are this share of a dim, and half of that apart."""


def usual_windows(question: Question) -> tuple[Any, Any]:
    """Return window shapes and strides for who says nothing: an eighth of each dim, across all channels of images."""
    shapes, strides = [], []
    for value in question.inputs:
        sizes = value.shape[1:]
        window = [max(1, math.ceil(size / USUAL_SHARE)) for size in sizes]
        if len(sizes) > 2:
            window[0] = sizes[0]
        shapes.append(tuple(window))
        strides.append(tuple(max(1, one // 2) for one in window))
    return tuple(shapes), tuple(strides)


def windows_of(question: Question, sliding_window_shapes: Any, strides: Any) -> Windows:
    """Return the places of windows of those shapes, a stride apart, the last at the end of each dim.

    Raises:
        DimensionError: there is not one shape and one stride an input, one size a dim, or a window is larger than
            its input or its stride larger than the window, which would leave places out.
    """
    shapes = _shapes(question, sliding_window_shapes)
    steps = _strides(question, strides)
    places: list[tuple[int, Place]] = []
    for which, (value, shape, step) in enumerate(zip(question.inputs, shapes, steps, strict=True)):
        _check(question, which, shape, step)
        starts = [
            _starts(size, window, one) for size, window, one in zip(value.shape[1:], shape, step, strict=True)
        ]
        # The first dim goes fastest: the order in which an interrupted run has covered them.
        for corner in itertools.product(*reversed(starts)):
            pairs = zip(reversed(corner), shape, value.shape[1:], strict=True)
            places.append(
                (which, tuple(slice(start, min(start + window, size)) for start, window, size in pairs))
            )
    return Windows(question, tuple(places))


def _starts(size: int, window: int, stride: int) -> list[int]:
    # The last window is cut at the end of the dim, where the strides do not come out even.
    return [one * stride for one in range(math.ceil((size - window) / stride) + 1)]


def _shapes(question: Question, given: Any) -> list[tuple[int, ...]]:
    shapes: Any = given
    if isinstance(given, tuple) and given and isinstance(given[0], int):
        shapes = (given,)
    if isinstance(given, dict):
        shapes = tuple(_named(question, which, given) for which in range(len(question.inputs)))
    if given == ():
        shapes = ((),)
    if not isinstance(shapes, tuple) or len(shapes) != len(question.inputs):
        raise DimensionError(
            f"sliding_window_shapes={given!r} is not one tuple of sizes for each of {len(question.inputs)} inputs",
            op=question.method,
        )
    for which, (shape, value) in enumerate(zip(shapes, question.inputs, strict=True)):
        if not isinstance(shape, tuple) or len(shape) != value.ndim - 1:
            raise DimensionError(
                f"the window of input {which} is {shape!r}: it has one size for each of the {value.ndim - 1} dims of a "
                f"sample, whose shape is {list(value.shape[1:])}",
                op=question.method,
                fix=f"sliding_window_shapes={tuple(min(3, size) for size in value.shape[1:])}",
            )
    return list(shapes)


def _named(question: Question, which: int, sizes: dict[Any, int]) -> tuple[int, ...]:
    """Return a window by names of dims; a dim that is not named is covered whole."""
    value = question.inputs[which]
    known = {name for one in question.inputs for name in one.names[1:] if name}
    for name in sizes:
        if name not in known:
            raise DimensionError(
                f"sliding_window_shapes names a dim {name!r}, which no input has; names are {', '.join(sorted(known))}",
                op=question.method,
            )
    return tuple(sizes.get(name, size) for name, size in zip(value.names[1:], value.shape[1:], strict=True))


def _strides(question: Question, given: Any) -> list[tuple[int, ...]]:
    inputs = question.inputs
    strides: Any = given
    if strides is None:
        strides = (1,) * len(inputs)
    elif isinstance(strides, dict):
        strides = tuple(tuple(given.get(name, 1) for name in value.names[1:]) for value in inputs)
    elif len(inputs) == 1 and not (isinstance(strides, tuple) and len(strides) == 1):
        strides = (strides,)
    if not isinstance(strides, tuple) or len(strides) != len(inputs):
        raise DimensionError(
            f"strides={given!r} is not one stride, or tuple of strides, for each of {len(inputs)} inputs",
            op=question.method,
        )
    found = []
    for which, (stride, value) in enumerate(zip(strides, inputs, strict=True)):
        one = (stride,) * (value.ndim - 1) if isinstance(stride, int) else stride
        if not isinstance(one, tuple) or len(one) != value.ndim - 1:
            raise DimensionError(
                f"the strides of input {which} are {stride!r}: they are one number, or one for each of the "
                f"{value.ndim - 1} dims of a sample, whose shape is {list(value.shape[1:])}",
                op=question.method,
            )
        found.append(one)
    return found


def _check(question: Question, which: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    value = question.inputs[which]
    sizes: Any = zip(shape, strides, value.shape[1:], strict=True)  # whatever the caller gave
    for axis, (window, stride, size) in enumerate(sizes):
        dim = value.names[axis + 1] or f"dim {axis + 1}"
        if not all(
            isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in (window, stride)
        ):
            raise DimensionError(
                f"windows and strides are whole numbers from 1, got {window!r} and {stride!r} for {dim} of input "
                f"{which}",
                op=question.method,
            )
        if window > size:
            raise DimensionError(
                f"a window of {window} is larger than {dim} of input {which}, which has {size}",
                op=question.method,
            )
        if window < size and stride > window:
            raise DimensionError(
                f"a stride of {stride} is larger than the window of {window} along {dim} of input {which}: values "
                "between two windows would be left out",
                op=question.method,
                fix=f"a stride of at most {window}",
            )
