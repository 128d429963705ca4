"""Tests on arguments that the predicates share; they run before every op, so they are short."""

from __future__ import annotations

from typing import Any

import numpy as np

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
LARGE = 65536
"""Number of elements from which a compiled loop beats NumPy's own vectorised one in spite of the call."""
MEDIUM = 1024
"""The same for what NumPy does one value at a time, or in several passes."""


def is_floats(array: Any, ndim: int) -> bool:
    """Say whether `array` is a float32 NumPy array of `ndim` dimensions."""
    # By `type`: subclasses, such as masked arrays, mean something else by the same memory.
    return type(array) is np.ndarray and array.dtype == FLOAT32 and array.ndim == ndim


def is_large(array: Any) -> bool:
    """Say whether `array` is a float32 NumPy array of LARGE size or more."""
    # In the order in which they say no: this is asked before every op.
    return type(array) is np.ndarray and array.size >= LARGE and array.dtype == FLOAT32


def is_medium(array: Any) -> bool:
    """Say whether `array` is a float32 NumPy array of MEDIUM size or more."""
    return type(array) is np.ndarray and array.size >= MEDIUM and array.dtype == FLOAT32
