"""Adagrad and Adadelta: steps by all squared gradients so far, or by a running mean of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.optim.elementwise import Arrays, Elementwise, settings_of
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_not_negative, check_rate, check_ways, number

__all__ = ["Adadelta", "Adagrad"]


class Adagrad(Elementwise):
    """Steps that shrink for values whose gradients have been large.

    g ← g + weight_decay·p;  s ← s + g²;  p ← p - lr / (1 + (t - 1)·lr_decay) · g / (√s + eps).
    Duchi, Hazan and Singer 2011.

    Raises ValueError for negative settings.

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.full((1,), 4.0)
    >>> Adagrad([p], lr=0.5).step()
    >>> p.detach()
    tensor([0.5000])
    """

    rule = "adagrad"
    known = frozenset({"sum"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        settings = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, settings)
        # In PyTorch this state is there before the first step, and is saved then.
        for group in self.param_groups:
            for parameter in group["params"]:
                self._begin(parameter, group)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings."""
        check_rate(settings)
        check_not_negative(
            settings,
            lr_decay="lr_decay",
            weight_decay="weight_decay",
            initial_accumulator_value="initial_accumulator_value",
            eps="epsilon",
        )
        check_ways(settings)

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return ("sum",)

    def _initial(self, key: str, group: Group) -> float:
        return float(group["initial_accumulator_value"])

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        return settings_of(group, other=group["lr_decay"])

    def _check_sparse(self, group: Group) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients: leave it 0")

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        total = state["sum"]
        total += np.square(gradient)
        size = number(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])
        parameter -= size * (gradient / (np.sqrt(total) + group["eps"]))


class Adadelta(Elementwise):
    """Steps of the size that steps have had, over the size that gradients have had.

    g ← g + weight_decay·p;  v ← ρ·v + (1 - ρ)·g²;  d = √(u + eps) / √(v + eps) · g;
    u ← ρ·u + (1 - ρ)·d²;  p ← p - lr·d. Zeiler 2012.

    Raises ValueError for negative settings and for `rho` outside [0, 1].

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.ones(1)
    >>> Adadelta([p], lr=100.0).step()
    >>> p.detach()
    tensor([0.6838])
    """

    rule = "adadelta"
    known = frozenset({"square_avg", "acc_delta"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and rho outside [0, 1]."""
        check_rate(settings)
        if not 0 <= settings["rho"] <= 1:
            raise ValueError(f"Invalid rho value: {settings['rho']}; it must be in [0, 1]")
        check_not_negative(settings, eps="epsilon", weight_decay="weight_decay")
        check_ways(settings)

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return "square_avg", "acc_delta"

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        return settings_of(group, beta2=group["rho"])

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        square, changes = state["square_avg"], state["acc_delta"]
        square *= rho
        square += (1 - rho) * gradient * gradient  # from left to right: a square leaves the type sooner
        change = np.sqrt(changes + eps) / np.sqrt(square + eps) * gradient
        changes *= rho
        changes += (1 - rho) * change * change
        parameter -= number(group["lr"]) * change
