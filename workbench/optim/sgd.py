"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.optim.elementwise import Arrays, Elementwise, settings_of
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_not_nan, check_not_negative, check_rate, check_ways, number

__all__ = ["SGD"]


class SGD(Elementwise):
    """Stochastic gradient descent, with momentum.

    g ← g + weight_decay·p;  v ← momentum·v + (1 - dampening)·g (first step: v = g);
    p ← p - lr·v, or p - lr·(g + momentum·v) if `nesterov`. With `maximize` g is -g to begin with.
    Sutskever, Martens, Dahl and Hinton 2013 for momentum.

    Raises ValueError for settings that are negative, and for `nesterov` without momentum or with dampening.

    >>> import workbench as wb
    >>> p = wb.ones(2, requires_grad=True)
    >>> optimizer = SGD([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0., 0.])
    """

    rule = "sgd"
    counts = False
    known = frozenset({"momentum_buffer"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and nesterov without momentum."""
        check_rate(settings)
        check_not_negative(settings, momentum="momentum", weight_decay="weight_decay")
        check_not_nan(settings, "dampening")
        if settings["nesterov"] and (settings["momentum"] <= 0 or settings["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_ways(settings)

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return ("momentum_buffer" if group["momentum"] else None,)

    def _numbers(self, group: Group) -> tuple[Any, ...]:
        return settings_of(
            group, momentum=group["momentum"], other=group["dampening"], nesterov=group["nesterov"]
        )

    def _state_keys(self, group: Group) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset(), self.known  # momentum begins with the first step that finds none

    def _check_sparse(self, group: Group) -> None:
        if group["weight_decay"]:
            raise RuntimeError(
                "SGD takes sparse gradients without weight_decay, which moves what has no gradient, too: leave it 0"
            )

    def _moves_all(self, group: Group) -> bool:
        # What moved goes on moving, whether it has a gradient this time or not.
        return bool(group["momentum"])

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        momentum = group["momentum"]
        if momentum:
            velocity = state["momentum_buffer"]
            # Without dampening, as in PyTorch: there is nothing yet that it could be weighed against.
            if state["first"]:
                velocity[...] = gradient
            else:
                velocity *= momentum
                velocity += (1 - group["dampening"]) * gradient
            gradient = gradient + momentum * velocity if group["nesterov"] else velocity
        parameter -= number(group["lr"]) * gradient
