"""Principal components, compared with the plain SVD; points of low rank, few points, and points that cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import workbench as wb
from workbench.embedding import PCA, pca


def by_svd(points: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions up to the signs of the axes, and variances, by the textbook."""
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    return (left * values)[:, :count], values[:count] ** 2 / (len(points) - 1)


def random(count: int, features: int) -> np.ndarray:
    scales = np.linspace(3, 0.5, features)
    return (np.random.default_rng(7).standard_normal((count, features)) * scales + 5).astype(np.float32)


@pytest.mark.parametrize(("count", "features"), [(200, 6), (12, 40), (50, 50), (5, 2)])
def test_positions_are_those_of_the_svd(count: int, features: int) -> None:
    points = random(count, features)
    kept = min(3, features)
    expected, variance = by_svd(points, kept)
    found = PCA(kept)
    positions = found.fit_transform(points)
    assert positions.dtype == np.float64
    np.testing.assert_allclose(np.abs(positions), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(found.explained_variance, variance, rtol=1e-8)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(kept), atol=1e-10)


def test_many_floats_are_multiplied_in_their_own_type(monkeypatch: pytest.MonkeyPatch) -> None:
    points = random(4000, 12) + np.float32(1000)
    expected = PCA(3).fit(points)
    positions = expected.transform(points)
    monkeypatch.setattr(pca, "SINGLE", 0)
    monkeypatch.setattr(pca, "CHUNK", 1000)
    found = PCA(3)
    np.testing.assert_allclose(found.fit_transform(points), positions, atol=2e-3)
    np.testing.assert_allclose(found.explained_variance_ratio, expected.explained_variance_ratio, rtol=1e-5)
    flat = np.outer(np.arange(100, dtype=np.float32), np.float32([1, 2, 2]))
    assert PCA(3).fit(flat).rank == 1


@pytest.mark.parametrize("shape", [(300, 20), (20, 300)])
def test_randomized_components_are_nearly_those_that_are_exact(shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(4)
    strong = generator.standard_normal((shape[0], 3)) @ generator.standard_normal((3, shape[1])) * 4
    points = strong + generator.standard_normal(shape) * 0.1
    exact, near = PCA(3).fit(points), PCA(3, solver="randomized").fit(points)
    np.testing.assert_allclose(near.components, exact.components, atol=1e-4)
    np.testing.assert_allclose(near.explained_variance, exact.explained_variance, rtol=1e-6)
    np.testing.assert_array_equal(near.components, PCA(3, solver="randomized").fit(points).components)


def test_shares_of_the_variance_are_of_all_of_it() -> None:
    points = random(100, 5)
    whole = PCA(5).fit(points)
    assert whole.explained_variance_ratio.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        PCA(2).fit(points).explained_variance_ratio, whole.explained_variance_ratio[:2]
    )


def test_the_greatest_entry_of_a_component_is_positive() -> None:
    points = random(60, 8)
    for values in (points, -points, points[::-1]):
        components = PCA(3).fit(values).components
        np.testing.assert_allclose(components, PCA(3).fit(points).components, atol=1e-9)
        assert all(row[np.abs(row).argmax()] > 0 for row in components)


def test_more_components_than_directions_are_zero() -> None:
    line = np.outer(np.arange(10.0), [1.0, 2.0, 2.0])
    found = PCA(3)
    positions = found.fit_transform(line)
    assert found.rank == 1
    assert not positions[:, 1:].any()
    np.testing.assert_allclose(positions[:, 0], (np.arange(10) - 4.5) * 3)
    np.testing.assert_allclose(found.explained_variance_ratio, [1, 0, 0])
    assert PCA(3).fit_transform([[1.0, 2.0], [3.0, 5.0]]).shape == (2, 3)


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[4.0, 4.0]] * 5])
def test_points_without_any_direction(points: list[list[float]]) -> None:
    found = PCA(2)
    assert not found.fit_transform(points).any()
    assert found.rank == 0
    assert not found.explained_variance_ratio.any()


def test_what_is_computed_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    points = random(101, 7)
    expected = PCA(3).fit_transform(points)
    monkeypatch.setattr(pca, "CHUNK", 50)
    np.testing.assert_allclose(PCA(3).fit_transform(points), expected, atol=1e-10)


