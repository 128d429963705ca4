"""Normalisation of numbers whose squares leave their type, in compiled kernels and in NumPy's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["inverse_deviation", "normalise_in_range"]

Array = Any


def inverse_deviation(variance: Array, eps: float) -> Array:
    """Return 1 / √(variance + ε): in double precision, for ε may be far below what the variance's type has."""
    return (1 / np.sqrt(variance + np.float64(eps))).astype(variance.dtype, copy=False)


def normalise_in_range(
    normalise: Callable[[Array, float], tuple[Array, ...]],
    x: Array,
    eps: float,
    against: Callable[[Array], Array],
) -> tuple[Array, ...]:
    """Return what ``normalise(x, eps)`` gives: values, their means (or none), and reciprocal deviations.

    What has no deviation because its squares left the type is normalised once more, made smaller by a power of two,
    which changes no digit. `against` lays a statistic out so that it broadcasts against the values.
    """
    y, *means, rstd = normalise(x, eps)
    if not rstd.size or rstd.min() > 0:  # NaN is not
        return (y, *means, rstd)
    outside = ~(rstd > 0)
    # The largest number becomes so small that the squares of as many as memory holds can be added up.
    exponent: int = ml_dtypes.finfo(x.dtype).maxexp  # type: ignore[no-untyped-call]
    small = x.dtype.type(2.0 ** -(exponent * 5 // 8))
    with np.errstate(under="ignore"):
        less = max(eps * float(small) ** 2, np.finfo(np.float64).tiny if eps else 0.0)
        again, *other_means, inverse = normalise(x * small, less)
    kept = [np.where(outside, b / small, a) for a, b in zip(means, other_means, strict=True)]
    return (np.where(against(outside), again, y), *kept, np.where(outside, inverse * small, rstd))
