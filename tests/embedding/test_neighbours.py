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
from workbench.embedding import neighbours

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
