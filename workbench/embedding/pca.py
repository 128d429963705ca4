"""Principal components: the directions along which points vary most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.embedding.vectors import as_points, check_finite, is_whole

__all__ = ["PCA"]

Array = np.ndarray[Any, Any]

MOST_FEATURES = 8_192
"""Largest matrix, in rows, whose eigenvectors are computed; the smaller of points and features counts."""

CHUNK = 1 << 22
"""Values that are brought to float64 at a time."""


class PCA:
    """Principal component analysis of points [N, features], in float64.

    Covariance C = Xᵀ X / (N − 1) of the centred points; components are its eigenvectors, of the greatest eigenvalues
    first. The entry of a component that is greatest in size is positive, so that the same points always give the
    same picture. Where the points have fewer directions than `n_components`, the rest are zero.

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
    """float64 [n_components]"""
    explained_variance_ratio: Array
    """float64 [n_components]: the share of the whole variance."""
    rank: int
    """How many directions the points have, at most `n_components`."""

    def __init__(self, n_components: int = 3) -> None:
        if not is_whole(n_components) or n_components < 1:
            raise ValueError(f"PCA: n_components is a whole number from 1, got {n_components!r}")
        self.n_components = n_components

    def fit(self, points: Any) -> PCA:
        """Find the components of `points` [N, features].

        Raises:
            DTypeError: the values are not real numbers.
            DimensionError: the points are not [N, features].
            ValueError: some points hold NaN or infinite values, or both N and features are above 8,192.
        """
        array = as_points(points, "PCA")
        check_finite(array, "PCA")
        if min(array.shape) > MOST_FEATURES:
            raise ValueError(
                f"PCA: {array.shape[0]:,} points of {array.shape[1]:,} features take eigenvectors of a matrix of "
                f"{min(array.shape):,} rows; at most {MOST_FEATURES:,}. Take fewer points, or leave out features"
            )
        mean = array.mean(axis=0, dtype=np.float64)
        total = _squares(array, mean)
        vectors, values = _principal(array, mean, self.n_components)
        # What is below rounding counts as 0, and its direction is noise.
        rank = int((values > total * _precision(array)).sum())
        # The variance of a sample, as scikit-learn has it.
        scale = max(len(array) - 1, 1)
        self.components = np.zeros((self.n_components, array.shape[1]))
        self.explained_variance = np.zeros(self.n_components)
        self.explained_variance_ratio = np.zeros(self.n_components)
        self.mean, self.rank = mean, rank
        if rank:
            self.components[:rank] = _signed(vectors[:rank])
            self.explained_variance[:rank] = values[:rank] / scale
            self.explained_variance_ratio[:rank] = values[:rank] / total
        return self

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
        return np.concatenate([part @ self.components.T for part in _centred(array, self.mean)])

    def fit_transform(self, points: Any) -> Array:
        """Find the components of `points` and return their coordinates, float64 [N, n_components]."""
        return self.fit(points).transform(points)


def _centred(array: Array, mean: Array) -> Iterator[Array]:
    """Yield the points less their mean, a part at a time: the whole in float64 may not fit."""
    rows = max(1, CHUNK // array.shape[1])
    for start in range(0, len(array), rows):
        yield array[start : start + rows] - mean


def _squares(array: Array, mean: Array) -> float:
    total = 0.0
    for part in _centred(array, mean):
        total += float(np.einsum("nf,nf->", part, part))
    return total


def _precision(array: Array) -> float:
    """Return the share of the variance below which a direction is rounding, not data."""
    return int(max(array.shape)) * float(np.finfo(np.float64).eps)


def _principal(array: Array, mean: Array, count: int) -> tuple[Array, Array]:
    """Return eigenvectors [k, features] and eigenvalues [k] of XᵀX, greatest first; k ≤ count.

    With fewer points than features they come from XXᵀ, which has the same eigenvalues and is smaller.
    """
    if array.shape[0] >= array.shape[1]:
        square = sum(part.T @ part for part in _centred(array, mean))
        values, vectors = np.linalg.eigh(square)
        # eigh sorts upwards, and rounding may leave a little less than 0.
        return vectors[:, ::-1].T[:count], np.maximum(values[::-1][:count], 0)
    centred = array - mean
    values, left = np.linalg.eigh(centred @ centred.T)
    values, left = np.maximum(values[::-1][:count], 0), left[:, ::-1][:, :count]
    vectors = left.T @ centred
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0), values


def _signed(vectors: Array) -> Array:
    """Return the vectors with signs that do not depend on how they were computed."""
    sizes = np.abs(vectors)
    # Entries that are equal but for rounding count as equal: the first of them decides.
    first = np.argmax(sizes >= sizes.max(axis=1, keepdims=True) * (1 - 1e-6), axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), first])
    return np.asarray(vectors * signs[:, None])
