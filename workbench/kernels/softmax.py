"""Softmax, its logarithm and their gradients in float32 and float64, and cross entropy in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DimensionIndexError
from workbench.kernels._arrays import FLOAT32, FLOAT64
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_INT64 = np.dtype(np.int64)
_NEEDS = ("float32 or float64",)


def _accepts(x: Any, *, dim: int = -1) -> bool:
    return (
        type(x) is np.ndarray
        and (x.dtype == FLOAT32 or x.dtype == FLOAT64)
        and -x.ndim <= dim < x.ndim
        and x.size > 0
    )


def _accepts_gradient(gradient: Any, y: Any, *, dim: int = -1) -> bool:
    return _accepts(y, dim=dim) and type(gradient) is np.ndarray and gradient.dtype == y.dtype


def _with(run: Callable[..., Any], logarithm: bool) -> Callable[..., Any]:
    def along(*arrays: Any, dim: int = -1) -> Any:
        return run(*arrays, dim=dim, logarithm=logarithm)

    return along


def _accepts_scores(
    x: Any, target: Any, *, reduction: str, ignore_index: int, smoothing: float = 0.0
) -> bool:
    return (
        type(x) is np.ndarray
        and type(target) is np.ndarray
        and x.dtype == FLOAT32
        and target.dtype == _INT64
        and x.ndim >= 2
        and x.size > 0
    )


def _accepts_loss(gradient: Any, x: Any, target: Any, **params: Any) -> bool:
    return type(gradient) is np.ndarray and gradient.dtype == FLOAT32 and _accepts_scores(x, target, **params)


def _cross_entropy(x: Any, target: Any, **params: Any) -> Any:
    try:
        return native.cross_entropy(x, target, **params)
    except IndexError as error:
        classes = x.shape[1]
        raise DimensionIndexError(
            f"Target {error} is out of bounds: the input has {classes} classes.", op="nll_loss"
        ) from None


if native is not None:
    register(Kernel("cross_entropy", _cross_entropy, _accepts_scores, ("float32 scores, int64 classes",)))
    register(
        Kernel(
            "cross_entropy_gradient",
            native.cross_entropy_gradient,
            _accepts_loss,
            ("float32 scores, int64 classes",),
        )
    )
    for _prefix, _logarithm in (("", False), ("log_", True)):
        register(Kernel(f"{_prefix}softmax", _with(native.softmax, _logarithm), _accepts, _NEEDS))
        register(
            Kernel(
                f"{_prefix}softmax_gradient",
                _with(native.softmax_gradient, _logarithm),
                _accepts_gradient,
                _NEEDS,
            )
        )
