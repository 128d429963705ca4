"""Normalisation in float32: batch normalisation over [N, C, ...], channels-last in memory, and of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_SMALLEST = 32
"""Number of elements below which NumPy might as well do it."""
_SMALLEST_BATCH = 2048
"""The same for what is added up over a batch: NumPy keeps a digit more of few values."""


def _accepts(x: Any, *rest: Any, **params: Any) -> bool:
    if type(x) is not np.ndarray or not 2 <= x.ndim <= 5 or x.size < _SMALLEST:
        return False
    if x.dtype != FLOAT32:
        return False
    return all(type(array) is np.ndarray and array.dtype == FLOAT32 for array in rest)


def _accepts_batch(x: Any, *rest: Any, **params: Any) -> bool:
    return _accepts(x, *rest, **params) and x.size >= _SMALLEST_BATCH


def _accepts_layer(x: Any, *rest: Any, count: int, eps: float = 0.0) -> bool:
    return (
        type(x) is np.ndarray
        and x.size >= _SMALLEST
        and x.dtype == FLOAT32
        and 0 < count <= x.ndim
        and all(one is None or (type(one) is np.ndarray and one.dtype == FLOAT32) for one in rest)
    )


def _accepts_group(*arrays: Any, groups: int, eps: float = 0.0) -> bool:
    return arrays[0].size > 0 and all(type(one) is np.ndarray and one.dtype == FLOAT32 for one in arrays)


def _accepts_moved(*arrays: Any) -> bool:
    # The first two are written to: a flag of NumPy's says whether C++ may.
    return all(type(one) is np.ndarray and one.dtype == FLOAT32 for one in arrays[:4]) and all(
        one.flags.behaved for one in arrays[:2]
    )


if native is not None:
    register(Kernel("move_statistics", native.move_statistics, _accepts_moved))
    register(Kernel("layer_norm", native.layer_norm, _accepts_layer, least=_SMALLEST))
    register(Kernel("layer_norm_gradient", native.layer_norm_gradient, _accepts_layer, least=_SMALLEST))
    register(Kernel("rms_norm", native.rms_norm, _accepts_layer, least=_SMALLEST))
    register(Kernel("rms_norm_gradient", native.rms_norm_gradient, _accepts_layer, least=_SMALLEST))
    register(Kernel("group_norm", native.group_norm, _accepts_group))
    register(Kernel("group_norm_gradient", native.group_norm_gradient, _accepts_group))
    register(Kernel("batch_norm", native.batch_norm, _accepts_batch, least=_SMALLEST_BATCH))
    register(Kernel("batch_norm_gradient", native.batch_norm_gradient, _accepts_batch, least=_SMALLEST_BATCH))
    register(Kernel("batch_norm_inference", native.batch_norm_inference, _accepts, least=_SMALLEST))
