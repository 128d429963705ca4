"""Adam for sparse gradients, which moves and remembers only what a gradient reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.sparse_array import SparseArray
from workbench.core.sparse_rules import coalesce
from workbench.core.tape import alias_off_tape
from workbench.core.value import new
from workbench.optim.optimizer import Group, Optimizer
from workbench.optim.settings import check_above_zero, check_betas, check_rate, number

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam on sparse gradients: moments and values change where the gradient has values, and nowhere else.

    m ← β₁m + (1 - β₁)g;  v ← β₂v + (1 - β₂)g²;  p ← p - lr·√(1 - β₂ᵗ)/(1 - β₁ᵗ) · m/(√v + eps), at the places of g.
    Kingma and Ba 2014, as PyTorch keeps it for rows of tables.

    Raises RuntimeError for a gradient that is dense, ValueError for settings that make no sense.

    >>> import workbench as wb
    >>> table = wb.nn.Embedding(1000, 4, sparse=True)
    >>> optimizer = SparseAdam(table.parameters())
    >>> table(wb.tensor([3, 5])).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse settings that make no sense."""
        check_rate(settings)
        check_above_zero("eps", settings["eps"])
        check_betas(settings)

    def _step_group(self, group: Group) -> None:
        moved = [one for one in group["params"] if one._grad is not None]
        # Before anything is counted or moved.
        for parameter in moved:
            if type(parameter._grad.payload) is not SparseArray:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        for parameter in moved:
            self._move(parameter, group)

    def _move(self, parameter: Any, group: Group) -> None:
        entry = self.state[parameter]
        if not entry:
            entry["step"] = 0
            for key in ("exp_avg", "exp_avg_sq"):
                entry[key] = new(np.zeros_like(parameter.payload), parameter._names)
        # As a tensor, where the state was read from a file.
        step = entry["step"] = int(number(entry["step"])) + 1
        found = coalesce(alias_off_tape(parameter._grad)).payload
        if not found.count:
            return
        rows, gradient = tuple(found.index), found.values
        gradient = -gradient if group["maximize"] else gradient
        beta1, beta2 = (number(one) for one in group["betas"])
        mean, square = entry["exp_avg"].payload, entry["exp_avg_sq"].payload
        mean[rows] += (gradient - mean[rows]) * (1 - beta1)
        square[rows] += (gradient * gradient - square[rows]) * (1 - beta2)
        size = number(group["lr"]) * np.sqrt(1 - beta2**step) / (1 - beta1**step)
        parameter.payload[rows] -= (size * mean[rows] / (np.sqrt(square[rows]) + group["eps"])).astype(
            mean.dtype
        )
        for value in (parameter, entry["exp_avg"], entry["exp_avg_sq"]):
            value._version += 1

    def _state_keys(self, group: Group) -> tuple[frozenset[str], frozenset[str]]:
        keys = frozenset({"step", "exp_avg", "exp_avg_sq"})
        return keys, keys

    def _state_shapes(self, parameter: Any) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("exp_avg", "exp_avg_sq"), tuple(parameter.payload.shape))
