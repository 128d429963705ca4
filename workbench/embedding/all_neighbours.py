"""The nearest points to every point, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.embedding.neighbours import METRICS, Metric, Near
from workbench.embedding.scales import balanced, lengths_of
from workbench.embedding.vectors import as_points, check_finite, chosen_points, is_whole

__all__ = ["all_neighbours", "factors", "squared_distances"]

Array = np.ndarray[Any, Any]

BLOCK = 1 << 20
"""Distances that are held at a time."""
ROUNDING = 8 * np.finfo(np.float64).eps
"""Share of the squared lengths by which a squared distance of products may be off, for each root of the features."""

FLOATS = 1 << 21
"""Products in floats that are held at a time."""
FLOAT_ROUNDING = 8 * np.finfo(np.float32).eps
"""As `ROUNDING`, for products of floats and of what was rounded to floats."""
LONGEST = 1 << 31
"""Numbers of more points do not fit the kernel's."""

_NEAREST, _LINEAR = kernels.lookup("nearest_of_products"), kernels.lookup("linear")

DIGITS = 1e6
"""How many times the rounding a squared distance is to be taken as it is."""


def all_neighbours(points: Any, k: int = 10, metric: Metric = "euclidean", *, of: Any = None) -> Near:
    """Return the `k` points nearest to each of `points` [N, features], without itself: indices and distances [N, k].

    With `of`, numbers of points or a mask [N], those of these alone, [len(of), k].

    Distances and order are those of `neighbours`: every pair is compared, nothing is sampled, and of points equally far
    the one with the lower index comes first.

    Raises:
        IndexError: `of` names a point that is not there, or is a mask of other points.
        TypeError: `of` is neither of whole numbers nor a mask.
        ValueError: there are fewer than ``k + 1`` points, `metric` is not possible, points hold NaN or infinite values,
            or for cosine one is zero, which has no direction.

    >>> all_neighbours([[0.0], [1.0], [3.0]], k=1).indices.tolist()
    [[1], [0], [1]]
    """
    array = as_points(points, "all_neighbours")
    if not is_whole(k) or not 1 <= k < len(array):
        raise ValueError(f"all_neighbours: k is a whole number from 1 to {len(array) - 1:,}, got {k!r}")
    if metric not in METRICS:
        raise ValueError(f"all_neighbours: there is no metric {metric!r}; there are {', '.join(METRICS)}")
    check_finite(array, "all_neighbours")
    if metric == "cosine":
        array = array.astype(np.float64)
        lengths = lengths_of(array)
        zero = np.flatnonzero(lengths == 0)
        if len(zero):
            raise ValueError(
                f"all_neighbours: {len(zero):,} points are zero (point {zero[0]}) and have no direction; use "
                "metric='euclidean'"
            )
        array = array / lengths[:, None]
    asked = np.arange(len(array)) if of is None else chosen_points(of, len(array), "all_neighbours")
    exponent = 0
    if array.dtype == np.float64:
        # Squares of float32 are all numbers of float64.
        array, exponent = balanced(array)
    find = _compiled if _NEAREST is not None and _LINEAR is not None and len(array) < LONGEST else _plain
    indices, distances = find(array, asked, k)
    # ‖x − y‖² = 2 (1 − x·y) for directions.
    return Near(indices, distances**2 / 2 if metric == "cosine" else np.ldexp(distances, exponent))


