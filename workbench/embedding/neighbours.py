"""The nearest points to a point, exactly, in the space the points come from."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from workbench import kernels
from workbench.embedding.scales import lengths_of
from workbench.embedding.vectors import as_points, is_whole

__all__ = ["METRICS", "Metric", "Near", "neighbours"]

Array = np.ndarray[Any, Any]
Metric = Literal["cosine", "euclidean"]

METRICS: tuple[Metric, ...] = ("cosine", "euclidean")
"""The ways of measuring distance."""

CHUNK = 1 << 22
"""Values that are brought to float64 at a time."""
LEAST = 1e-270
"""Sums of squares from here on have all their digits."""

_TO, _WITH = kernels.lookup("distances_to"), kernels.lookup("products_with")


class Near(NamedTuple):
    """The nearest points, nearest first."""

    indices: Array
    """int64 [k]"""
    distances: Array
    """float64 [k]"""


def neighbours(points: Any, index: int, k: int = 10, metric: Metric = "cosine") -> Near:
    """Return the `k` points nearest to point `index` of `points` [N, features], without itself.

    euclidean: ‖x − y‖; cosine: 1 − x·y / (‖x‖ ‖y‖), from 0 (same direction) to 2. Every point is compared; of points
    equally far the one with the lower index comes first. Points with NaN are never near; for cosine neither is a
    point that is zero, which has no direction. There may be fewer than `k`.

    Raises:
        IndexError: there is no point `index`.
        ValueError: `k` or `metric` is not possible, or the point itself has no distance to others.

    >>> neighbours([[0.0, 1.0], [0.0, 5.0], [1.0, 1.0]], 0, k=1, metric="euclidean")
    Near(indices=array([2]), distances=array([1.]))
    >>> neighbours([[0.0, 1.0], [0.0, 5.0], [1.0, 1.0]], 0, k=1, metric="cosine").indices.tolist()
    [1]
    """
    array = as_points(points, "neighbours")
    if not is_whole(index) or not 0 <= index < len(array):
        raise IndexError(f"neighbours: there are points 0 to {len(array) - 1:,}, not {index!r}")
    if not is_whole(k) or k < 1:
        raise ValueError(f"neighbours: k is a whole number from 1, got {k!r}")
    if metric not in METRICS:
        raise ValueError(f"neighbours: there is no metric {metric!r}; there are {', '.join(METRICS)}")
    own = array[index].astype(np.float64)
    if not np.isfinite(own).all():
        raise ValueError(f"neighbours: point {index} holds NaN or infinite values: it is near nothing")
    if metric == "cosine" and not own.any():
        raise ValueError(f"neighbours: point {index} is zero and has no direction; use metric='euclidean'")
    distances = _distances(array, int(index), own, metric)
    # A point is no neighbour of its own.
    distances[index] = np.nan
    return _nearest(distances, k)


def _distances(array: Array, index: int, own: Array, metric: Metric) -> Array:
    """Return the distance of every point to `own`; NaN where there is none."""
    direction = own
    if metric == "cosine":
        # A length that is no number has none to divide by: first of about one.
        direction = own / np.abs(own).max()
        direction = direction / np.linalg.norm(direction)
    if _TO is not None and _WITH is not None:
        array = np.ascontiguousarray(array)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            if metric == "euclidean":
                squares: Array = _TO.run(array, index)
                found = np.sqrt(squares)
            else:
                products, squares = _WITH.run(array, direction)
                found = 1 - products / np.sqrt(squares)
    else:
        found, squares = _plain(array, own, direction, metric)
    lost = np.flatnonzero(~((squares > LEAST) & (squares < np.inf)))
    for start in range(0, len(lost), rows := _rows(array)):
        part = lost[start : start + rows]
        found[part] = _carefully(array[part].astype(np.float64), own, direction, metric)
    # Rounding may lead out of the bounds.
    return found if metric == "euclidean" else np.clip(found, 0, 2, out=found)


def _rows(array: Array) -> int:
    return max(1, CHUNK // int(array.shape[1]))


def _plain(array: Array, own: Array, direction: Array, metric: Metric) -> tuple[Array, Array]:
    """Return the distances, with NumPy, and the squares of which they are."""
    found, squares = np.empty(len(array)), np.empty(len(array))
    rows = _rows(array)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        for start in range(0, len(array), rows):
            here = slice(start, start + rows)
            part = array[here].astype(np.float64)
            if metric == "euclidean":
                part -= own
            squares[here] = np.einsum("nf,nf->n", part, part)
            lengths = np.sqrt(squares[here])
            found[here] = lengths if metric == "euclidean" else 1 - (part @ direction) / lengths
    return found, squares


def _carefully(part: Array, own: Array, direction: Array, metric: Metric) -> Array:
    """Return the distances of points whose squares leave the numbers; NaN for one that is zero or not finite."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if metric == "euclidean":
            return lengths_of(part - own)
        # A direction has no size.
        part = part / np.abs(part).max(axis=1, keepdims=True)
        return np.asarray(1 - (part @ direction) / lengths_of(part))


def _nearest(distances: Array, k: int) -> Near:
    # NaN is sorted behind everything.
    furthest = np.partition(distances, k - 1)[k - 1] if len(distances) > k else np.nan
    # All that are as near as the k-th, then sorted: the lower index wins among equals.
    near = distances <= furthest if np.isfinite(furthest) else np.isfinite(distances)
    usable = np.flatnonzero(near)
    order = usable[np.argsort(distances[usable], kind="stable")][:k]
    return Near(order, distances[order])
