"""A histogram that grows with what it sees, and loses nothing when it does.

Where a batch goes beyond the ends, the range is doubled and neighbouring bins are added up: counts stay exact, where
resampling into other bins would guess. Doubling once to each side leaves a quarter of the bins in use or more, so there
are `SPARE` times as many as asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench import kernels

__all__ = ["ChannelExtremes", "RunningHistogram", "extremes", "row_extremes"]

Array = np.ndarray[Any, Any]

SPARE = 4

_ROW_EXTREMES = kernels.lookup("row_extremes")
_EXTREMES = kernels.lookup("min_max_nan_inf")
_HISTOGRAM = kernels.lookup("histogram_counts")
_OBSERVED = kernels.lookup("observed_histogram")


def extremes(array: Array) -> tuple[float, float, int, int]:
    """Return the least and the greatest finite value (NaN if there is none), and how many are NaN and infinite.

    >>> extremes(np.array([1.0, np.nan, -2.0, np.inf], np.float32))
    (-2.0, 1.0, 1, 1)
    """
    if _EXTREMES is not None and _EXTREMES.accepts(array):
        low, high, nan, inf = _EXTREMES.run(array)
        return float(low), float(high), int(nan), int(inf)
    if array.size == 0:
        return math.nan, math.nan, 0, 0
    low, high = float(array.min()), float(array.max())
    # The usual case, without a mask: a minimum over NaN is NaN.
    if math.isfinite(low) and math.isfinite(high):
        return low, high, 0, 0
    finite = array[np.isfinite(array)]
    nan = int(np.isnan(array).sum())
    inf = int(array.size - finite.size - nan)
    if finite.size == 0:
        return math.nan, math.nan, nan, inf
    return float(finite.min()), float(finite.max()), nan, inf


def row_extremes(rows: Array) -> tuple[Array, Array, int, int]:
    """Return least and greatest finite value of each row, ∞ and -∞ where there is none; how many are NaN and infinite.

    >>> low, high, nan, inf = row_extremes(np.array([[1.0, np.nan], [2.0, -3.0]], np.float32))
    >>> low.tolist(), high.tolist(), nan, inf
    ([1.0, -3.0], [1.0, 2.0], 1, 0)
    """
    if _ROW_EXTREMES is not None and _ROW_EXTREMES.accepts(rows):
        low, high, nan, inf = _ROW_EXTREMES.run(rows)
        return low, high, int(nan), int(inf)
    low, high = rows.min(axis=1, initial=np.inf), rows.max(axis=1, initial=-np.inf)
    # The usual case, without a mask: a minimum over NaN is NaN.
    if np.isfinite(low).all() and np.isfinite(high).all():
        return low, high, 0, 0
    finite = np.isfinite(rows)
    nan = int(np.isnan(rows).sum())
    low = rows.min(axis=1, where=finite, initial=np.inf)
    high = rows.max(axis=1, where=finite, initial=-np.inf)
    return low, high, nan, int(rows.size - np.count_nonzero(finite)) - nan


def _count(array: Array, low: float, high: float, bins: int) -> Array:
    """How many values fall into each of `bins` equal bins of [low, high]; what is not finite falls into none."""
    if _HISTOGRAM is not None and _HISTOGRAM.accepts(array):
        counts: Array = _HISTOGRAM.run(array, low, high, bins)
        return counts
    values = array.ravel()
    values = values[np.isfinite(values)]
    places = ((values.astype(np.float64) - low) * (bins / (high - low))).astype(np.int64)
    # The greatest value lies on the last edge, which is of no bin.
    return np.bincount(np.clip(places, 0, bins - 1), minlength=bins)


def _around(value: float) -> float:
    """Half the range that a single value gets."""
    return max(abs(value) * 2.0**-8, 2.0**-20)


class RunningHistogram:
    """Counts of values in equal bins over [edges[0], edges[1]]; both arrays are the caller's, and changed in place.

    >>> found = RunningHistogram.of(16)
    >>> found.add(np.array([0.0, 1.0, 2.0]), 0.0, 2.0)
    >>> found.add(np.array([3.0, np.nan]), 3.0, 3.0)
    >>> found.total, found.edges.tolist()
    (4, [0.0, 4.0])
    """

    __slots__ = ("counts", "edges")

    def __init__(self, counts: Array, edges: Array) -> None:
        self.counts = counts
        self.edges = edges

    @classmethod
    def of(cls, bins: int) -> RunningHistogram:
        """Return an empty histogram of so many bins, an even number."""
        return cls(np.zeros(bins, np.int64), np.zeros(2, np.float64))

    @property
    def total(self) -> int:
        """Number of values counted."""
        return int(self.counts.sum())

    @property
    def empty(self) -> bool:
        """True before the first value."""
        return not self.edges[1] > self.edges[0]

    def observe(self, array: Array) -> tuple[float, float, int, int]:
        """Count the finite values of `array`; return what `extremes` says of it.

        >>> found = RunningHistogram.of(16)
        >>> found.observe(np.array([3.0, np.nan, 0.5]))
        (0.5, 3.0, 1, 0)
        >>> found.total
        2
        """
        # Mostly they lie where others did: then one look at the memory does.
        if _OBSERVED is not None and not self.empty and _OBSERVED.accepts(array):
            low, high, nan, inf, counts = _OBSERVED.run(
                array, float(self.edges[0]), float(self.edges[1]), len(self.counts)
            )
            if counts is None:
                self.add(array, low, high)
            else:
                self.counts += counts
            return low, high, nan, inf
        seen = extremes(array)
        if not math.isnan(seen[0]):
            self.add(array, seen[0], seen[1])
        return seen

    def add(self, array: Array, low: float, high: float) -> None:
        """Count the finite values of `array`, of which `low` and `high` are the least and the greatest."""
        if self.empty:
            self.edges[:] = low, high
            # A single value gets a range around it, so that there is a width to double.
            if not high > low:
                half = _around(low)
                self.edges[:] = low - half, low + half
        else:
            self.grow(low, high)
        self.counts += _count(array, float(self.edges[0]), float(self.edges[1]), len(self.counts))

    def grow(self, low: float, high: float) -> None:
        """Double the range until `low` and `high` lie in it."""
        half = len(self.counts) // 2
        while high > self.edges[1] or low < self.edges[0]:
            # Two bins become one, so that counts stay exact.
            merged = self.counts.reshape(half, 2).sum(axis=1)
            width = self.edges[1] - self.edges[0]
            upward = bool(high > self.edges[1])
            self.counts[:] = 0
            if upward:
                self.counts[:half] = merged
                self.edges[1] += width
            else:
                self.counts[half:] = merged
                self.edges[0] -= width

    def spread(self, counts: Array, low: float, high: float) -> None:
        """Take the counts of other bins over [low, high] in place of these: those of one bin are spread over it evenly.

        Where there is no range, as before the first value, nothing is taken.

        >>> found = RunningHistogram.of(4)
        >>> found.spread(np.array([2.0, 6.0]), 0.0, 1.0)
        >>> found.counts.tolist()
        [1, 1, 3, 3]
        """
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            return
        ends = np.linspace(0, 1, len(counts) + 1)
        below = np.concatenate([[0.0], np.cumsum(counts)])
        self.edges[:] = low, high
        if high > low:
            places = np.linspace(0, 1, len(self.counts) + 1)
            self.counts[:] = np.diff(np.rint(np.interp(places, ends, below)))
            return
        # A single value gets a range around it, as when it is counted.
        half = _around(low)
        self.edges[:] = low - half, low + half
        self.counts[len(self.counts) // 2] = round(float(below[-1]))

    def used(self) -> tuple[Array, float, float]:
        """Return the counts from the first bin in use to the last, and the ends of these bins."""
        places = np.flatnonzero(self.counts)
        if places.size == 0:
            return self.counts[:0].copy(), 0.0, 0.0
        first, last = int(places[0]), int(places[-1]) + 1
        low, high = float(self.edges[0]), float(self.edges[1])
        width = (high - low) / len(self.counts)
        # Copied, for counting goes on.
        return self.counts[first:last].copy(), low + first * width, low + last * width


class ChannelExtremes:
    """The ends of each channel of what flows by, looked at now and then: a few samples, some times a second.

    >>> found = ChannelExtremes()
    >>> found.look(np.array([[0.0, 5.0], [1.0, 7.0]]), ("N", "C"))
    >>> found.name, found.low.tolist(), found.high.tolist()
    ('C', [0.0, 5.0], [1.0, 7.0])
    """

    SAMPLES = 4
    """Samples of a batch that are looked at."""
    INTERVAL = 0.5
    """Least time between two looks, in seconds."""
    __slots__ = ("_next", "high", "low", "name")

    def __init__(self) -> None:
        self.name: str | None = None
        self.low: Array = np.zeros(0)
        self.high: Array = np.zeros(0)
        self._next = 0.0

    def look(self, array: Array, names: Sequence[str | None]) -> None:
        """Widen the range of each channel by a part of `array`, if it is time to."""
        now = time.monotonic()
        if array.ndim < 2 or now < self._next:
            return
        self._next = now + self.INTERVAL
        # Without names, where PyTorch has channels.
        axis = names.index("C") if "C" in names else 1
        part = array[: self.SAMPLES]
        others = tuple(i for i in range(array.ndim) if i != axis)
        finite = np.isfinite(part)
        low = np.where(finite, part, np.inf).min(axis=others, initial=np.inf)
        high = np.where(finite, part, -np.inf).max(axis=others, initial=-np.inf)
        # Other channels than before begin anew.
        if self.low.shape == low.shape:
            low, high = np.minimum(self.low, low), np.maximum(self.high, high)
        self.name, self.low, self.high = names[axis], low, high
