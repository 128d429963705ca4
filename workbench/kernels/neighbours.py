"""Distances from one point to many, and the nearest of several by products in floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, FLOAT64
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _plain(array: Any, *dtypes: Any) -> bool:
    return type(array) is np.ndarray and array.dtype in dtypes and array.flags.c_contiguous


def _accepts_point(points: Any, index: Any) -> bool:
    return _plain(points, FLOAT32, FLOAT64) and points.ndim == 2


def _accepts_direction(points: Any, direction: Any) -> bool:
    return _plain(points, FLOAT32, FLOAT64) and points.ndim == 2 and _plain(direction, FLOAT64)


def _accepts_products(
    products: Any, least: Any, width: Any, points: Any, own: Any, own_width: Any, k: int
) -> bool:
    single = all(_plain(one, FLOAT32) for one in (products, least, width, own_width))
    return (
        single and _plain(own, np.dtype(np.int64)) and _plain(points, FLOAT32, FLOAT64) and points.ndim == 2
    )


if native is not None:
    _NEEDS = ("float32 or float64",)
    # (points [N, features], index) -> float64 [N]: squared distances of all points to one of them.
    register(Kernel("distances_to", native.distances_to, _accepts_point, _NEEDS))
    # (points, direction float64 [features]) -> float64 [N] twice: products with it, and squares of lengths.
    register(Kernel("products_with", native.products_with, _accepts_direction, _NEEDS))
    # (products [rows, N], least [N], width [N], points, own [rows], own_width [rows], k) -> indices, distances [rows,
    # k]. A squared distance less the own point's square is to lie between least - 2 products and that + width +
    # own_width; what may be near is computed anew.
    register(Kernel("nearest_of_products", native.nearest_of_products, _accepts_products, _NEEDS))
