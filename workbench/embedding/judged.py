"""Which points of a picture are judged, and among how many neighbours: each is compared with all, which takes time."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["count_judged", "judged", "neighbours_judged"]

Array = np.ndarray[Any, Any]

NEIGHBOURS = 10
"""Among how many nearest a picture is judged."""
ALL = 10_000
"""Up to so many points each is judged."""
SAMPLE = 2_000
"""Of more, so many are, each against all."""


def neighbours_judged(count: int) -> int:
    """Return among how many nearest a picture of `count` points is judged; 0 where they are too few to tell.

    >>> [neighbours_judged(count) for count in (2, 3, 60)]
    [0, 1, 10]
    """
    return max(0, min(NEIGHBOURS, (count - 1) // 2))


def count_judged(count: int) -> int:
    """Return how many of `count` points are judged.

    >>> count_judged(500), count_judged(70_000)
    (500, 2000)
    """
    return count if count <= ALL else SAMPLE


def judged(count: int) -> Array:
    """Return which of `count` points are judged, rising: all, or of many some, drawn evenly and always the same.

    >>> judged(4).tolist(), len(judged(20_000))
    ([0, 1, 2, 3], 2000)
    """
    if count_judged(count) == count:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, count_judged(count), replace=False))
