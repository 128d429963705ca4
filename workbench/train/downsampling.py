"""Numbers of a growing list, kept so small that a picture of a million of them costs what one of a thousand does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Peak", "Peaks", "Series"]

Array = np.ndarray[Any, np.dtype[Any]]

STRETCHES = 512
"""Most stretches that a series is kept as."""


class Series:
    """Least, greatest and mean value of equal stretches of a list: its extremes stay, however long it gets.

    `follow` looks only at what the list has gained. Where the list outgrows `most` stretches, two become one.

    >>> series = Series(most=2)
    >>> series.follow([0.0, 9.0, 1.0, 2.0, 3.0, -4.0], 6)
    >>> series.points()
    ([0, 1, 4, 5], [0.0, 9.0, 3.0, -4.0])
    >>> series.means()
    ([3, 5], [3.0, -0.5], [4, 2])
    """

    def __init__(self, most: int = STRETCHES) -> None:
        self.most = most
        self.missing = 0
        """How many values are not finite."""
        self._source: Sequence[float] | None = None
        self._begin()

    def _begin(self) -> None:
        self._count = 0
        self._length = 1
        self._whole = _Stretches.of(np.empty((0, 1)), 0)
        self._tail = self._whole
        self.missing = 0

    def follow(self, values: Sequence[float], count: int) -> None:
        """Take in the first `count` of `values`; begin anew where they are another list, or have become fewer."""
        # By identity, which costs nothing; a history that was loaded has new lists.
        if values is not self._source or count < self._count:
            self._source = values
            self._begin()
        while count > self._length * self.most:
            self._whole = self._whole.joined()
            self._length *= 2
        start = len(self._whole.low) * self._length
        new = np.asarray(values[start:count], np.float64)
        # What was in the tail before has been counted.
        fresh = new[max(0, self._count - start) :]
        self.missing += int(fresh.size - np.isfinite(fresh).sum())
        whole = new.size // self._length * self._length
        self._whole = self._whole.with_more(_Stretches.of(new[:whole].reshape(-1, self._length), start))
        rest = new[whole:]
        self._tail = _Stretches.of(
            rest.reshape(-1, rest.size) if rest.size else rest.reshape(0, 1), start + whole
        )
        self._count = count

    def points(self) -> tuple[list[int], list[float | None]]:
        """Return positions and values that draw the list: the least and greatest of each stretch, and the last one."""
        if self._source is None or not self._count:
            return [], []
        both = [self._whole.low_at, self._whole.high_at, self._tail.low_at, self._tail.high_at]
        places = np.unique(np.concatenate([*both, [self._count - 1]]))
        source = self._source
        return places.tolist(), [_plain(source[place]) for place in places.tolist()]

    def means(self) -> tuple[list[int], list[float | None], list[int]]:
        """Return of each stretch its last position, the mean of its finite values, and how many values it has."""
        ends = np.arange(1, len(self._whole.low) + 1) * self._length - 1
        counts = np.full(len(ends), self._length)
        # The last stretch may be under way, and is shorter.
        if len(self._tail.low):
            ends = np.append(ends, self._count - 1)
            counts = np.append(counts, self._count - len(self._whole.low) * self._length)
        totals = np.concatenate([self._whole.total, self._tail.total])
        finite = np.concatenate([self._whole.finite, self._tail.finite])
        values = [
            total / number if number else None
            for total, number in zip(totals.tolist(), finite.tolist(), strict=True)
        ]
        return ends.tolist(), values, counts.tolist()


@dataclass(frozen=True)
class _Stretches:
    """Some stretches of equal length, one after the other."""

    low: Array
    high: Array
    low_at: Array
    high_at: Array
    total: Array
    finite: Array

    @classmethod
    def of(cls, rows: Array, start: int) -> _Stretches:
        """Summarise `rows`, a stretch each; the first value is at position `start`."""
        known = np.isfinite(rows)
        # Infinite the other way: such a place is never the lowest nor the highest.
        low, high = np.where(known, rows, np.inf), np.where(known, rows, -np.inf)
        if not len(rows):
            none = np.empty(0, np.int64)
            return cls(np.empty(0), np.empty(0), none, none, np.empty(0), none)
        begins = start + np.arange(len(rows)) * rows.shape[1]
        return cls(
            low.min(axis=1), high.max(axis=1), begins + low.argmin(axis=1), begins + high.argmax(axis=1),
            np.where(known, rows, 0.0).sum(axis=1), known.sum(axis=1),
        )  # fmt: skip

    def joined(self) -> _Stretches:
        """Return stretches twice as long; one that is left over goes."""
        # The values of one that is left over are read again: `follow` goes on where these end.
        a, b = slice(0, len(self.low) // 2 * 2, 2), slice(1, len(self.low) // 2 * 2, 2)
        first_low, first_high = self.low[a] <= self.low[b], self.high[a] >= self.high[b]
        return _Stretches(
            np.minimum(self.low[a], self.low[b]),
            np.maximum(self.high[a], self.high[b]),
            np.where(first_low, self.low_at[a], self.low_at[b]),
            np.where(first_high, self.high_at[a], self.high_at[b]),
            self.total[a] + self.total[b],
            self.finite[a] + self.finite[b],
        )

    def with_more(self, more: _Stretches) -> _Stretches:
        """Return these stretches and `more` behind them."""
        if not len(more.low):
            return self
        return _Stretches(*(np.concatenate([getattr(self, name), getattr(more, name)]) for name in _FIELDS))


_FIELDS = ("low", "high", "low_at", "high_at", "total", "finite")


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# ------------------------------------------------------------------------------------------- what stands out


WINDOW = 50
"""Values before one that say what is usual there."""
FEWEST = 10
"""A value with fewer before it is not judged."""
WORTH = 8.0
"""How many times the usual spread makes a peak."""
LEAST = 0.02
"""Spread that is taken to be usual at least, as a part of the usual value."""
AT_ONCE = 50_000
"""Most values that one look judges; the others wait for the next."""


@dataclass(frozen=True)
class Peak:
    """A value far above those before it."""

    position: int
    value: float
    usual: float
    """The median of the values before it."""


class Peaks:
    """The values of a growing list that are over the median of the 50 before them by 8 times their usual spread.

    The `most` that stand out farthest are kept.

    >>> peaks = Peaks()
    >>> peaks.follow([1.0, 1.1] * 20 + [9.0] + [1.0] * 5, 46)
    True
    >>> [(one.position, one.value, one.usual) for one in peaks.found]
    [(40, 9.0, 1.05)]
    """

    def __init__(self, most: int = 20) -> None:
        self.most = most
        self.found: list[Peak] = []
        """In their order in the list."""
        self._source: Sequence[float] | None = None
        self._judged = 0

    def follow(self, values: Sequence[float], count: int) -> bool:
        """Judge what the first `count` of `values` have gained; return False where that was too much for one look."""
        if values is not self._source or count < self._judged:
            self._source, self._judged, self.found = values, 0, []
        stop = min(count, self._judged + AT_ONCE)
        begin = max(0, self._judged - WINDOW)
        array = np.asarray(values[begin:stop], np.float64)
        ranked = [*self.found, *_standing_out(array, self._judged - begin, begin)]
        ranked.sort(key=lambda one: -_distance(one))
        self.found = sorted(ranked[: self.most], key=lambda one: one.position)
        self._judged = stop
        return stop == count


def _distance(peak: Peak) -> float:
    return (peak.value - peak.usual) / (abs(peak.usual) or 1e-12)


def _standing_out(array: Array, first: int, offset: int) -> list[Peak]:
    """Return the peaks of `array` from position `first` on; `offset` is added to their positions."""
    first = max(first, FEWEST)
    if first >= len(array):
        return []
    # A peak lies this far above half of the values before it, which is told faster than a median is found.
    floor = array + WORTH * LEAST * np.abs(array)
    above, known = np.zeros(len(array) - first, np.int64), np.zeros(len(array) - first, np.int64)
    for back in range(1, WINDOW + 1):
        skip = max(0, back - first)
        if skip >= len(above):
            break
        above[skip:] += array[first + skip :] > floor[first + skip - back : len(array) - back]
        known[skip:] += 1
    places = first + np.flatnonzero(2 * above >= known)
    found = []
    # In groups, since each place takes 50 values along, which for all at once would be much memory.
    for group in (*(places[places < WINDOW, None]), *np.array_split(places[places >= WINDOW], 16)):
        found += _judge(array, group, offset)
    return found


def _judge(array: Array, places: Array, offset: int) -> list[Peak]:
    """Return those of `places` that are peaks; all have as many values before them that count."""
    if not len(places):
        return []
    width = min(WINDOW, int(places[0]))
    before = array[places[:, None] - width + np.arange(width)]
    middles = np.median(before, axis=1)
    spreads = np.median(np.abs(before - middles[:, None]), axis=1)
    least = np.maximum(spreads, np.maximum(LEAST * np.abs(middles), 1e-12))
    peaks = np.flatnonzero(np.isfinite(array[places]) & (array[places] > middles + WORTH * least))
    return [Peak(offset + int(places[i]), float(array[places[i]]), float(middles[i])) for i in peaks]
