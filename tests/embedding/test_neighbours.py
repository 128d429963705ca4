"""Neighbours, compared with distances computed one by one."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import workbench as wb
from workbench.embedding import all_neighbours, neighbours, quality

SEARCH = sys.modules[neighbours.__module__]
"""The module, whose name in the package is that of the function."""


def distance(x: np.ndarray, y: np.ndarray, metric: str) -> float:
    x, y = x.astype(np.float64), y.astype(np.float64)
    if metric == "euclidean":
        return math.dist(x, y)
    return 1 - float(np.dot(x, y)) / (math.hypot(*x) * math.hypot(*y))


def by_hand(points: np.ndarray, index: int, k: int, metric: str) -> list[float]:
    others = (points[i] for i in range(len(points)) if i != index)
    return sorted(distance(points[index], other, metric) for other in others)[:k]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("features", [2, 64, 300])
def test_the_nearest_of_many(metric: str, features: int) -> None:
    points = np.random.default_rng(3).standard_normal((80, features)).astype(np.float32)
    for index in (0, 41, 79):
        found = neighbours(points, index, 9, metric)  # type: ignore[arg-type]
        np.testing.assert_allclose(found.distances, by_hand(points, index, 9, metric), rtol=1e-9, atol=1e-12)
        assert index not in found.indices
        assert [distance(points[index], points[i], metric) for i in found.indices] == pytest.approx(
            found.distances.tolist(), rel=1e-4
        )


@given(
    arrays.arrays(np.int64, (12, 3), elements=st.integers(-3, 3)),
    st.integers(0, 11),
    st.integers(1, 20),
)
def test_equally_far_points_come_by_their_index(points: np.ndarray, index: int, k: int) -> None:
    found = neighbours(points, index, k, "euclidean")
    expected = sorted((math.dist(points[index], points[i]), i) for i in range(12) if i != index)[:k]
    assert found.indices.tolist() == [i for _, i in expected]


def test_parts_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    points = wb.randn(N=50, features=8)
    whole = neighbours(points, 3, 5)
    monkeypatch.setattr(SEARCH, "CHUNK", 24)
    np.testing.assert_array_equal(neighbours(points, 3, 5).indices, whole.indices)


def test_points_without_distance_are_never_near() -> None:
    points = np.array([[1.0, 0], [0, 0], [np.nan, 1], [2, 0], [np.inf, 0]])
    assert neighbours(points, 0, 10, "cosine").indices.tolist() == [3]
    assert neighbours(points, 0, 10, "euclidean").indices.tolist() == [1, 3]
    with pytest.raises(ValueError, match="point 1 is zero and has no direction; use metric='euclidean'"):
        neighbours(points, 1)
    with pytest.raises(ValueError, match="point 2 holds NaN or infinite values: it is near nothing"):
        neighbours(points, 2, metric="euclidean")


def test_a_single_point_has_none() -> None:
    assert neighbours([[1.0, 2.0]], 0).indices.tolist() == []


@pytest.mark.parametrize("index", [-1, 3, 1.0, True])
def test_no_such_point(index: object) -> None:
    with pytest.raises(IndexError, match="there are points 0 to 2, not"):
        neighbours(np.eye(3), index)  # type: ignore[arg-type]


def test_impossible_questions() -> None:
    with pytest.raises(ValueError, match="k is a whole number from 1, got 0"):
        neighbours(np.eye(3), 0, 0)
    with pytest.raises(ValueError, match="there is no metric 'manhattan'; there are cosine, euclidean"):
        neighbours(np.eye(3), 0, 1, "manhattan")  # type: ignore[arg-type]


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_points_whose_squares_are_no_numbers(
    factor: float, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernels:
        monkeypatch.setattr(SEARCH, "_TO", None)
        monkeypatch.setattr(sys.modules[all_neighbours.__module__], "_NEAREST", None)
    points = np.random.default_rng(0).standard_normal((60, 8))
    points[9] = points[4]
    for metric in ("euclidean", "cosine"):
        plain, far = neighbours(points, 4, 5, metric), neighbours(points * factor, 4, 5, metric)
        np.testing.assert_array_equal(far.indices, plain.indices)
        size = factor if metric == "euclidean" else 1
        np.testing.assert_allclose(far.distances / size, plain.distances, rtol=1e-9, atol=1e-12)
        every, all_far = all_neighbours(points, 5, metric), all_neighbours(points * factor, 5, metric)
        np.testing.assert_array_equal(all_far.indices, every.indices)
        np.testing.assert_allclose(all_far.distances / size, every.distances, rtol=1e-9, atol=1e-12)
    # One point far from all others, which are as they were.
    points[30] *= factor
    found = neighbours(points, 4, 100, "cosine")
    assert len(found.indices) == 59 and found.distances.max() <= 2


def test_some_points_are_asked_for_by_number_or_mask() -> None:
    points = np.random.default_rng(0).standard_normal((60, 8))
    whole = all_neighbours(points, 3)
    mask = np.zeros(60, bool)
    mask[[2, 50]] = True
    for of in (mask, mask.tolist(), [2, 50], wb.tensor([2, 50])):
        np.testing.assert_array_equal(all_neighbours(points, 3, of=of).indices, whole.indices[[2, 50]])
    assert all_neighbours(points, 3, of=[]).indices.shape == (0, 3)
    np.testing.assert_array_equal(quality(points, points[:, :2], of=mask).judged, [2, 50])
    for of, error, words in (
        ([1.7], TypeError, "of is a list of points' whole numbers, or a mask of 60, got float64"),
        (3, TypeError, r"got int64 \[\]"),
        ([True] * 5, IndexError, "of is a mask of 5, and there are 60 points"),
        ([60], IndexError, "there is no point 60; the points are 0 to 59"),
        ([-1], IndexError, "there is no point -1"),
    ):
        for ask in (all_neighbours, lambda one, **more: quality(one, one[:, :2], **more)):
            with pytest.raises(error, match=words):
                ask(points, of=of)
