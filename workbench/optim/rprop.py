"""Rprop: steps by the signs of gradients only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.optim.elementwise import Arrays, Elementwise
from workbench.optim.optimizer import Group
from workbench.optim.settings import check_rate, check_ways, number

__all__ = ["Rprop"]


class Rprop(Elementwise):
    """Every value has a step size of its own, which grows while the gradient keeps its sign.

    s ← s·η₊ where g·g₋₁ > 0, s·η₋ where it is < 0 (and then g = 0), kept within `step_sizes`;  p ← p - s·sign(g).
    Riedmiller and Braun 1993.

    Raises ValueError for a negative learning rate and unless 0 < η₋ < 1 < η₊.

    >>> import workbench as wb
    >>> p = wb.ones(1, requires_grad=True)
    >>> p.grad = wb.full((1,), 7.0)
    >>> Rprop([p], lr=0.25).step()
    >>> p.detach()
    tensor([0.7500])
    """

    known = frozenset({"prev", "step_size"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse a negative rate, and factors that do not lie around 1."""
        check_rate(settings)
        smaller, larger = settings["etas"]
        if not 0 < smaller < 1 < larger:
            raise ValueError(f"Invalid eta values: {smaller}, {larger}; 0 < eta1 < 1 < eta2 must hold")
        check_ways(settings)

    def _arrays(self, group: Group) -> tuple[str | None, ...]:
        return "prev", "step_size"

    def _initial(self, key: str, group: Group) -> float:
        return float(number(group["lr"])) if key == "step_size" else 0.0

    def _move(self, parameter: Any, gradient: Any, state: Arrays, group: Group) -> None:
        smaller, larger = group["etas"]
        before, size = state["prev"], state["step_size"]
        agreement = gradient * before
        size *= np.where(agreement > 0, larger, np.where(agreement < 0, smaller, 1)).astype(size.dtype)
        np.clip(size, *group["step_sizes"], out=size)
        # Where the sign has changed the last step went too far: this one waits, and the next counts as
        # agreeing with neither.
        gradient = np.where(agreement < 0, 0, gradient)
        parameter -= np.sign(gradient) * size
        before[...] = gradient
