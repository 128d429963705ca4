"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench import kernels
from workbench.optim.optimizer import Group, Optimizer

__all__ = ["SGD"]

_kernel = kernels.lookup("sgd_step")


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

    g ← g + weight_decay·p;  v ← momentum·v + (1 - dampening)·g (first step: v = g);
    p ← p - lr·v, or p - lr·(g + momentum·v) if `nesterov`.

    >>> import workbench as wb
    >>> p = wb.ones(2, requires_grad=True)
    >>> optimizer = SGD([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.0000, 0.0000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and nesterov without momentum."""
        for key, words in (
            ("lr", "learning rate"),
            ("momentum", "momentum"),
            ("weight_decay", "weight_decay"),
        ):
            if not settings[key] >= 0:
                raise ValueError(f"Invalid {words} value: {settings[key]}; it must be 0 or more")
        if settings["nesterov"] and (settings["momentum"] <= 0 or settings["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], settings: Group) -> None:
        """Move one parameter."""
        first = "momentum_buffer" not in state
        if settings["momentum"] and first:
            state["momentum_buffer"] = np.zeros_like(parameter)
        velocity = state.get("momentum_buffer") if settings["momentum"] else None
        options = {key: settings[key] for key in ("lr", "momentum", "dampening", "weight_decay", "nesterov")}
        if _kernel is not None and _kernel.accepts(parameter, gradient, velocity):
            _kernel.run(parameter, gradient, velocity, **options, first=first)
        else:
            sgd_step(parameter, gradient, velocity, **options, first=first)


def sgd_step(
    parameter: Any,
    gradient: Any,
    velocity: Any,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    first: bool,
) -> None:
    """Change a parameter and its velocity in place: the plain form of the compiled step."""
    if weight_decay:
        gradient = gradient + weight_decay * parameter
    if momentum:
        if first:
            velocity[...] = gradient
        else:
            velocity *= momentum
            velocity += (1 - dampening) * gradient
        gradient = gradient + momentum * velocity if nesterov else velocity
    parameter -= lr * gradient
