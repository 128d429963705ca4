"""Losses of values against targets in float32, each or together, and gradients through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
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


if native is not None:
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
