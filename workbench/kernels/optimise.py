"""Optimizer steps in place: one pass over a parameter, its gradient and its state."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _alike(*arrays: Any) -> bool:
    """Say whether all arrays are writable float32 with one shape, dense in one memory order."""
    first = arrays[0]
    if type(first) is not np.ndarray or first.dtype != FLOAT32:
        return False
    if not (first.flags.c_contiguous or (first.ndim > 2 and np.moveaxis(first, 1, -1).flags.c_contiguous)):
        return False
    return all(
        type(array) is np.ndarray
        and array.dtype == FLOAT32
        and array.shape == first.shape
        and array.strides == first.strides
        for array in arrays[1:]
    )


def _accepts_adam(parameter: Any, gradient: Any, mean: Any, square: Any, **params: Any) -> bool:
    return _alike(parameter, gradient, mean, square) and parameter.flags.writeable


def _accepts_sgd(parameter: Any, gradient: Any, velocity: Any = None, **params: Any) -> bool:
    state = () if velocity is None else (velocity,)
    return _alike(parameter, gradient, *state) and parameter.flags.writeable


if native is not None:
    register(Kernel("adam_step", native.adam_step, _accepts_adam))
    register(Kernel("sgd_step", native.sgd_step, _accepts_sgd))
