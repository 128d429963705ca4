"""Neighbours of all points, and what pictures make of them: against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import workbench as wb
from workbench.embedding import Embedding, aligned, all_neighbours, compare, neighbours, quality
from workbench.widgets.scatter import ScatterModel

SMALL = arrays.arrays(
    np.float64, st.tuples(st.integers(7, 14), st.integers(1, 4)), elements=st.integers(-3, 3)
)


@given(SMALL, st.integers(1, 6))
def test_all_neighbours_are_those_of_each_point_ties_too(points: np.ndarray, k: int) -> None:
    found = all_neighbours(points, k)
    for i in range(len(points)):
        one = neighbours(points, i, k, "euclidean")
        np.testing.assert_array_equal(found.indices[i], one.indices)
        np.testing.assert_allclose(found.distances[i], one.distances, rtol=1e-9)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize(("count", "features", "k"), [(1500, 3, 7), (600, 300, 5), (3000, 17, 20), (9, 4, 8)])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_all_neighbours_of_many(metric: str, count: int, features: int, k: int, shift: float) -> None:
    points = np.random.default_rng(1).standard_normal((count, features)).astype(np.float32) + np.float32(
        shift
    )
    points[5] = points[3]
    found = all_neighbours(points, k, metric)  # type: ignore[arg-type]
    for i in range(0, count, max(1, count // 40)):
        one = neighbours(points, i, k, metric)  # type: ignore[arg-type]
        np.testing.assert_allclose(found.distances[i], one.distances, rtol=1e-6, atol=1e-12)
        if metric == "euclidean":
            np.testing.assert_array_equal(found.indices[i], one.indices)


def ranks(points: np.ndarray) -> np.ndarray:
    """The rank of each point seen from each other, 1 for the nearest."""
    apart = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.fill_diagonal(apart, np.inf)
    order = apart.argsort(axis=1, kind="stable")
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.arange(1, len(points) + 1)[None].repeat(len(points), 0), 1)
    return found


def by_hand(space: np.ndarray, picture: np.ndarray, k: int) -> float:
    count, of_space, of_picture = len(space), ranks(space), ranks(picture)
    torn = (of_picture <= k) & (of_space > k)
    return float(1 - 2 / (count * k * (2 * count - 3 * k - 1)) * ((of_space - k) * torn).sum())


@pytest.mark.parametrize("k", [1, 5, 19])
def test_quality_is_what_counting_gives(k: int) -> None:
    generator = np.random.default_rng(k)
    space = generator.standard_normal((60, 10))
    picture = space[:, :2] + generator.standard_normal((60, 2)) * 0.3
    found = quality(space, picture, k)
    assert found.trustworthiness == pytest.approx(by_hand(space, picture, k), abs=1e-12)
    assert found.continuity == pytest.approx(by_hand(picture, space, k), abs=1e-12)
    assert found.trust_of_points.mean() == pytest.approx(found.trustworthiness)
    assert found.trust_of_points.shape == found.continuity_of_points.shape == (60,)
    assert 0 <= found.trust_of_points.min() and found.continuity_of_points.max() <= 1


def test_a_point_that_a_picture_puts_elsewhere_is_found() -> None:
    space = np.random.default_rng(0).standard_normal((80, 2))
    picture = space.copy()
    picture[7] += 100
    found = quality(space, picture, 5)
    assert found.trust_of_points.argmin() == 7 and found.trustworthiness > 0.95
    assert quality(space, space * 3 + 1, 5).continuity == 1


def test_two_embeddings_are_compared_by_the_neighbours_of_their_points() -> None:
    first = wb.tensor([[0.0], [1.0], [2.0], [10.0], [11.0]])
    second = wb.tensor([[0.0, 0.0], [1.0, 0.0], [10.5, 0.0], [10.0, 0.0], [11.5, 0.0]])
    change = compare(wb.embedding.Embedding(first), second, 1, "euclidean")
    assert change.kept.tolist() == [1, 1, 0, 0, 0]
    assert [one.tolist() for one in change.lost] == [[], [], [1], [4], [3]]
    assert [one.tolist() for one in change.gained] == [[], [], [3], [2], [2]]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: all_neighbours(wb.eye(3), 3), ValueError, "k is a whole number from 1 to 2, got 3"),
        (lambda: all_neighbours(wb.eye(3), 1, "manhattan"), ValueError, "there is no metric 'manhattan'"),
        (
            lambda: all_neighbours(wb.zeros(3, 2), 1, "cosine"),
            ValueError,
            "3 points are zero .point 0. and have no",
        ),
        (
            lambda: all_neighbours([[np.nan], [1.0]], 1),
            ValueError,
            "1 of 2 points cannot be placed: 1 with NaN",
        ),
        (lambda: quality(wb.eye(9), wb.eye(8), 2), wb.DimensionError, "the same points twice, got 9 and 8"),
        (lambda: quality(wb.eye(8), wb.eye(8), 4), ValueError, "less than half of 8 points, got 4"),
        (lambda: compare(wb.eye(9), wb.eye(8), 2), wb.DimensionError, "the same points twice, got 9 and 8"),
    ],
)
def test_what_cannot_be_judged_is_refused(ask: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()  # type: ignore[operator]


def test_points_whose_order_rounding_hides_come_in_the_order_of_the_exact_distances() -> None:
    generator = np.random.default_rng(5)
    one = generator.standard_normal(40)
    points = np.stack([np.zeros(40), *(generator.permutation(one) for _ in range(60))])
    found = all_neighbours(points, 20)
    expected = neighbours(points, 0, 20, "euclidean")
    np.testing.assert_array_equal(found.indices[0], expected.indices)
    np.testing.assert_array_equal(found.distances[0], expected.distances)


def test_the_same_points_are_found_by_their_names_in_any_order() -> None:
    rng = np.random.default_rng(5)
    points, order = rng.standard_normal((30, 4)), rng.permutation(30)
    names = [f"w{at}" for at in range(30)]
    first = Embedding(points, names=names)
    mixed = Embedding(points[order], names=[names[at] for at in order])
    assert compare(first, mixed, 3).kept.mean() == 1 and compare(points, points[order], 3).kept.mean() < 1
    film = aligned([mixed, first])
    one, other = film.projections.values()
    np.testing.assert_allclose(one.positions, other.positions, atol=1e-5)
    model = ScatterModel(first, beside={"mixed": mixed})
    assert np.array_equal(model._beside["mixed"].vectors, points)
    others = Embedding(points, names=["x", *names[1:]])
    for ask in (
        lambda: compare(first, others, 3),
        lambda: aligned([others, first]),
        lambda: ScatterModel(first, beside={"others": others}),
    ):
        with pytest.raises(ValueError, match=r"is of the same points, and 'w0' is no point of the second"):
            ask()
    twice = Embedding(points, names=["w0", *names[:-1]])
    with pytest.raises(ValueError, match="names that repeat stand in another order"):
        compare(twice, twice.take(slice(None, None, -1)), 3)
    assert compare(twice, Embedding(points), 3).kept.mean() == 1
