"""Sums, means and extremes in float32 and bfloat16 over any dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, FLOAT64, MEDIUM
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _accepts(x: Any, *, dim: tuple[int, ...], keepdim: bool) -> bool:
    return type(x) is np.ndarray and x.size >= 4 * MEDIUM and x.ndim > 0 and x.dtype == FLOAT32


def _accepts_half(x: Any, *, dim: tuple[int, ...], keepdim: bool) -> bool:
    return type(x) is np.ndarray and x.size >= MEDIUM and x.ndim > 0 and x.dtype == BFLOAT16


_ORDERED = (FLOAT32, FLOAT64, np.dtype(np.int64))


def _accepts_extremes(x: Any, *, dim: int, keepdim: bool) -> bool:
    # NumPy finds the place in long rows with registers; few values, and columns, it takes one by one.
    return (
        type(x) is np.ndarray
        and 0 < x.ndim
        and 0 < x.size
        and (x.size <= 2 * MEDIUM or dim % x.ndim < x.ndim - 1)
        and x.dtype in _ORDERED
    )


if native is not None:
    for _name in ("max_dim", "min_dim"):
        register(Kernel(_name, getattr(native, _name), _accepts_extremes, ("float32, float64 or int64",)))
    for _name in ("sum", "mean", "amax", "amin"):
        register(Kernel(_name, getattr(native, _name), _accepts, least=4 * MEDIUM))
        _run = getattr(native.bfloat16, _name)
        register(Kernel(_name, _run, _accepts_half, ("bfloat16",), MEDIUM), half=True)
