"""Principal components: the directions along which points vary most."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from workbench import kernels
from workbench.base.lazy import scipy_linalg
from workbench.embedding.scales import exponent_of
from workbench.embedding.vectors import as_points, check_finite, is_whole
from workbench.kernels.threads import one_blas_thread

__all__ = ["PCA"]

Array = np.ndarray[Any, Any]

MOST_FEATURES = 8_192
"""Largest matrix, in rows, whose eigenvectors are computed; the smaller of points and features counts."""

CHUNK = 1 << 17
"""Values that are looked at at a time: what a near cache holds."""

SINGLE = 1 << 20
"""From so many values on, products of points in float32 are taken in that type, and added up in float64."""

ALONE = 512
"""Up to so many rows a second thread brings nothing to eigenvectors."""

_PRODUCTS, _PLACES = kernels.lookup("products_of_columns"), kernels.lookup("places_along")


class PCA:
    """Principal component analysis of points [N, features], in float64; a million values or more of float32 in their
    own type.

    Covariance C = Xᵀ X / (N − 1) of the centred points; components are its eigenvectors, of the greatest eigenvalues
    first. The entry of a component that is greatest in size is positive, so that the same points always give the
    same picture. Where the points have fewer directions than `n_components`, the rest are zero.

    With ``solver="randomized"`` the components are those of the points seen from `n_components` + `n_oversamples`
    directions, drawn with `random_state` and turned to the points' own by `n_iter` products: nearly exact where
    variances fall off, and possible where points and features are many.

    Source of it: Halko, Martinsson, Tropp: Finding Structure with Randomness (2011).

    >>> pca = PCA(2)
    >>> pca.fit_transform([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).round(3).tolist()
    [[-1.414, 0.0], [0.0, 0.0], [1.414, 0.0]]
    >>> pca.rank, pca.explained_variance_ratio.round(3).tolist()
    (1, [1.0, 0.0])
    """

    mean: Array
    """float64 [features]"""
    components: Array
    """float64 [n_components, features], of length 1, or zero beyond `rank`."""
    explained_variance: Array
    """float64 [n_components]; infinite, or 0, where float64 does not hold the square of points of 1e200, or 1e-200."""
    explained_variance_ratio: Array
    """float64 [n_components]: the share of the whole variance."""
    rank: int
    """How many directions the points have, at most `n_components`."""

    def __init__(
        self,
        n_components: int = 3,
        *,
        solver: Literal["exact", "randomized"] = "exact",
        random_state: int | None = 0,
        n_oversamples: int = 10,
        n_iter: int = 4,
    ) -> None:
        if not is_whole(n_components) or n_components < 1:
            raise ValueError(f"PCA: n_components is a whole number from 1, got {n_components!r}")
        if solver not in ("exact", "randomized"):
            raise ValueError(f"PCA: solver is 'exact' or 'randomized', not {solver!r}")
        if not is_whole(n_oversamples) or n_oversamples < 0 or not is_whole(n_iter) or n_iter < 0:
            raise ValueError(
                f"PCA: n_oversamples and n_iter are whole numbers from 0, got {n_oversamples!r} and {n_iter!r}"
            )
        if random_state is not None and (not is_whole(random_state) or random_state < 0):
            raise ValueError(f"PCA: random_state is a whole number from 0, or None, got {random_state!r}")
        self.n_components = n_components
        self.solver = solver
        self.random_state, self.n_oversamples, self.n_iter = random_state, n_oversamples, n_iter

    def fit(self, points: Any) -> PCA:
        """Find the components of `points` [N, features].

        Raises:
            DTypeError: the values are not real numbers.
            DimensionError: the points are not [N, features].
            ValueError: some points hold NaN or infinite values, or both N and features are above 8,192.
        """
        array = as_points(points, "PCA")
        exponent = 0
        found = self._found(array)
        if _is_lost(found[1], array):
            # Only now, for looking at the sizes of all points would take time where nothing is lost.
            exponent = exponent_of(array)
            found = self._found(np.ldexp(array, -exponent))
        mean, total, vectors, values = found
        # What is below rounding counts as 0, and its direction is noise.
        rank = int((values > total * _precision(array)).sum())
        # The variance of a sample, as scikit-learn has it.
        scale = max(len(array) - 1, 1)
        self.components = np.zeros((self.n_components, array.shape[1]))
        self.explained_variance = np.zeros(self.n_components)
        self.explained_variance_ratio = np.zeros(self.n_components)
        self.mean, self.rank = np.ldexp(mean, exponent), rank
        if rank:
            self.components[:rank] = _signed(vectors[:rank])
            with np.errstate(over="ignore", under="ignore"):
                self.explained_variance[:rank] = np.ldexp(values[:rank] / scale, 2 * exponent)
            self.explained_variance_ratio[:rank] = values[:rank] / total
        return self

    def _found(self, array: Array) -> tuple[Array, float, Array, Array]:
        """Return mean, sum of squares, components and theirs; where squares are lost, only the sum tells it."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.solver == "randomized":
                return self._randomized(array)
            return _exact(array, self.n_components)

    def _randomized(self, array: Array) -> tuple[Array, float, Array, Array]:
        """Return mean, sum of squares, components and theirs, as a few products with the points find them."""
        mean, total = _mean_and_squares(array)
        if _is_lost(total, array):
            return mean, total, np.zeros((0, array.shape[1])), np.zeros(0)
        width = min(self.n_components + self.n_oversamples, *array.shape)
        basis = np.random.default_rng(self.random_state).standard_normal((array.shape[1], width))
        for _ in range(self.n_iter + 1):
            # XᵀX times the basis, a part of the points at a time; without a factorization between, its columns would
            # become one.
            basis = np.linalg.qr(sum(part.T @ (part @ basis) for part in _centred(array, mean)))[0]
        small = sum(seen.T @ seen for seen in (part @ basis for part in _centred(array, mean)))
        values, inner = np.linalg.eigh(small)
        vectors = (basis @ inner[:, ::-1]).T
        return mean, total, vectors[: self.n_components], np.maximum(values[::-1][: self.n_components], 0)

    def transform(self, points: Any) -> Array:
        """Return the coordinates of `points` along the components, float64 [N, n_components].

        Raises as `fit` does; ValueError as well before `fit`, or where points have other features.
        """
        array = as_points(points, "PCA")
        if not hasattr(self, "components"):
            raise ValueError("PCA: fit it first: PCA(n).fit(points), or fit_transform(points)")
        if array.shape[1] != len(self.mean):
            raise ValueError(
                f"PCA: it was fitted to points of {len(self.mean)} features, these have {array.shape[1]}"
            )
        check_finite(array, "PCA")
        return self._placed(array)

    def _placed(self, array: Array) -> Array:
        if _single(array) and _PLACES is not None:
            given = (array, self.mean.astype(np.float32), self.components.astype(np.float32))
            if _PLACES.accepts(*given):
                return np.asarray(_PLACES.run(*given))
        directions = np.ascontiguousarray(self.components.T, np.float32 if _single(array) else np.float64)
        positions = np.empty((len(array), self.n_components))
        start = 0
        for part in _centred(array, self.mean):
            positions[start : start + len(part)] = part @ directions
            start += len(part)
        return positions

    def fit_transform(self, points: Any) -> Array:
        """Find the components of `points` and return their coordinates, float64 [N, n_components]."""
        array = as_points(points, "PCA")
        return self.fit(array)._placed(array)


def _centred(array: Array, mean: Array) -> Iterator[Array]:
    """Yield the points less their mean, a part at a time, in the same memory: the whole may not fit."""
    rows = _step(array)
    kind = np.float32 if _single(array) else np.float64
    memory = np.empty((min(rows, len(array)), array.shape[1]), kind)
    middle = mean.astype(kind)
    for start in range(0, len(array), rows):
        part = array[start : start + rows]
        yield np.subtract(part, middle, out=memory[: len(part)])


def _single(array: Array) -> bool:
    """Say whether products are of floats: of many points that are floats themselves. They are added up in float64."""
    return array.dtype == np.float32 and array.size >= SINGLE


def _step(array: Array) -> int:
    # Products of few rows would spend their time on adding up the matrices that they make.
    features = int(array.shape[1])
    return max(1, CHUNK // features, min(features, 1024))


def _mean_and_squares(array: Array) -> tuple[Array, float]:
    """Return the mean of the points, and the sum of their squared distances from it; raise where some are not
    finite.
    """
    mean = array.mean(axis=0, dtype=np.float64)
    total = sum(float(np.vdot(part, part)) for part in _centred(array, mean))
    if not np.isfinite(total):
        check_finite(array, "PCA")
    return mean, total


def _precision(array: Array) -> float:
    """Return the share of the variance below which a direction is rounding, not data."""
    if _single(array):
        return float(np.finfo(np.float32).eps)
    return int(max(array.shape)) * float(np.finfo(np.float64).eps)


def _is_lost(total: float, array: Array) -> bool:
    """Say whether squares that add up to `total` are none any more, or few of their digits are left."""
    limits = np.finfo(np.float32 if _single(array) else np.float64)
    return not np.isfinite(total) or total < array.size * float(limits.tiny) / float(limits.eps) ** 2


def _exact(array: Array, count: int) -> tuple[Array, float, Array, Array]:
    """Return the mean, the sum of squares, and eigenvectors [k, features] and eigenvalues [k] of XᵀX; k ≤ count.

    With fewer points than features they come from XXᵀ, which has the same eigenvalues and is smaller.
    """
    if min(array.shape) > MOST_FEATURES:
        raise ValueError(
            f"PCA: {array.shape[0]:,} points of {array.shape[1]:,} features take eigenvectors of a matrix of "
            f"{min(array.shape):,} rows; at most {MOST_FEATURES:,}. Take fewer points, leave out features, or say "
            "solver='randomized'"
        )
    if array.shape[0] >= array.shape[1]:
        mean, square = _scatter(array)
        total = float(np.trace(square))
        if _is_lost(total, array):
            return mean, total, np.zeros((0, array.shape[1])), np.zeros(0)
        vectors, values = _greatest(square, count)
        return mean, total, vectors, values
    mean, total = _mean_and_squares(array)
    if _is_lost(total, array):
        return mean, total, np.zeros((0, array.shape[1])), np.zeros(0)
    centred = array - mean
    left, values = _greatest(centred @ centred.T, count)
    vectors = left @ centred
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return mean, total, np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0), values


def _scatter(array: Array) -> tuple[Array, Array]:
    """Return the mean of the points and XᵀX of them less it, in one pass; raise where some are not finite.

    Each is taken less the mean of the first few, which is near enough for no digits to be lost; the rest is taken off
    at the end.
    """
    near = array[: _step(array)].mean(axis=0, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        if _single(array):
            # As it is taken off.
            near = near.astype(np.float32).astype(np.float64)
        apart, square = _sums(array, near)
    if not np.isfinite(square).all():
        check_finite(array, "PCA")
    apart /= len(array)
    square -= len(array) * np.outer(apart, apart)
    return near + apart, square


def _sums(array: Array, near: Array) -> tuple[Array, Array]:
    """Return the sums of the columns of the points less `near`, and of their products."""
    if _single(array) and _PRODUCTS is not None and _PRODUCTS.accepts(array, near.astype(np.float32)):
        apart, square = _PRODUCTS.run(array, near.astype(np.float32))
        return apart, square
    apart = np.zeros(array.shape[1])
    square = np.zeros((array.shape[1], array.shape[1]))
    for part in _centred(array, near):
        apart += np.ones(len(part), part.dtype) @ part
        square += part.T @ part
    return apart, square


def _greatest(square: Array, count: int) -> tuple[Array, Array]:
    """Return the eigenvectors, a row each, of the `count` greatest eigenvalues of a symmetric matrix, and these."""
    size = len(square)
    eigh = scipy_linalg.eigh
    with one_blas_thread() if size <= ALONE else contextlib.nullcontext():
        # The whole decomposition takes twice as long, from some hundred rows on.
        values, vectors = eigh(square, subset_by_index=(max(0, size - count), size - 1), check_finite=False)
    # They come in rising order, and rounding may leave a little less than 0.
    return vectors[:, ::-1].T, np.maximum(values[::-1], 0)


def _signed(vectors: Array) -> Array:
    """Return the vectors with signs that do not depend on how they were computed."""
    sizes = np.abs(vectors)
    # Entries that are equal but for rounding count as equal: the first of them decides.
    first = np.argmax(sizes >= sizes.max(axis=1, keepdims=True) * (1 - 1e-6), axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), first])
    return np.asarray(vectors * signs[:, None])
