"""Batch normalisation in float32 over [N, C, ...], channels-last in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_SMALLEST = 2048
"""Number of elements below which NumPy is as fast."""


def _accepts(x: Any, *rest: Any, **params: Any) -> bool:
    if type(x) is not np.ndarray or not 2 <= x.ndim <= 5 or x.size < _SMALLEST:
        return False
    if x.dtype != FLOAT32:
        return False
    return all(type(array) is np.ndarray and array.dtype == FLOAT32 for array in rest)


if native is not None:
    register(Kernel("batch_norm", native.batch_norm, _accepts))
    register(Kernel("batch_norm_gradient", native.batch_norm_gradient, _accepts))
    register(Kernel("batch_norm_inference", native.batch_norm_inference, _accepts))
    register(Kernel("scale_shift", native.scale_shift, _accepts))
