"""Schedules that go up and down between two rates, and momentum the other way."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal

from workbench.optim.lr_scheduler.base import (
    LRScheduler,
    Rates,
    check_optimizer,
    describe_functions,
    one_each,
    put,
    restore_functions,
)
from workbench.optim.optimizer import Optimizer
from workbench.optim.settings import check_above_zero, check_number

__all__ = ["CyclicLR", "OneCycleLR"]


class _Cycling(LRScheduler):
    """Base of schedules that move momentum, or the first beta, against the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, lowest: Any, highest: Any, fresh: bool) -> tuple[list[Any], list[Any]]:
        """Return the bounds for each group, and start from the highest."""
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lows = one_each("base_momentum", optimizer, lowest)
        highs = one_each("max_momentum", optimizer, highest)
        if fresh:
            for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                self._put_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _put_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_Cycling):
    """From `base_lr` up to `max_lr` in `step_size_up` steps and down in `step_size_down`, again and again.

    `mode` says how tall the cycles are: all alike (``triangular``), each half of the one before (``triangular2``), or
    times gamma^step (``exp_range``); or `scale_fn` says it for the number of the cycle, or of the step
    (`scale_mode`). Momentum goes the other way if `cycle_momentum`. Smith 2017.

    Raises ValueError for another mode, and for an optimizer without momentum.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    _not_saved = ("optimizer", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = check_optimizer(optimizer)
        lows = one_each("base_lr", optimizer, base_lr)
        self.max_lrs = one_each("max_lr", optimizer, max_lr)
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(
                f"mode is invalid and scale_fn is None: {mode!r} is none of 'triangular', 'triangular2', 'exp_range'"
            )
        check_above_zero("step_size_up", step_size_up)
        down = step_size_up if step_size_down is None else check_above_zero("step_size_down", step_size_down)
        self.total_size = float(step_size_up) + float(down)
        self.step_ratio = float(step_size_up) / self.total_size
        self.mode = mode
        self.gamma = check_number("gamma", gamma)
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn else ("iterations" if mode == "exp_range" else "cycle")
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bounds = self._begin_momentum(base_momentum, max_momentum, last_epoch == -1)
            self.base_momentums, self.max_momentums = bounds
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                put(group, "lr", low)
        super().__init__(optimizer, last_epoch)
        # Not an ``initial_lr`` that an earlier schedule has left in the groups.
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """Return how tall cycle (or step) number `x` is."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1.0 if self.mode == "triangular" else 1 / (2.0 ** (x - 1))

    def get_lr(self) -> Rates:
        """Return the rates at this place of the cycle, and set momentum."""
        self._called_by_step()
        # In PyTorch's order of operations: the rates are its own to the last bit.
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        rising = place <= self.step_ratio
        height = place / self.step_ratio if rising else (place - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                self._put_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return where the schedule is; of `scale_fn` the attributes, where it is an object that is called."""
        own = self._scale_fn_custom
        described = (
            None if own is None or isinstance(own, types.FunctionType) else describe_functions([own])[0]
        )
        return {**super().state_dict(), "_scale_fn_custom": described}

    def _take(self, state: Mapping[str, Any]) -> None:
        super()._take(state)
        if self._scale_fn_custom is not None:
            restore_functions([self._scale_fn_custom], [state.get("_scale_fn_custom")])


class OneCycleLR(_Cycling):
    """One rise from ``max_lr / div_factor`` to `max_lr`, then one long fall to a `final_div_factor` of where it began.

    The rise takes the part `pct_start` of `total_steps` (or of ``epochs * steps_per_epoch``); along half a cosine, or
    a line (`anneal_strategy`). With `three_phase` the fall first mirrors the rise. Momentum goes the other way if
    `cycle_momentum`. Step once a batch. Smith and Topin 2018.

    Raises ValueError for numbers of steps that are not positive, and where it is stepped more often than that.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = OneCycleLR(optimizer, max_lr=1.0, total_steps=10, div_factor=10.0)
    >>> round(schedule.get_last_lr()[0], 6), optimizer.param_groups[0]["momentum"]
    (0.1, 0.95)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: Any = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = check_optimizer(optimizer)
        self.total_steps = _count_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        tops = one_each("max_lr", optimizer, max_lr)
        check_above_zero("div_factor", div_factor)
        check_above_zero("final_div_factor", final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch == -1)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, tops, strict=True):
                # Not `setdefault`, as the base has it: the cycle begins below the rates of the groups.
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        """Return what lies `part` of the way from `start` to `end`."""
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> Rates:
        """Return the rates at this place of the cycle, and set momentum."""
        self._called_by_step()
        step = self.last_epoch
        # One more than there are is let pass: the constructor takes the first, and loops step once after each
        # batch.
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}: make it of as "
                "many as the training has"
            )
        begin, phase = 0.0, self._schedule_phases[0]
        for later in self._schedule_phases[1:]:
            if step > phase["end_step"]:
                begin, phase = phase["end_step"], later
        part = (step - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._put_momentum(group, self._between(start, end, part))
        return rates


def _count_steps(total: Any, epochs: Any, each: Any) -> int:
    if total is None and (epochs is None or each is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = {"total_steps": total} if total is not None else {"epochs": epochs, "steps_per_epoch": each}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phases(total: int, rise: float, three: bool) -> list[dict[str, Any]]:
    """Return the parts of the cycle: until which step, and between which settings of a group."""

    def phase(end: float, rates: tuple[str, str], momentum: tuple[str, str]) -> dict[str, Any]:
        names = ("start_lr", "end_lr", "start_momentum", "end_momentum")
        return {"end_step": end, **dict(zip(names, (*rates, *momentum), strict=True))}

    # Steps count from 0, so what takes n of them ends at n - 1.
    up = phase(float(rise * total) - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not three:
        return [up, phase(total - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    return [
        up,
        phase(float(2 * rise * total) - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum")),
        phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
    ]
