"""Adamax: Adam by the largest gradient instead of the mean square."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.optim.elementwise import Arrays, Elementwise, lerp, settings_of
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_moments, number, pair

__all__ = ["Adamax"]


class Adamax(Elementwise):
    """Steps scaled by the running mean of the gradient over its running maximum.

    g ← g + weight_decay·p;  m ← β₁·m + (1 - β₁)·g;  u ← max(β₂·u, |g| + eps);
    p ← p - lr / (1 - β₁ᵗ) · m / u. Kingma and Ba 2015.

    Raises ValueError for negative settings and for betas outside [0, 1).

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.full((1,), 3.0)
    >>> Adamax([p], lr=0.5).step()
    >>> p.detach()
    tensor([0.5000])
    """

    rule = "adamax"
    known = frozenset({"exp_avg", "exp_inf"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": pair("betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and betas outside [0, 1)."""
        check_moments(settings)

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_inf"

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return settings_of(group, beta1=beta1, beta2=beta2)

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        beta1, beta2 = group["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        lerp(mean, gradient, 1 - beta1)
        largest *= beta2
        # eps goes to the gradient here and not to the divisor, as in PyTorch.
        np.maximum(largest, np.abs(gradient) + group["eps"], out=largest)
        parameter -= number(group["lr"]) / (1 - beta1 ** state["step"]) * (mean / largest)
