"""Softmax, its logarithm and their gradients in float32, along any dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32, MEDIUM, is_medium
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _accepts(x: Any, *, dim: int = -1) -> bool:
    return is_medium(x) and -x.ndim <= dim < x.ndim and x.shape[dim] > 0


def _accepts_gradient(gradient: Any, y: Any, *, dim: int = -1) -> bool:
    return _accepts(y, dim=dim) and type(gradient) is np.ndarray and gradient.dtype == FLOAT32


def _with(run: Callable[..., Any], logarithm: bool) -> Callable[..., Any]:
    def along(*arrays: Any, dim: int = -1) -> Any:
        return run(*arrays, dim=dim, logarithm=logarithm)

    return along


if native is not None:
    for _prefix, _logarithm in (("", False), ("log_", True)):
        register(Kernel(f"{_prefix}softmax", _with(native.softmax, _logarithm), _accepts, least=MEDIUM))
        register(
            Kernel(
                f"{_prefix}softmax_gradient",
                _with(native.softmax_gradient, _logarithm),
                _accepts_gradient,
                least=MEDIUM,
            )
        )
