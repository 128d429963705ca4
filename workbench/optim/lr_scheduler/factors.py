"""Schedules that multiply the rate by a factor: of a function, in stairs, along a line or a power."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.optim.lr_scheduler.base import (
    LRScheduler,
    Rates,
    check_optimizer,
    describe_functions,
    restore_functions,
)
from workbench.optim.optimizer import Optimizer
from workbench.optim.settings import check_number

__all__ = [
    "ConstantLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]

Function = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The initial rate times what a function gives for the number of steps; one function, or one a group.

    A state holds no plain functions, only the attributes of callable objects.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = LambdaLR(optimizer, lambda step: 1 / (1 + step))
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1
    ) -> None:
        count = len(check_optimizer(optimizer).param_groups)
        if not isinstance(lr_lambda, list | tuple):
            lr_lambda = [lr_lambda] * count
        elif len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        for function in lr_lambda:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the rates that the functions ask for."""
        self._called_by_step()
        return [rate * factor for rate, factor in zip(self.base_lrs, self._factors(), strict=True)]

    def _factors(self) -> list[Any]:
        what = f"what lr_lambda gives for step {self.last_epoch}"
        return [check_number(what, function(self.last_epoch)) for function in self.lr_lambdas]

    def state_dict(self) -> dict[str, Any]:
        """Return where the schedule is, with the attributes of callable objects."""
        return {**super().state_dict(), "lr_lambdas": describe_functions(self.lr_lambdas)}

    def _take(self, state: Mapping[str, Any]) -> None:
        super()._take(state)
        restore_functions(self.lr_lambdas, state.get("lr_lambdas"))


class MultiplicativeLR(LambdaLR):
    """The last rate times what a function gives for the number of steps; one function, or one a group.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> optimizer.step(); schedule.step(); schedule.step(); schedule.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> Rates:
        """Return the rates times what the functions give."""
        self._called_by_step()
        # The first step takes the rate as it is.
        if self._is_initial:
            return self._current()
        groups = self.optimizer.param_groups
        return [group["lr"] * factor for group, factor in zip(groups, self._factors(), strict=True)]


class StepLR(LRScheduler):
    """The rate times `gamma` after every `step_size` steps.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = StepLR(optimizer, step_size=1, gamma=0.5)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not check_number("step_size", step_size) >= 1:
            raise ValueError(f"step_size must be 1 or more, got {step_size}")
        self.step_size = step_size
        self.gamma = check_number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the rates of this stair."""
        self._called_by_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._current()
        return self._times(self.gamma)

    def _get_closed_form_lr(self) -> Rates:
        return [rate * self.gamma ** (self.last_epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the steps `milestones`.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = MultiStepLR(optimizer, milestones=[1, 5], gamma=0.5)
    >>> optimizer.step(); schedule.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Any, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if isinstance(milestones, str) or not isinstance(milestones, Iterable):
            raise TypeError(f"milestones are numbers of steps, such as [30, 80], got {milestones!r}")
        # A step that is named twice counts twice, as in PyTorch.
        self.milestones = Counter(check_number("a milestone", one) for one in milestones)
        self.gamma = check_number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the rates after this milestone, if it is one."""
        self._called_by_step()
        count = self.milestones.get(self.last_epoch, 0)
        return self._times(self.gamma**count) if count else self._current()

    def _get_closed_form_lr(self) -> Rates:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]

    def _take(self, state: Mapping[str, Any]) -> None:
        super()._take(state)
        # JSON has made text of the steps.
        self.milestones = Counter({int(step): count for step, count in self.milestones.items()})


class ConstantLR(LRScheduler):
    """The rate times `factor` for `total_iters` steps, and the whole rate from then on.

    Raises ValueError for a factor outside [0, 1].

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> ConstantLR(optimizer, factor=0.5, total_iters=2).get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1, got {factor}.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the part of the rates, or all of them at the end."""
        self._called_by_step()
        if self.last_epoch == 0:
            return self._times(self.factor)
        if self.last_epoch != self.total_iters:
            return self._current()
        # From 0 no factor leads back.
        return self._times(1.0 / self.factor) if self.factor else list(self.base_lrs)

    def _get_closed_form_lr(self) -> Rates:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [rate * factor for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from `start_factor` to `end_factor` along a line in `total_iters` steps.

    Raises ValueError unless 0 < start_factor ≤ 1 and 0 ≤ end_factor ≤ 1.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1, "
                f"got {start_factor}."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError(
                f"Ending multiplicative factor expected to be between 0 and 1, got {end_factor}."
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the rates one step further along the line."""
        self._called_by_step()
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        slope = self.end_factor - self.start_factor
        # The factor between two places of the line, so that other schedules may have changed the rate.
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return self._times(1.0 + slope / before)

    def _get_closed_form_lr(self) -> Rates:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * part
        return [rate * factor for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` at every step.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = check_number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the rates one step further."""
        self._called_by_step()
        return self._current() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self) -> Rates:
        return [rate * self.gamma**self.last_epoch for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - step / total_iters)^power, and 0 from `total_iters` on.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = check_number("power", power)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """Return the rates one step further along the power."""
        self._called_by_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        # The factor between two places of the curve, so that other schedules may have changed the rate.
        here, before = (1.0 - step / self.total_iters for step in (self.last_epoch, self.last_epoch - 1))
        return self._times((here / before) ** self.power)

    def _get_closed_form_lr(self) -> Rates:
        part = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [rate * part**self.power for rate in self.base_lrs]
