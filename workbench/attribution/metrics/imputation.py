"""Noisy linear imputation: pixels that were taken away are filled from their neighbours, so that no shape remains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.base.lazy import scipy_sparse, scipy_sparse_linalg

__all__ = ["impute"]

Array = np.ndarray[Any, Any]


def impute(values: Array, removed: Array, noise: float, stream: Any) -> Array:
    """Return `values` [channels, …] with the places of `removed` […] filled in.

    Each removed place is the weighted mean of its neighbours, removed ones among them, which is a sparse linear system;
    a neighbour along k dims has half the weight of one along k − 1: 1/6 and 1/12 in the plane. Normal draws times
    `noise` are added, so that the filled places cannot be told by being smooth.

    Raises:
        ValueError: nothing is left to fill from.

    >>> impute(np.array([[1.0, 0.0, 3.0]]), np.array([False, True, False]), 0, None).tolist()
    [[1.0, 2.0, 3.0]]
    """
    if not removed.any():
        return values
    if removed.all():
        raise ValueError("nothing is left to fill removed places from")
    number = np.full(removed.shape, -1)
    number[removed] = np.arange(removed.sum())
    matrix, known = _system(values, removed, number)
    filled = scipy_sparse_linalg.splu(matrix).solve(known)
    if noise:
        filled += noise * stream.standard_normal(filled.shape)
    result = values.copy()
    result[:, removed] = filled.T
    return result


def _system(values: Array, removed: Array, number: Array) -> tuple[Any, Array]:
    """Return the system's matrix [places, places], and what the known neighbours add up to, [places, channels]."""
    count = int(removed.sum())
    total = np.zeros(count)
    known = np.zeros((count, len(values)))
    rows, columns, entries = [], [], []
    for weight, here, there in _neighbours(removed.shape):
        of = number[here][removed[here]]
        total[of] += weight
        near = removed[there][removed[here]]
        rows.append(of[near])
        columns.append(number[there][removed[here]][near])
        entries.append(np.full(int(near.sum()), -weight))
        colours = values[(slice(None), *there)][:, removed[here]][:, ~near]
        known[of[~near]] += weight * colours.T
    rows.append(np.arange(count))
    columns.append(np.arange(count))
    entries.append(total)
    places = (np.concatenate(rows), np.concatenate(columns))
    return scipy_sparse.csc_matrix((np.concatenate(entries), places), shape=(count, count)), known


def _neighbours(shape: tuple[int, ...]) -> Iterator[tuple[float, tuple[slice, ...], tuple[slice, ...]]]:
    """Yield for each direction the weight, the places that have a neighbour there, and these neighbours."""
    steps = [one for one in itertools.product((-1, 0, 1), repeat=len(shape)) if any(one)]
    whole = sum(2.0 ** -np.count_nonzero(one) for one in steps)
    for step in steps:
        here = tuple(slice(max(-one, 0), size - max(one, 0)) for one, size in zip(step, shape, strict=True))
        there = tuple(slice(max(one, 0), size - max(-one, 0)) for one, size in zip(step, shape, strict=True))
        yield 2.0 ** -np.count_nonzero(step) / whole, here, there
