"""Adam, and AdamW, which keeps weight decay out of the moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench import kernels
from workbench.optim.optimizer import Group, Optimizer

__all__ = ["Adam", "AdamW"]

_kernel = kernels.lookup("adam_step")


class Adam(Optimizer):
    """Steps scaled by running moments of the gradient.

    g ← g + weight_decay·p;  m ← β₁·m + (1 - β₁)·g;  v ← β₂·v + (1 - β₂)·g²;
    p ← p - lr·m̂ / (√v̂ + eps), with m̂ = m / (1 - β₁ᵗ), v̂ = v / (1 - β₂ᵗ). Kingma and Ba 2015.

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> optimizer = Adam([p], lr=0.25)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.7500])
    """

    decoupled = False
    """True where the decay shrinks the parameter itself, outside the moments."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay})

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and betas outside [0, 1)."""
        for key, words in (("lr", "learning rate"), ("eps", "epsilon"), ("weight_decay", "weight_decay")):
            if not settings[key] >= 0:
                raise ValueError(f"Invalid {words} value: {settings[key]}; it must be 0 or more")
        for i, beta in enumerate(settings["betas"]):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}; it must be in [0, 1)")

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], settings: Group) -> None:
        """Move one parameter."""
        if not state:
            state.update(step=0, exp_avg=np.zeros_like(parameter), exp_avg_sq=np.zeros_like(parameter))
        state["step"] += 1
        arrays = (parameter, gradient, state["exp_avg"], state["exp_avg_sq"])
        beta1, beta2 = settings["betas"]
        options = {
            "lr": settings["lr"],
            "beta1": beta1,
            "beta2": beta2,
            "eps": settings["eps"],
            "weight_decay": settings["weight_decay"],
            "step": state["step"],
            "decoupled": self.decoupled,
        }
        if _kernel is not None and _kernel.accepts(*arrays):
            _kernel.run(*arrays, **options)
        else:
            adam_step(*arrays, **options)


class AdamW(Adam):
    """Adam with decoupled weight decay: p ← p - lr·weight_decay·p before the step. Loshchilov and Hutter 2019."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


def adam_step(
    parameter: Any,
    gradient: Any,
    mean: Any,
    square: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    decoupled: bool,
) -> None:
    """Change a parameter and its moments in place: the plain form of the compiled step."""
    if weight_decay and decoupled:
        parameter *= 1 - lr * weight_decay
    elif weight_decay:
        gradient = gradient + weight_decay * parameter
    mean += (1 - beta1) * (gradient - mean)
    square *= beta2
    square += (1 - beta2) * np.square(gradient)
    denominator = np.sqrt(square)
    denominator /= math.sqrt(1 - beta2**step)
    denominator += eps
    parameter -= (lr / (1 - beta1**step)) * mean / denominator