def _compiled(array: Array, asked: Array, k: int) -> tuple[Array, Array]:
    """Return the nearest to the points `asked`, and their distances, by the kernel.

    Products in floats say who may be near, within what they may be off by; only to those distances are computed.
    """
    assert _NEAREST is not None
    assert _LINEAR is not None
    array = np.ascontiguousarray(array)
    # About the middle, and of about one: what floats are off by is a share of the lengths.
    moved = array - array.mean(axis=0, dtype=np.float64)
    largest = float(np.abs(moved).max())
    small = (moved / largest if largest > 0 else moved).astype(np.float32)
    del moved
    squares = np.einsum("nf,nf->n", small, small, dtype=np.float64)
    share = FLOAT_ROUNDING * np.sqrt(array.shape[1])
    least, width = (squares * (1 - share)).astype(np.float32), (2 * share * squares).astype(np.float32)
    indices = np.empty((len(asked), k), np.int64)
    distances = np.empty((len(asked), k))
    rows = max(1, FLOATS // len(array))
    for start in range(0, len(asked), rows):
        own = np.ascontiguousarray(asked[start : start + rows])
        # By the kernel: NumPy's threads and ours, each waiting for more, would take the cores from one another.
        block = _LINEAR.run(small[own], small, None)
        part = slice(start, start + len(own))
        indices[part], distances[part] = _NEAREST.run(block, least, width, array, own, width[own], k)
    return indices, distances


def _plain(array: Array, asked: Array, k: int) -> tuple[Array, Array]:
    """Return the nearest to the points `asked`, and their distances, with NumPy."""
    array = array.astype(np.float64)
    indices = np.empty((len(asked), k), np.int64)
    distances = np.empty((len(asked), k))
    rows = max(1, BLOCK // len(array))
    left, right = factors(array)
    for start in range(0, len(asked), rows):
        part = slice(start, start + rows)
        indices[part], distances[part] = _of_rows(array, left, right, asked[part], k)
    return indices, distances


def factors(array: Array) -> tuple[Array, Array]:
    """Return two matrices [N, features + 2] whose rows' products are squared distances: ‖x‖² − 2 x·y + ‖y‖²."""
    squares = np.einsum("nf,nf->n", array, array)[:, None]
    one = np.ones_like(squares)
    # In the product itself: added afterwards, each term would go over all distances once more.
    return np.hstack([-2 * array, squares, one]), np.hstack([array, one, squares])


def squared_distances(left: Array, right: Array, own: Array) -> Array:
    """Return the squared distances, to rounding, of the rows `own` to all rows; infinite to a row itself."""
    found: Array = left[own] @ right.T
    found[np.arange(len(found)), own] = np.inf
    return found


def _of_rows(array: Array, left: Array, right: Array, own: Array, k: int) -> tuple[Array, Array]:
    """Return the nearest to some rows, and their distances."""
    found = squared_distances(left, right, own)
    squares = right[:, -1]
    slack = ROUNDING * np.sqrt(array.shape[1]) * (squares.max() + squares[own])
    bound = _bound(found, k) + 2 * slack
    row, column = np.nonzero(found <= bound[:, None])
    near = found[row, column]
    order = np.lexsort((column, near, row))
    row, column, near = row[order], column[order], near[order]
    doubtful = _doubtful(row, near, slack[row])
    step = max(1, BLOCK // array.shape[1])
    for start in range(0, len(doubtful), step):
        part = doubtful[start : start + step]
        apart = array[own][row[part]] - array[column[part]]
        near[part] = np.einsum("nf,nf->n", apart, apart)
    # Of points whose distances are one number, though their squares are two, the lower index comes first.
    near = np.sqrt(near)
    if len(doubtful):
        order = np.lexsort((column, near, row))
        column, near = column[order], near[order]
    chosen = np.searchsorted(row, np.arange(len(found)))[:, None] + np.arange(k)
    return column[chosen], near[chosen]


def _doubtful(row: Array, near: Array, slack: Array) -> Array:
    """Return which of the sorted distances are not known well enough: by products, close points lose their digits."""
    few_digits = near < DIGITS * slack
    # Those that rounding may have exchanged with the one before or behind.
    tied = (np.diff(near) <= 2 * slack[1:]) & (row[1:] == row[:-1])
    few_digits[1:] |= tied
    few_digits[:-1] |= tied
    return np.flatnonzero(few_digits)


def _bound(found: Array, k: int) -> Array:
    """Return for each row a number that at least `k` of its values do not exceed, and few others."""
    count = found.shape[1]
    groups = min(count, 8 * k)
    if groups * 2 <= count:
        # The k-th least of the least values of groups: one pass, where a partition goes over all of it several times.
        size = count // groups
        least = found[:, : groups * size].reshape(len(found), size, groups).min(axis=1)
        found = np.concatenate([least, found[:, groups * size :]], axis=1)
    bound: Array = np.partition(found, k - 1, axis=1)[:, k - 1]
    return bound
