"""Sums, means and extremes in float32 and bfloat16 over any dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, MEDIUM
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _accepts(x: Any, *, dim: tuple[int, ...], keepdim: bool) -> bool:
    return type(x) is np.ndarray and x.size >= 4 * MEDIUM and x.ndim > 0 and x.dtype == FLOAT32


def _accepts_half(x: Any, *, dim: tuple[int, ...], keepdim: bool) -> bool:
    return type(x) is np.ndarray and x.size >= MEDIUM and x.ndim > 0 and x.dtype == BFLOAT16


if native is not None:
    for _name in ("sum", "mean", "amax", "amin"):
        register(Kernel(_name, getattr(native, _name), _accepts, least=4 * MEDIUM))
        _run = getattr(native.bfloat16, _name)
        register(Kernel(_name, _run, _accepts_half, ("bfloat16",), MEDIUM), half=True)
