"""Tests on arguments that the predicates share; they run before every op, so they are short."""

from __future__ import annotations

from typing import Any

import numpy as np

FLOAT32 = np.dtype(np.float32)
WORTHWHILE = 16384
"""Number of elements from which a compiled elementwise kernel beats NumPy in spite of the call."""


def is_floats(array: Any, ndim: int) -> bool:
    """Say whether `array` is a float32 NumPy array of `ndim` dimensions."""
    return type(array) is np.ndarray and array.dtype == FLOAT32 and array.ndim == ndim


def is_large(array: Any) -> bool:
    """Say whether `array` is a float32 NumPy array worth a compiled elementwise kernel."""
    return type(array) is np.ndarray and array.size >= WORTHWHILE and array.dtype == FLOAT32
