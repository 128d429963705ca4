"""The nearest of many points: what floats leave open is decided in doubles, equal distances by their places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.calls import floats
from workbench import kernels


def run(name: str) -> Any:
    kernel = kernels.lookup(name)
    assert kernel is not None
    return kernel.run


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (300, 16), (90, 61)])
def test_distances_and_products_are_those_of_numpy(shape: tuple[int, int], dtype: Any) -> None:
    points = floats(*shape).astype(dtype)
    wide = points.astype(np.float64)
    found = run("distances_to")(points, shape[0] // 2)
    np.testing.assert_allclose(found, ((wide - wide[shape[0] // 2]) ** 2).sum(1), rtol=1e-13, atol=1e-300)
    products, squares = run("products_with")(points, wide[0])
    np.testing.assert_allclose(products, wide @ wide[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(squares, (wide**2).sum(1), rtol=1e-13)


@pytest.mark.parametrize(("count", "k"), [(2, 1), (19, 18), (40, 3), (700, 20), (3000, 5)])
@pytest.mark.parametrize("equal", [False, True])
def test_the_nearest_are_those_of_sorting(count: int, k: int, equal: bool) -> None:
    points = floats(count, 5)
    if equal:
        # Many as far as each other, more than there is room for at first.
        points = np.round(points / 4).astype(np.float32)
    squares = (points.astype(np.float64) ** 2).sum(1)
    own = np.array([0, count // 2, count - 1], np.int64)
    # Products that are off by as much as is said.
    off = np.float32(0.01)
    products = (points[own] @ points.T + np.sign(floats(3, count)) * off).astype(np.float32)
    least, width = (squares - 3 * off).astype(np.float32), np.full(count, 6 * off, np.float32)
    indices, distances = run("nearest_of_products")(products, least, width, points, own, width[own], k)
    for row, place in enumerate(own):
        apart = np.sqrt(run("distances_to")(points, int(place)))
        apart[place] = np.inf
        order = np.lexsort((np.arange(count), apart))[:k]
        np.testing.assert_array_equal(indices[row], order)
        np.testing.assert_array_equal(distances[row], apart[order])


def test_all_that_is_near_may_be_in_one_of_the_groups_that_give_the_bound() -> None:
    # The least of each of 8 (k + 1), rounded up to sixteens, is looked at first.
    k, groups, count = 3, 32, 4000
    points = np.full((count, 4), 50, np.float32) + floats(count, 4)
    points[::groups] = floats(len(points[::groups]), 4)
    own = np.array([0, groups, count - groups], np.int64)
    squares = (points.astype(np.float64) ** 2).sum(1)
    products, width = points[own] @ points.T, np.full(count, 0.1, np.float32)
    least = (squares - 0.05).astype(np.float32)
    indices, _ = run("nearest_of_products")(products, least, width, points, own, width[own], k)
    for row, place in enumerate(own):
        apart = ((points - points[place]) ** 2).sum(1)
        apart[place] = np.inf
        np.testing.assert_array_equal(indices[row], np.argsort(apart, kind="stable")[:k])


def test_what_does_not_fit_is_refused() -> None:
    points, row = floats(6, 3), floats(6)
    own = np.zeros(1, np.int64)
    nearest = run("nearest_of_products")
    with pytest.raises(ValueError, match="point 6 of 6"):
        run("distances_to")(points, 6)
    with pytest.raises(ValueError, match="a direction of"):
        run("products_with")(points, np.zeros(4))
    with pytest.raises(ValueError, match="the 6 nearest of 6 points"):
        nearest(floats(1, 6), row, row, points, own, row[:1], 6)
    with pytest.raises(ValueError, match="point 9 of 6"):
        nearest(floats(1, 6), row, row, points, own + 9, row[:1], 2)
    with pytest.raises(ValueError, match="for 6 points"):
        nearest(floats(1, 5), row, row, points, own, row[:1], 2)
    with pytest.raises(ValueError, match="some products are not finite"):
        nearest(np.full((1, 6), np.nan, np.float32), row, row, points, own, row[:1], 2)
