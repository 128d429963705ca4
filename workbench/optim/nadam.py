"""NAdam and RAdam: Adam looking ahead, and Adam that waits until it knows the variance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from workbench.optim.adam import move_moments
from workbench.optim.elementwise import Arrays, Elementwise, settings_of
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_moments, number, pair

__all__ = ["NAdam", "RAdam"]


class NAdam(Elementwise):
    """Adam with Nesterov's momentum.

    μₜ = β₁·(1 - 0.96^(t·momentum_decay) / 2);  m and v as in Adam;
    p ← p - lr·((1 - μₜ)·g / (1 - Πμ) + μₜ₊₁·m / (1 - Πμ·μₜ₊₁)) / (√v̂ + eps). Dozat 2016.

    Raises ValueError for negative settings and for betas outside [0, 1).

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.ones(1)
    >>> NAdam([p], lr=0.1).step()
    >>> p.item() < 1
    True
    """

    rule = "nadam"
    scalars: ClassVar[Mapping[str, float]] = {"mu_product": 1.0}
    known = frozenset({"exp_avg", "exp_avg_sq"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": pair("betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and betas outside [0, 1)."""
        check_moments(settings, momentum_decay="momentum_decay")

    def _decoupled(self, group: Group) -> bool:
        return bool(group["decoupled_weight_decay"])

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq"

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        decoupled = group["decoupled_weight_decay"]
        return settings_of(
            group, beta1=beta1, beta2=beta2, other=group["momentum_decay"], decoupled=decoupled
        )

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        beta1, beta2 = group["betas"]
        step, decay, lr = state["step"], group["momentum_decay"], number(group["lr"])
        # 0.96 is Dozat's, and not a setting in PyTorch either.
        now, after = (beta1 * (1 - 0.5 * 0.96 ** (at * decay)) for at in (step, step + 1))
        state["mu_product"][...] *= now
        product = float(state["mu_product"])
        square = move_moments(gradient, state, beta1, beta2)
        denominator = np.sqrt(square / (1 - beta2**step)) + group["eps"]
        parameter -= lr * (1 - now) / (1 - product) * (gradient / denominator)
        parameter -= lr * after / (1 - product * after) * (state["exp_avg"] / denominator)


class RAdam(Elementwise):
    """Adam that divides by the variance only once enough steps have measured it.

    ρ = 2 / (1 - β₂) - 1;  ρₜ = ρ - 2t·β₂ᵗ / (1 - β₂ᵗ);  m and v as in Adam;
    p ← p - lr·m̂·r·√(1 - β₂ᵗ) / (√v + eps) where ρₜ > 5, with
    r² = (ρₜ - 4)(ρₜ - 2)ρ / ((ρ - 4)(ρ - 2)ρₜ); else p ← p - lr·m̂. Liu et al. 2020.

    Raises ValueError for negative settings and for betas outside [0, 1).

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.ones(1)
    >>> RAdam([p], lr=0.5).step()
    >>> p.detach()
    tensor([0.5000])
    """

    rule = "radam"
    known = frozenset({"exp_avg", "exp_avg_sq"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": pair("betas", betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and betas outside [0, 1)."""
        check_moments(settings)

    def _decoupled(self, group: Group) -> bool:
        return bool(group["decoupled_weight_decay"])

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq"

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return settings_of(group, beta1=beta1, beta2=beta2, decoupled=group["decoupled_weight_decay"])

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        beta1, beta2 = group["betas"]
        step = state["step"]
        square = move_moments(gradient, state, beta1, beta2)
        mean = state["exp_avg"] / (1 - beta1**step)
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction
        size = number(group["lr"])
        # Before that too little is known of the variance. The paper asks for more than 4, PyTorch for 5.
        if length > 5:
            known = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            mean = mean / (np.sqrt(square) + group["eps"])
            size *= math.sqrt(known * correction)
        parameter -= size * mean
