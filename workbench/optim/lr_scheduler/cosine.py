"""Schedules along a cosine, once or again and again."""

from __future__ import annotations

import math
from typing import Any

from workbench.optim.lr_scheduler.base import LRScheduler, Rates
from workbench.optim.optimizer import Optimizer
from workbench.optim.settings import check_number

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """From the initial rate down to `eta_min` along half a cosine in `T_max` steps, and up again after that.

    lr = eta_min + (initial - eta_min)·(1 + cos(π·step / T_max)) / 2, computed from the rate before, so that other
    schedules may change it in between. Loshchilov and Hutter 2017.

    Raises ValueError for `T_max` below 1.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step(); schedule.step(); round(schedule.get_last_lr()[0], 6)
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not check_number("T_max", T_max) >= 1:
            raise ValueError(f"T_max must be 1 or more, got {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, step: int) -> float:
        return 1 + math.cos(math.pi * step / self.T_max)

    def get_lr(self) -> Rates:
        """Return the rates one step further along the cosine."""
        self._called_by_step()
        if self._is_initial:
            return self._current()
        groups, low = self.optimizer.param_groups, self.eta_min
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # up from the lowest point
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (rate - low) * rise for rate, group in zip(self.base_lrs, groups, strict=True)
            ]
        part = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [part * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> Rates:
        low, height = self.eta_min, self._height(self.last_epoch)
        return [low + (rate - low) * height / 2 for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down along half a cosine in `T_0` steps, then from the top again, each time in `T_mult` times as many steps.

    lr = eta_min + (initial - eta_min)·(1 + cos(π·T_cur / T_i)) / 2. Loshchilov and Hutter 2017.

    `step` takes the place within epochs, such as ``epoch + batch / batches``, to go on in parts of a step. Raises
    ValueError unless `T_0` and `T_mult` are whole and positive.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> optimizer.step(); schedule.step(); schedule.step(); schedule.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: Any, T_mult: Any = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the rates at this place of the cosine."""
        self._called_by_step()
        height, low = 1 + math.cos(math.pi * self.T_cur / self.T_i), self.eta_min
        return [low + (rate - low) * height / 2 for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go one step further, or to the place `epoch`, which may be between two steps."""
        # The first step is the constructor's own, and goes to the start.
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            rates = self.get_lr()
        self._set(rates)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            # Cycles are T_0, T_0·T_mult, … long: their sum says in which one this is.
            cycle = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**cycle - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**cycle
