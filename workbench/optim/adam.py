"""Adam, and AdamW, which keeps weight decay out of the moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.optim.elementwise import Arrays, Elementwise, lerp, settings_of
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_moments, number, pair

__all__ = ["Adam", "AdamW", "move_moments"]


class Adam(Elementwise):
    """Steps scaled by running moments of the gradient.

    g ← g + weight_decay·p;  m ← β₁·m + (1 - β₁)·g;  v ← β₂·v + (1 - β₂)·g²;
    p ← p - lr·m̂ / (√v̂ + eps), with m̂ = m / (1 - β₁ᵗ), v̂ = v / (1 - β₂ᵗ). Kingma and Ba 2015.

    With `amsgrad` the largest v so far takes the place of v (Reddi, Kale and Kumar 2018); with
    `decoupled_weight_decay` it is `AdamW`. Raises ValueError for negative settings and for betas outside [0, 1).

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> optimizer = Adam([p], lr=0.25)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.7500])
    """

    rule = "adam"
    known = frozenset({"exp_avg", "exp_avg_sq", "max_exp_avg_sq"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": pair("betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and betas outside [0, 1)."""
        check_moments(settings)

    def _decoupled(self, group: Group) -> bool:
        return bool(group["decoupled_weight_decay"])

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return settings_of(
            group,
            beta1=beta1,
            beta2=beta2,
            decoupled=self._decoupled(group),
            variant=group["amsgrad"],
        )

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        beta1, beta2 = (number(beta) for beta in group["betas"])
        square = move_moments(gradient, state, beta1, beta2)
        if group["amsgrad"]:
            square = np.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        step = state["step"]
        # The roots apart, as PyTorch takes them, so that rounding is the same.
        denominator = np.sqrt(square) / math.sqrt(1 - beta2**step) + group["eps"]
        parameter -= number(group["lr"]) / (1 - beta1**step) * (state["exp_avg"] / denominator)


class AdamW(Adam):
    """Adam with decoupled weight decay: p ← p - lr·weight_decay·p before the step. Loshchilov and Hutter 2019.

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.zeros(1)
    >>> AdamW([p], lr=0.5, weight_decay=0.5).step()
    >>> p.detach()
    tensor([0.7500])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def _decoupled(self, group: Group) -> bool:
        return True  # also where a loaded state comes from Adam


def move_moments(gradient: Any, state: Arrays, beta1: float, beta2: float) -> Any:
    """Move the running mean and the running square towards those of a gradient, and return the square."""
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    lerp(mean, gradient, 1 - beta1)
    square *= beta2
    square += (1 - beta2) * gradient * gradient  # from left to right: a square leaves the type sooner
    return square
