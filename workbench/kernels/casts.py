"""From float32 to bfloat16 and back: what NumPy does one value at a time."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from workbench.kernels._arrays import FLOAT32, MEDIUM
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__ = ["BFLOAT16", "cast"]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def _accepts(x: Any, *, dtype: Any) -> bool:
    if type(x) is not np.ndarray or x.size < MEDIUM:
        return False
    return bool((x.dtype == BFLOAT16 and dtype == FLOAT32) or (x.dtype == FLOAT32 and dtype == BFLOAT16))


def _to(x: Any, *, dtype: Any) -> Any:
    return native.to_bfloat16(x) if x.dtype == FLOAT32 else native.to_float32(x)


def cast(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return a copy of `array` in another type, in memory as it lies; what is too large for the type is infinite."""
    if native is not None and _accepts(array, dtype=dtype):
        return _to(array, dtype=dtype)
    return array.astype(dtype)


if native is not None:
    register(Kernel("to", _to, _accepts, ("float32 to bfloat16, or back",), MEDIUM))
