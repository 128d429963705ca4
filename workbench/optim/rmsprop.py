"""RMSprop: steps scaled by the running mean square of the gradient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.optim.elementwise import Arrays, Elementwise, lerp, settings_of
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_not_negative, check_rate, check_ways, number

__all__ = ["RMSprop"]


class RMSprop(Elementwise):
    """Steps scaled by the running mean square of the gradient.

    g ← g + weight_decay·p;  v ← α·v + (1 - α)·g²;  if `centered`: a ← α·a + (1 - α)·g and v - a² for v;
    p ← p - lr·g / (√v + eps), or with momentum b ← momentum·b + g / (√v + eps), p ← p - lr·b.
    Tieleman and Hinton 2012; centered: Graves 2013.

    Raises ValueError for negative settings.

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.ones(1)
    >>> RMSprop([p], lr=0.05).step()
    >>> p.detach()
    tensor([0.5000])
    """

    rule = "rmsprop"
    known = frozenset({"square_avg", "momentum_buffer", "grad_avg"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings."""
        check_rate(settings)
        check_not_negative(
            settings, eps="epsilon", momentum="momentum", weight_decay="weight_decay", alpha="alpha"
        )
        check_ways(settings)

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return (
            "square_avg",
            "momentum_buffer" if group["momentum"] > 0 else None,
            "grad_avg" if group["centered"] else None,
        )

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        return settings_of(group, beta2=group["alpha"], momentum=group["momentum"], variant=group["centered"])

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        alpha, square = group["alpha"], state["square_avg"]
        square *= alpha
        square += (1 - alpha) * gradient * gradient  # from left to right: a square leaves the type sooner
        if group["centered"]:
            mean = state["grad_avg"]
            lerp(mean, gradient, 1 - alpha)
            # Where a finite mean's square leaves the type, the mean square has left it before. Not in place: what is
            # kept is the mean square itself.
            outside = np.isinf(square) & np.isfinite(mean)
            square = np.where(outside, square, square - np.square(mean))
        # eps beside the root: TensorFlow has it under it, and other updates.
        change = gradient / (np.sqrt(square) + group["eps"])
        if group["momentum"] > 0:
            velocity = state["momentum_buffer"]
            velocity *= group["momentum"]
            velocity += change
            change = velocity
        parameter -= number(group["lr"]) * change
