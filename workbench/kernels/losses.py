"""Losses of values against targets in float32, likelihoods of classes too, each or together, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DimensionIndexError
from workbench.kernels._arrays import FLOAT32, FLOAT64
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_LEAST_SCALE = 1e-30
"""A number below has no inverse in float32."""


def _accepts(
    x: Any, target: Any, *, reduction: str, bound: float = 1.0, scale: float = 1.0, log_target: bool = False
) -> bool:
    return (
        type(x) is np.ndarray
        and type(target) is np.ndarray
        and x.dtype == FLOAT32
        and target.dtype == FLOAT32
        and x.shape == target.shape
        and x.size > 0
        and scale >= _LEAST_SCALE
    )


def _accepts_gradient(g: Any, x: Any, target: Any, *, reduction: str, **numbers: Any) -> bool:
    return (
        _accepts(x, target, reduction=reduction, **numbers)
        and type(g) is np.ndarray
        and g.dtype == FLOAT32
        and g.shape == (x.shape if reduction == "none" else ())
    )


def _bent(run: Callable[..., Any]) -> Callable[..., Any]:
    # One division here, and a product for each value.
    return lambda *arrays, reduction, bound, scale: run(*arrays, reduction, bound, 1.0 / scale)


def _divergence(run: Callable[..., Any], of_logs: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays, reduction, log_target: (of_logs if log_target else run)(*arrays, reduction)


_INT64 = np.dtype(np.int64)


def _accepts_likelihood(x: Any, target: Any, weight: Any = None, **params: Any) -> bool:
    return (
        type(x) is np.ndarray
        and (x.dtype == FLOAT32 or x.dtype == FLOAT64)
        and x.ndim >= 2
        and x.size > 0
        and _are_classes(x, target, weight)
    )


def _are_classes(x: Any, target: Any, weight: Any) -> bool:
    return (
        type(target) is np.ndarray
        and target.dtype == _INT64
        and (weight is None or (type(weight) is np.ndarray and weight.dtype == x.dtype))
    )


def _accepts_likelihood_gradient(
    g: Any, target: Any, weight: Any = None, *, sizes: tuple[int, ...], **params: Any
) -> bool:
    return (
        type(g) is np.ndarray
        and (g.dtype == FLOAT32 or g.dtype == FLOAT64)
        and len(sizes) >= 2
        and 0 not in sizes
        and _are_classes(g, target, weight)
    )


def _of_classes(run: Callable[..., Any], classes_of: Callable[..., int]) -> Callable[..., Any]:
    def checked(*arrays: Any, **params: Any) -> Any:
        try:
            return run(*arrays, **params)
        except IndexError as error:
            raise DimensionIndexError(
                f"Target {error} is out of bounds: the input has {classes_of(*arrays, **params)} classes.",
                op="nll_loss",
            ) from None

    return checked


if native is not None:
    _CLASSES = ("float32 or float64 values, int64 classes",)
    _run = _of_classes(native.nll_loss, lambda x, *rest, **params: x.shape[1])
    register(Kernel("nll_loss", _run, _accepts_likelihood, _CLASSES))
    _run = _of_classes(native.nll_loss_gradient, lambda *arrays, sizes, **params: sizes[1])
    register(Kernel("nll_loss_gradient", _run, _accepts_likelihood_gradient, _CLASSES))
    for _name, _loss, _through in (
        ("mse_loss", native.mse_loss, native.mse_loss_gradient),
        ("l1_loss", native.l1_loss, native.l1_loss_gradient),
        ("huber_loss", _bent(native.huber_loss), _bent(native.huber_loss_gradient)),
        ("binary_cross_entropy_with_logits", native.logits_loss, native.logits_loss_gradient),
        (
            "kl_div",
            _divergence(native.divergence, native.divergence_of_logs),
            _divergence(native.divergence_gradient, native.divergence_of_logs_gradient),
        ),
    ):
        _needs = ("float32 values, targets of their size",)
        register(Kernel(_name, _loss, _accepts, _needs))
        register(Kernel(f"{_name}_gradient", _through, _accepts_gradient, _needs))
