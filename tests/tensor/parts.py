"""What tests of values in and out of tensors have in common."""

from __future__ import annotations

import numpy as np

import workbench as wb

__all__ = ["DTYPES", "values"]

DTYPES = [
    "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
    "int8", "int16", "int32", "int64", "uint8", "bool",
]  # fmt: skip


def values(dtype: str) -> np.ndarray:
    """Zeros and ones of a type, as an array [3, 4]."""
    return (np.arange(12).reshape(3, 4) % 2).astype(wb.zeros(0, dtype=dtype).numpy().dtype)
