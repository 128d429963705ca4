"""Products of columns and places along directions, less a middle: against NumPy in doubles."""

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


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (129, 8), (2000, 23), (1100, 50), (300, 67)])
def test_they_are_those_of_numpy_with_any_number_of_threads(shape: tuple[int, int]) -> None:
    points = floats(*shape) + np.float32(100)
    middle = points[0].copy()
    apart = points.astype(np.float64) - middle
    found = []
    before = kernels.get_num_threads()
    try:
        for threads in (1, 2):
            kernels.set_num_threads(threads)
            found.append(run("products_of_columns")(points, middle))
    finally:
        kernels.set_num_threads(before)
    (sums, square), (again, square_again) = found
    np.testing.assert_array_equal(sums, again)
    np.testing.assert_array_equal(square, square_again)
    np.testing.assert_allclose(sums, apart.sum(0), rtol=1e-6, atol=1e-4 * shape[0] ** 0.5)
    np.testing.assert_allclose(square, apart.T @ apart, rtol=1e-5, atol=1e-4 * shape[0] ** 0.5)
    np.testing.assert_array_equal(square, square.T)


@pytest.mark.parametrize("features", [8, 13, 50])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_places_are_products_with_directions(features: int, count: int) -> None:
    points, directions = floats(200, features) + np.float32(100), floats(count, features)
    middle = points.mean(0)
    found = run("places_along")(points, middle, directions)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, (points.astype(np.float64) - middle) @ directions.T, atol=1e-3)


def test_what_does_not_fit_is_refused() -> None:
    points = floats(20, 9)
    with pytest.raises(ValueError, match="give points and features, and a middle"):
        run("products_of_columns")(points, points[0, :4].copy())
    with pytest.raises(ValueError, match=r"directions of .* for points of 9"):
        run("places_along")(points, points[0].copy(), floats(2, 8))
    with pytest.raises(ValueError, match="with 5 features; 8 or more"):
        run("places_along")(floats(4, 5), floats(5), floats(1, 5))
