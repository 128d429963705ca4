"""The nearest points to a point, exactly, in the space the points come from."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from workbench import kernels
from workbench.embedding.vectors import as_points, is_whole

__all__ = ["METRICS", "Metric", "Near", "neighbours"]

Array = np.ndarray[Any, Any]
Metric = Literal["cosine", "euclidean"]

METRICS: tuple[Metric, ...] = ("cosine", "euclidean")
"""The ways of measuring distance."""

CHUNK = 1 << 22
"""Values that are brought to float64 at a time."""

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
    direction = own / np.linalg.norm(own) if metric == "cosine" else own
    if _TO is not None and _WITH is not None:
        array = np.ascontiguousarray(array)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            if metric == "euclidean":
                found: Array = _TO.run(array, index)
                return np.sqrt(found, out=found)
            products, squares = _WITH.run(array, direction)
            cosines: Array = products / np.sqrt(squares)
            return np.asarray(np.clip(1 - cosines, 0, 2))
    distances = np.empty(len(array))
    rows = max(1, CHUNK // array.shape[1])
    # A point that is zero or not finite gets no distance, and is left out by that.
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for start in range(0, len(array), rows):
            part = array[start : start + rows].astype(np.float64)
            if metric == "euclidean":
                part -= own
                distances[start : start + rows] = np.sqrt(np.einsum("nf,nf->n", part, part))
            else:
                lengths = np.sqrt(np.einsum("nf,nf->n", part, part))
                # Rounding may lead out of the bounds.
                distances[start : start + rows] = np.clip(1 - (part @ direction) / lengths, 0, 2)
    return distances


def _nearest(distances: Array, k: int) -> Near:
    # NaN is sorted behind everything.
    furthest = np.partition(distances, k - 1)[k - 1] if len(distances) > k else np.nan
    # All that are as near as the k-th, then sorted: the lower index wins among equals.
    near = distances <= furthest if np.isfinite(furthest) else np.isfinite(distances)
    usable = np.flatnonzero(near)
    order = usable[np.argsort(distances[usable], kind="stable")][:k]
    return Near(order, distances[order])
