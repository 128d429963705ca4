"""How many points lie where: for clouds of more points than can be drawn one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.embedding.vectors import is_whole

__all__ = ["Density", "density"]

Array = np.ndarray[Any, Any]

CHUNK = 1 << 20
"""Points that are counted at a time."""
MOST = 1 << 24
"""Most cells of a grid."""


class Density(NamedTuple):
    """Points counted in the cells of a grid."""

    counts: Array
    """int64 [bins] * dims, the first axis first."""
    low: Array
    """float64 [dims]: where the first cell begins."""
    high: Array
    """float64 [dims]: where the last one ends."""
    counted: int
    """How many points lie in it; the others are missing, or outside."""


def density(positions: Any, bins: int = 256, *, within: Any = None) -> Density:
    """Return how many of `positions` [N, 2 or 3] lie in each cell of a grid of `bins` a dim; NaN is nowhere.

    The grid reaches from the least to the greatest position, or is that of `within`: [dims, 2], low and high of each
    axis. Each point is looked at once and no copy is made of all.

    Raises ValueError where positions are not [N, 2] or [N, 3], the grid has no cells or more than 16 million, or
    `within` is no box; TypeError where positions are no numbers, or bins no whole number.

    >>> density(np.array([[0.0, 0.0], [0.9, 0.1], [1.0, 1.0]]), 2).counts.tolist()
    [[1, 0], [1, 1]]
    """
    array = np.asarray(positions)
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise ValueError(f"density: positions are [N, 2] or [N, 3], got {list(array.shape)}")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"density: positions are numbers, got {array.dtype.name}")
    if not is_whole(bins):
        raise TypeError(f"density: bins is a whole number of cells a dim, got {bins!r}")
    dims = array.shape[1]
    if not 1 <= bins or bins**dims > MOST:
        raise ValueError(f"density: a grid of {bins} cells a dim has {bins**dims:,}; it has 1 to {MOST:,}")
    if within is None:
        least = np.nanmin(array, axis=0) if len(array) else np.zeros(dims)
        greatest = np.nanmax(array, axis=0) if len(array) else np.zeros(dims)
        box = np.nan_to_num(np.stack([least, greatest], axis=1).astype(np.float64))
    else:
        box = np.asarray(within, np.float64)
    if box.shape != (dims, 2) or not np.isfinite(box).all() or (box[:, 0] > box[:, 1]).any():
        raise ValueError(f"density: within is low and high of each of {dims} axes, got {box.tolist()}")
    low, high = box[:, 0], box[:, 1]
    per_unit = np.where(high > low, bins / np.where(high > low, high - low, 1), 0)
    counts = np.zeros(bins**dims, np.int64)
    for start in range(0, len(array), CHUNK):
        part = array[start : start + CHUNK].astype(np.float64)
        inside = ((part >= low) & (part <= high)).all(axis=1)
        # The greatest belongs to the last cell.
        cells = np.minimum(((part[inside] - low) * per_unit).astype(np.int64), bins - 1)
        counts += np.bincount(np.ravel_multi_index(tuple(cells.T), (bins,) * dims), minlength=len(counts))
    return Density(counts.reshape((bins,) * dims), low, high, int(counts.sum()))
