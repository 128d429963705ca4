"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from workbench.core.value import new
from workbench.optim.elementwise import Arrays, Elementwise
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_not_negative, check_rate, check_ways, number

__all__ = ["ASGD"]


class ASGD(Elementwise):
    """Gradient descent with a falling rate η, which also keeps the average of where it has been.

    g ← g + weight_decay·p;  p ← p·(1 - lambd·η) - η·g;  ax ← ax + μ·(p - ax);
    η = lr / (1 + lambd·lr·t)^alpha, μ = 1 / max(1, t - t0). Polyak and Juditsky 1992.

    The average of a parameter is ``optimizer.state[parameter]["ax"]``. Raises ValueError for a negative learning
    rate or weight decay.

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.ones(1)
    >>> ASGD([p], lr=0.5, lambd=0.0).step()
    >>> p.detach()
    tensor([0.5000])
    """

    scalars: ClassVar[Mapping[str, float]] = {"eta": 0.0, "mu": 1.0}
    known = frozenset({"ax"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse a negative rate or weight decay."""
        check_rate(settings)
        check_not_negative(settings, weight_decay="weight_decay")
        check_ways(settings)

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return ("ax",)

    def _begin(self, parameter: Any, group: Group) -> bool:
        begun = super()._begin(parameter, group)
        if begun:
            # η begins as the learning rate, which is the group's.
            eta = self.state[parameter]["eta"]
            self.state[parameter]["eta"] = new(np.full((), number(group["lr"]), eta.payload.dtype))
        return begun

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        lr, lambd, step = number(group["lr"]), group["lambd"], state["step"]
        eta, mu, average = float(state["eta"]), float(state["mu"]), state["ax"]
        parameter *= 1 - lambd * eta
        parameter -= eta * gradient
        # Copied, as the formula for any other μ would round.
        if mu == 1:
            average[...] = parameter
        else:
            average += (parameter - average) * mu
        state["eta"][...] = lr / ((1 + lambd * lr * step) ** group["alpha"])
        state["mu"][...] = 1 / max(1, step - group["t0"])
