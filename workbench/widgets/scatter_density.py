"""Clouds that are too large to travel: how densely points lie, and the points themselves of a part of the cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from workbench.live.messages import LookCloserEvent
from workbench.live.model import Refused

__all__ = ["MOST_CELLS", "Cells", "Part", "bounds_of", "cells_of", "part_bounds", "part_of", "points_within"]

Array = np.ndarray[Any, Any]

MOST_CELLS = 400_000
"""Most cells that travel."""

SIDES = {2: (1024, 724, 512, 362, 256, 128), 3: (128, 101, 80, 64, 50, 32)}
"""Into how many cells each axis is cut, by the dims: the first that gives no more than `MOST_CELLS`."""

MOST_LABELS = 16
"""With more labels, cells are of all labels together."""

BLOCK = 1 << 15
"""How many points are looked at at a time."""


class Cells(NamedTuple):
    """Points gathered into cells, each of one label."""

    positions: Array
    """float32 [n, dims]: the middles of the cells"""
    weights: Array
    """uint32 [n]: how many points a cell has"""
    codes: Array | None
    """The label of each cell; None where a cell is of all labels together."""
    side: int
    """Into how many cells each axis was cut."""


def bounds_of(positions: Array) -> tuple[list[float], list[float]]:
    """Return the least and the greatest finite coordinate along each axis; 0 where none is finite."""
    dims = positions.shape[1]
    low, high = np.full(dims, np.inf), np.full(dims, -np.inf)
    for block in _blocks(positions):
        least, most = block.min(axis=1), block.max(axis=1)
        # Most blocks are finite all over, which the two ends tell without another look.
        if not (np.isfinite(least) & np.isfinite(most)).all():
            finite = np.isfinite(block)
            least = block.min(axis=1, where=finite, initial=np.inf)
            most = block.max(axis=1, where=finite, initial=-np.inf)
        np.minimum(low, least, out=low)
        np.maximum(high, most, out=high)
    empty = high < low
    return np.where(empty, 0.0, low).tolist(), np.where(empty, 0.0, high).tolist()


def _blocks(positions: Array) -> Iterator[Array]:
    """Yield blocks of points as [dims, n], each axis in one piece, small enough for a core to keep at hand."""
    for start in range(0, len(positions), BLOCK):
        yield np.ascontiguousarray(positions[start : start + BLOCK].T)


def points_within(positions: Array, low: list[float], high: list[float]) -> Array:
    """Return the numbers of the points between `low` and `high`, these included, ascending."""
    found = [np.zeros(0, np.intp)]
    for start, block in zip(range(0, len(positions), BLOCK), _blocks(positions), strict=True):
        found.append(np.flatnonzero(_kept(block, low, high)) + start)
    return np.concatenate(found)


def _kept(block: Array, low: list[float], high: list[float]) -> Array:
    """Return which points [dims, n] lie between bounds; what is not finite compares with nothing."""
    kept = np.ones(block.shape[1], bool)
    for column, least, most in zip(block, low, high, strict=True):
        kept &= (column >= np.float32(least)) & (column <= np.float32(most))
    return kept


def cells_of(
    positions: Array,
    codes: Array | None,
    labels: int,
    low: list[float],
    high: list[float],
    most: int = MOST_CELLS,
) -> Cells:
    """Gather the points between `low` and `high` into cells of equal sides, one a label in each (of few labels).

    Every point is counted: the weights add up to the points that lie between the bounds. Where the finest cut gives
    more than `most` cells the next coarser is taken.

    >>> points = np.array([[0, 0], [0, 1e-6], [1, 1]], np.float32)
    >>> cells_of(points, None, 0, [0, 0], [1, 1]).weights.tolist()
    [2, 1]
    """
    dims = positions.shape[1]
    groups = labels if codes is not None and 0 < labels <= MOST_LABELS else 1
    for side in SIDES[dims]:
        keys = _keys(positions, codes, groups, low, high, side)
        # The first counts what lies outside.
        weights = np.bincount(keys, minlength=side**dims * groups + 1)[1:]
        filled = np.flatnonzero(weights)
        if len(filled) <= most or side == SIDES[dims][-1]:
            break
    cell = filled // groups
    middles = np.empty((len(filled), dims), np.float32)
    for axis in reversed(range(dims)):
        cell, step = np.divmod(cell, side)
        middles[:, axis] = low[axis] + (step + 0.5) * ((high[axis] - low[axis]) / side)
    codes = filled % groups if groups > 1 else None
    return Cells(middles, weights[filled].astype(np.uint32), codes, side)


def _keys(
    positions: Array, codes: Array | None, groups: int, low: list[float], high: list[float], side: int
) -> Array:
    """Return the cell of each point, counted from 1; 0 where it lies outside of the bounds."""
    keys = np.empty(len(positions), np.intp)
    for start, block in zip(range(0, len(positions), BLOCK), _blocks(positions), strict=True):
        kept = _kept(block, low, high)
        key = np.zeros(block.shape[1], np.int32)
        for column, least, most in zip(block, low, high, strict=True):
            scale = np.float32(side / (most - least) if most > least else 0.0)
            steps = np.where(kept, column - np.float32(least), np.float32(0)) * scale
            key *= side
            key += np.minimum(steps.astype(np.int32), side - 1)
        if groups > 1 and codes is not None:
            key *= groups
            key += codes[start : start + BLOCK].astype(np.int32)
        key += 1
        key *= kept
        keys[start : start + BLOCK] = key
    return keys


class Part(NamedTuple):
    """What of a large cloud is drawn."""

    positions: Array
    codes: Array | None
    low: list[float]
    high: list[float]
    inside: int
    """How many points lie between the bounds."""
    numbers: Array | None
    """The numbers of the points that are drawn; None where cells are."""
    weights: Array | None
    """How many points each cell has; None where points are drawn."""
    cell: list[float]
    """The sides of a cell."""


def part_of(
    positions: Array, codes: Array | None, labels: int, low: list[float], high: list[float], room: int
) -> Part:
    """Return the points between bounds where they are no more than `room`, else the cells that they lie in."""
    numbers = points_within(positions, low, high)
    if len(numbers) <= room:
        some = None if codes is None else codes[numbers]
        return Part(positions[numbers], some, low, high, len(numbers), numbers, None, [])
    cells = cells_of(positions, codes, labels, low, high)
    sides = [(most - least) / cells.side for least, most in zip(low, high, strict=True)]
    return Part(cells.positions, cells.codes, low, high, len(numbers), None, cells.weights, sides)


def part_bounds(
    event: LookCloserEvent, low: list[float], high: list[float]
) -> tuple[list[float], list[float]]:
    """Return the bounds that a page asks for, within those of the whole cloud.

    Raises:
        Refused: they are not two for each dim, or the first is not below the second.
    """
    if not event.low and not event.high:
        return low, high
    if not len(event.low) == len(event.high) == len(low):
        raise Refused(
            f"a closer look has a least and a greatest coordinate for each of {len(low)} dims, "
            f"got {len(event.low)} and {len(event.high)}"
        )
    least = [max(one, whole) for one, whole in zip(event.low, low, strict=True)]
    most = [min(one, whole) for one, whole in zip(event.high, high, strict=True)]
    if any(one > other for one, other in zip(least, most, strict=True)):
        raise Refused("there is nothing to look at: the part that was asked for lies outside of the cloud")
    return least, most
