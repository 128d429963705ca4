"""Learning rates that change while training: PyTorch's `torch.optim.lr_scheduler`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from workbench.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "LRScheduler", "LambdaLR", "StepLR"]


class LRScheduler:
    """Base of schedules: every `step` sets the learning rate of every group by the number of steps so far.

    `rate(initial, step)` gives it; what a group's ``lr`` was when the schedule was made is its initial rate. Step once
    an epoch or once a batch, as the schedule is meant.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.base_lrs = [float(group["lr"]) for group in optimizer.param_groups]
        self.last_epoch = 0
        """Steps taken so far."""
        self._set()

    def rate(self, initial: float, step: int) -> float:
        """Return the learning rate after `step` steps; every schedule has its own."""
        raise TypeError(f"{type(self).__name__} has no rule: define rate(initial, step)")

    def step(self) -> None:
        """Go one step further."""
        self.last_epoch += 1
        self._set()

    def _set(self) -> None:
        for group, initial in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = self.rate(initial, self.last_epoch)

    def get_last_lr(self) -> list[float]:
        """Return the learning rates now in force, one a group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Return where the schedule is."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was."""
        if len(state_dict["base_lrs"]) != len(self.base_lrs):
            there, here = len(state_dict["base_lrs"]), len(self.base_lrs)
            raise ValueError(f"the schedule was of {there} parameter groups, this one is of {here}")
        self.base_lrs = list(state_dict["base_lrs"])
        self.last_epoch = int(state_dict["last_epoch"])
        self._set()


class CosineAnnealingLR(LRScheduler):
    """From the initial rate down to `eta_min` along half a cosine in `T_max` steps; `eta_min` stays afterwards.

    lr = eta_min + (initial - eta_min)·(1 + cos(π·step / T_max)) / 2. Loshchilov and Hutter 2017.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = CosineAnnealingLR(optimizer, T_max=2)
    >>> schedule.step(); optimizer.param_groups[0]["lr"]
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        if T_max < 1:
            raise ValueError(f"T_max must be 1 or more, got {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer)

    def rate(self, initial: float, step: int) -> float:
        """Return the rate along the cosine."""
        part = min(step / self.T_max, 1.0)
        return self.eta_min + (initial - self.eta_min) * 0.5 * (1 + math.cos(math.pi * part))


class StepLR(LRScheduler):
    """The initial rate times `gamma` for every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        if step_size < 1:
            raise ValueError(f"step_size must be 1 or more, got {step_size}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer)

    def rate(self, initial: float, step: int) -> float:
        """Return the rate of this stair."""
        return float(initial * self.gamma ** (step // self.step_size))


class LambdaLR(LRScheduler):
    """The initial rate times what a function gives for the number of steps."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float]) -> None:
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def rate(self, initial: float, step: int) -> float:
        """Return the rate that the function asks for."""
        return initial * self.lr_lambda(step)