def test_new_points_are_placed_by_the_old_components() -> None:
    points = random(50, 4)
    found = PCA(2).fit(wb.from_numpy(points, names=("N", "features")))
    np.testing.assert_allclose(found.transform(points[:5]), found.transform(points)[:5], atol=1e-12)
    with pytest.raises(ValueError, match="fitted to points of 4 features, these have 3"):
        found.transform(points[:, :3])
    with pytest.raises(ValueError, match=r"fit it first: PCA\(n\)\.fit\(points\)"):
        PCA(2).transform(points)


@given(arrays.arrays(np.float64, (6, 4), elements=st.floats(-100, 100)))
def test_nothing_is_lost_with_as_many_components_as_features(points: np.ndarray) -> None:
    found = PCA(4)
    positions = found.fit_transform(points)
    np.testing.assert_allclose(positions @ found.components + found.mean, points, atol=1e-5)


def test_rows_that_cannot_be_placed_are_counted() -> None:
    points = random(10, 3)
    points[2, 0] = np.nan
    points[[4, 7], 1] = np.inf
    points[7, 2] = np.nan
    with pytest.raises(
        ValueError,
        match=r"PCA: 3 of 10 points cannot be placed: 2 with NaN, 2 with infinite values \(rows 2, 4, 7\)",
    ):
        PCA(2).fit(points)


@pytest.mark.parametrize(
    ("points", "error", "words"),
    [
        (np.zeros((2, 3, 4)), wb.DimensionError, r"points are \[N, features\].*got shape \[2, 3, 4\]"),
        (np.zeros(3), wb.DimensionError, r"got shape \[3\]"),
        (
            np.zeros((0, 3)),
            wb.DimensionError,
            "at least one of each.*\n.*give vectors of at least one sample",
        ),
        (np.zeros((3, 2), complex), wb.DTypeError, "real numbers, got complex128"),
        (np.array([["a"]]), wb.DTypeError, "real numbers"),
    ],
)
def test_what_are_no_points(points: np.ndarray, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        PCA(2).fit(points)


def test_the_fix_for_activations_of_a_convolution_is_told() -> None:
    with pytest.raises(wb.DimensionError, match=r"try: vectors.flatten\(\['C', 'H', 'W'\], 'features'\)"):
        PCA(2).fit(wb.zeros(N=2, C=1, H=3, W=3))


@pytest.mark.parametrize("count", [0, -1, 2.0, True])
def test_impossible_numbers_of_components(count: object) -> None:
    with pytest.raises(ValueError, match="n_components is a whole number from 1"):
        PCA(count)  # type: ignore[arg-type]


def test_a_matrix_too_large_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pca, "MOST_FEATURES", 4)
    with pytest.raises(
        ValueError,
        match=r"6 points of 5 features take eigenvectors of a matrix of 5 rows; at most 4\..*randomized",
    ):
        PCA(2).fit(random(6, 5))
    assert PCA(2, solver="randomized").fit(random(6, 5)).rank == 2


@pytest.mark.parametrize("solver", ["exact", "randomized"])
@pytest.mark.parametrize("shape", [(60, 8), (5, 8)])
@pytest.mark.parametrize("factor", [1e200, 1e-200, 1e160])
def test_points_whose_squares_are_no_numbers(factor: float, shape: tuple[int, int], solver: Any) -> None:
    points = np.random.default_rng(0).standard_normal(shape)
    plain, far = PCA(3, solver=solver), PCA(3, solver=solver)
    np.testing.assert_allclose(
        far.fit_transform(points * factor) / factor, plain.fit_transform(points), atol=1e-9
    )
    np.testing.assert_allclose(far.components, plain.components, atol=1e-9)
    np.testing.assert_allclose(far.explained_variance_ratio, plain.explained_variance_ratio, rtol=1e-9)
    np.testing.assert_allclose(far.mean / factor, plain.mean, atol=1e-12)
    assert (far.explained_variance == (np.inf if factor > 1 else 0)).all()


def test_products_of_floats_leave_them_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    points = random(200, 6)
    monkeypatch.setattr(pca, "SINGLE", 0)
    plain = PCA(3).fit(points)
    for factor in (1e25, 1e-25):
        found = PCA(3).fit(points * np.float32(factor))
        np.testing.assert_allclose(found.explained_variance_ratio, plain.explained_variance_ratio, rtol=1e-4)
