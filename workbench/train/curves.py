"""Curves made ready to be drawn: smoothed, thinned out without losing peaks, and their spikes found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from workbench.train.downsampling import Peaks

__all__ = ["smooth", "spikes", "thin"]


def thin(values: Sequence[float], most: int = 400) -> list[int]:
    """Return the positions of at most `most` values that draw the same curve: the least and greatest of each stretch.

    >>> thin([0, 9, 1, 2, 3, 4, -9, 5], most=4)
    [0, 1, 6, 7]
    """
    count = len(values)
    if count <= most:
        return list(range(count))
    borders = np.linspace(0, count, max(most // 2, 1) + 1).astype(int)
    array = np.asarray(values, np.float64)
    chosen: set[int] = set()
    for start, stop in pairwise(borders):
        part = array[start:stop]
        # A stretch without a finite value has neither; the curve has a gap there.
        if np.isfinite(part).any():
            chosen |= {int(start + np.nanargmin(part)), int(start + np.nanargmax(part))}
    return sorted(chosen)


def smooth(values: Sequence[float], weight: float = 0.9) -> list[float]:
    """Return the exponential moving average, corrected for its start; values that are not finite are passed over.

    >>> smooth([1.0, 1.0, 1.0])
    [1.0, 1.0, 1.0]
    """
    total, mass = 0.0, 0.0
    result = []
    for value in values:
        if math.isfinite(value):
            total, mass = weight * total + (1 - weight) * value, weight * mass + (1 - weight)
        result.append(total / mass if mass else math.nan)
    # Rounded, so that the average of equal values is that value.
    return [round(one, 12) for one in result]


def spikes(values: Sequence[float], most: int = 20) -> list[int]:
    """Return the positions of values far above those before them: over the median by 8 times the usual spread.

    >>> spikes([1.0, 1.1] * 20 + [9.0] + [1.0] * 5)
    [40]
    """
    peaks = Peaks(most)
    while not peaks.follow(values, len(values)):
        pass
    return [one.position for one in peaks.found]
