"""What observers and pictures ask of a tensor: extremes, moments, histograms, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, MEDIUM
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _accepts(x: Any, *rest: Any, **params: Any) -> bool:
    return type(x) is np.ndarray and x.size >= MEDIUM and x.dtype == FLOAT32


def _accepts_rows(x: Any) -> bool:
    return _accepts(x) and x.ndim == 2


if native is not None:
    # (min, max, NaN count, inf count); min and max of finite values, NaN where there is none.
    register(Kernel("min_max_nan_inf", native.min_max_nan_inf, _accepts))
    # (min, max, NaN count, inf count) of [rows, columns]: min and max are [rows], ∞ and -∞ where nothing is finite.
    register(Kernel("row_extremes", native.row_extremes, _accepts_rows))
    # dict: count, min, max, mean, std (population) of finite values; zeros, nan, inf are counts.
    register(Kernel("statistics", native.statistics, _accepts))
    # (x, low, high, bins) -> int64 [bins]; high belongs to the last bin; NaN and what lies outside to none.
    register(Kernel("histogram_counts", native.histogram, _accepts))
    # The same behind (min, max, NaN count, inf count), and None in its place where a finite value lies outside.
    register(Kernel("observed_histogram", native.observed_histogram, _accepts))
