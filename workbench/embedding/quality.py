"""How far a picture of points can be trusted: whether neighbours in it are neighbours, and whether all are there.

Source: Venna, Kaski: Neighborhood preservation in nonlinear projection methods (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import DimensionError
from workbench.embedding.all_neighbours import BLOCK, all_neighbours, factors, squared_distances
from workbench.embedding.neighbours import Metric
from workbench.embedding.scales import balanced, lengths_of
from workbench.embedding.vectors import as_points, chosen_points

__all__ = ["Change", "Quality", "compare", "compare_in_parts", "quality"]

Array = np.ndarray[Any, Any]

ROWS = 2048
"""Points that are compared between two reports."""


class Quality(NamedTuple):
    """How a picture keeps neighbourhoods, each number from 0 to 1, the best."""

    trustworthiness: float
    """1 less the ranks, in the space, of those that are near in the picture alone."""
    continuity: float
    """1 less the ranks, in the picture, of those that are near in the space alone."""
    trust_of_points: Array
    """float64 [N]: the share of each point, whose mean is `trustworthiness`."""
    continuity_of_points: Array
    """float64 [N]: the share of each point, whose mean is `continuity`."""
    judged: Array
    """int64, rising: which points were judged, all or those asked for. The shares of others are NaN; the numbers of the
    whole are means over these."""


def quality(
    points: Any, positions: Any, k: int = 10, metric: Metric = "euclidean", *, of: Any = None
) -> Quality:
    r"""Return how far neighbours in a picture, `positions` [N, 2 or 3], are those of the space, `points` [N, features].

    .. math:: T = 1 - \frac{2}{N k (2N - 3k - 1)} \sum_i \sum_{j \in U_k(i)} (r(i, j) - k)

    where :math:`U_k(i)` are the points among the `k` nearest to i in the picture and not in the space, and :math:`r` is
    the rank in the space. Continuity is the same with the two exchanged. Every pair is compared: it takes time with N².
    `metric` measures the space; the picture is seen as it is. With `of`, numbers of points or a mask [N], the sum and N
    in front of it are of these, each against all.

    Raises:
        DimensionError: there are other numbers of points than of positions.
        IndexError: `of` names a point that is not there, or none.
        TypeError: `of` is neither of whole numbers nor a mask.
        ValueError: `k` is not less than half of the points, or as `all_neighbours` does.

    >>> line = np.arange(8.0)[:, None]
    >>> quality(line, line * 2, k=2).trustworthiness
    1.0
    """
    space, picture = as_points(points, "quality"), as_points(positions, "quality")
    _check_same(len(space), len(picture), "quality")
    count = len(space)
    if not 1 <= k < count / 2:
        raise ValueError(
            f"quality: k is a whole number from 1 and less than half of {count:,} points, got {k!r}"
        )
    judged = np.arange(count) if of is None else _judged(of, count)
    near = all_neighbours(space, k, metric, of=judged).indices
    shown = all_neighbours(picture, k, of=judged).indices
    if metric == "cosine":
        space = space / lengths_of(space.astype(np.float64))[:, None]
    worst = k * (2 * count - 3 * k - 1) / 2
    trust, whole = np.full(count, np.nan), np.full(count, np.nan)
    trust[judged] = 1 - _ranks_beyond(space, judged, shown, k) / worst
    whole[judged] = 1 - _ranks_beyond(picture, judged, near, k) / worst
    return Quality(float(trust[judged].mean()), float(whole[judged].mean()), trust, whole, judged)


def _judged(of: Any, count: int) -> Array:
    judged: Array = np.unique(chosen_points(of, count, "quality"))
    if not judged.size:
        raise IndexError(f"quality: of is of one point or more, from 0 to {count - 1:,}, got none")
    return judged


def _ranks_beyond(points: Array, judged: Array, others: Array, k: int) -> Array:
    """Return for each point judged by how much the ranks of `others` [judged, k] among all exceed `k`, summed."""
    left, right = factors(balanced(points.astype(np.float64))[0])
    beyond = np.empty(len(judged))
    rows = max(1, BLOCK // len(points))
    for start in range(0, len(judged), rows):
        own = judged[start : start + rows]
        distances = squared_distances(left, right, own)
        mine = np.take_along_axis(distances, others[start : start + rows], axis=1)
        ranks = np.stack([(distances < one[:, None]).sum(axis=1) + 1 for one in mine.T], axis=1)
        beyond[start : start + rows] = np.maximum(ranks - k, 0).sum(axis=1)
    return beyond


class Change(NamedTuple):
    """How the neighbourhoods of two embeddings of the same points differ."""

    kept: Array
    """float64 [N]: the share of a point's nearest that both have."""
    lost: list[Array]
    """For each point the neighbours that only the first has, nearest first."""
    gained: list[Array]
    """For each point the neighbours that only the second has, nearest first."""


def compare(first: Any, second: Any, k: int = 10, metric: Metric = "cosine") -> Change:
    """Return which of the `k` nearest of each point two embeddings share: `Embedding`, or [N, features], [N, others].

    Where both are an `Embedding` with `names`, points are the same by their names, in whatever order; else by number.
    Raises as `quality` does, and ValueError where names are of other points.

    >>> compare([[0.0], [1.0], [5.0]], [[0.0], [4.0], [5.0]], k=1, metric="euclidean").kept.tolist()
    [1.0, 0.0, 1.0]
    """
    if hasattr(first, "in_order_of") and hasattr(second, "in_order_of") and len(first) == len(second):
        second = second.in_order_of(first, "compare")
    return compare_in_parts(first, second, k, metric, lambda done, of: None)


def compare_in_parts(
    first: Any, second: Any, k: int, metric: Metric, reached: Callable[[int, int], None]
) -> Change:
    """Return what `compare` does; ``reached(done, of)`` is called in between, and may end it by raising."""
    one, other = as_points(first, "compare"), as_points(second, "compare")
    _check_same(len(one), len(other), "compare")
    count = len(one)
    lost: list[Array] = []
    gained: list[Array] = []
    # No points, too, are looked at once, and refused.
    for start in range(0, max(1, count), ROWS):
        reached(start, count)
        own = np.arange(start, min(start + ROWS, count))
        before, after = (all_neighbours(space, k, metric, of=own).indices for space in (one, other))
        # Of other points the same neighbour is another number, so that all are looked up at once.
        apart = count * np.arange(len(own))[:, None]
        for found, mine, theirs in ((lost, before, after), (gained, after, before)):
            alone = ~np.isin(mine + apart, theirs + apart)
            found += [row[here] for row, here in zip(mine, alone, strict=True)]
    kept = 1 - np.array([len(one) for one in lost]) / k
    return Change(kept, lost, gained)


def _check_same(count: int, other: int, what: str) -> None:
    if count != other:
        raise DimensionError(
            f"{what} is of the same points twice, got {count:,} and {other:,} of them", op=what
        )
