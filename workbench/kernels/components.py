"""What principal components need of many points in floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

MOST_FEATURES = 320
"""Of more, a BLAS makes the products faster: it keeps parts of them in the near cache."""

LEAST_FEATURES = 8
"""Of fewer there is no vector to read."""
MOST_DIRECTIONS = 8
"""Of more, a BLAS is faster."""


def _plain(array: Any, ndim: int) -> bool:
    return (
        type(array) is np.ndarray
        and array.dtype == FLOAT32
        and array.ndim == ndim
        and array.flags.c_contiguous
    )


def _accepts_products(points: Any, middle: Any) -> bool:
    return _plain(points, 2) and points.shape[1] <= MOST_FEATURES and _plain(middle, 1)


def _accepts_places(points: Any, middle: Any, directions: Any) -> bool:
    fits = _plain(points, 2) and points.shape[1] >= LEAST_FEATURES and _plain(middle, 1)
    return fits and _plain(directions, 2) and len(directions) <= MOST_DIRECTIONS


if native is not None:
    # (points [N, features], middle [features]) -> float64 [features] and [features, features]: sums of the columns of
    # points - middle, and of their products. 128 rows at a time are added up in float32.
    register(Kernel("products_of_columns", native.products_of_columns, _accepts_products))
    # (points, middle, directions [k, features]) -> float64 [N, k]: (points - middle) directionsᵀ, added up in float32.
    register(Kernel("places_along", native.places_along, _accepts_places))
