"""Sums, means and extremes in float32 over any dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, MEDIUM
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _accepts(x: Any, *, dim: tuple[int, ...], keepdim: bool) -> bool:
    return type(x) is np.ndarray and x.size >= 4 * MEDIUM and x.ndim > 0 and x.dtype == FLOAT32


if native is not None:
    for _name in ("sum", "mean", "amax", "amin"):
        register(Kernel(_name, getattr(native, _name), _accepts, least=4 * MEDIUM))
