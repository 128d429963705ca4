"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.optim.lr_scheduler.base import LRScheduler, put, values
from workbench.optim.lr_scheduler.plateau import ReduceLROnPlateau
from workbench.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Composed(LRScheduler):
    """Base of schedules made of schedules of one optimizer."""

    _schedulers: Sequence[LRScheduler]
    _not_saved = ("optimizer", "_schedulers")

    def _check_parts(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> Optimizer:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        for i, one in enumerate(schedulers):
            if not hasattr(one, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(one, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
        common = optimizer or schedulers[0].optimizer
        for i, one in enumerate(schedulers):
            if one.optimizer is not common:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(one).__name__} at index {i} of another {type(one.optimizer).__name__}."
                )
        return common

    def state_dict(self) -> dict[str, Any]:
        """Return where the schedule is, with the states of those that it is made of."""
        return {**super().state_dict(), "_schedulers": [one.state_dict() for one in self._schedulers]}

    def _check_state(self, state: Mapping[str, Any]) -> None:
        super()._check_state(state)
        parts = state.get("_schedulers", ())
        if len(parts) != len(self._schedulers):
            raise ValueError(
                f"the schedule was made of {len(parts)} schedules, this one is of {len(self._schedulers)}"
            )
        for one, part in zip(self._schedulers, parts, strict=True):
            one._check_state(part)

    def _take(self, state: Mapping[str, Any]) -> None:
        super()._take(state)
        for one, part in zip(self._schedulers, state["_schedulers"], strict=True):
            one.load_state_dict(part)

    def __repr__(self) -> str:
        parts = "".join(f"\n  {one!r}" for one in self._schedulers)
        return f"{super().__repr__()[:-1]}, of:{parts}\n)"


class SequentialLR(_Composed):
    """One schedule after the other: the next one from each of the steps `milestones` on.

    Raises ValueError unless there is one milestone less than schedules, all of one optimizer.

    >>> import workbench as wb
    >>> from workbench.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> warm, fall = ConstantLR(optimizer, 0.5, total_iters=9), ExponentialLR(optimizer, gamma=0.5)
    >>> schedule = SequentialLR(optimizer, [warm, fall], milestones=[1])
    >>> rates = schedule.get_last_lr()
    >>> for _ in range(2):
    ...     optimizer.step(); schedule.step(); rates = rates + schedule.get_last_lr()
    >>> rates
    [0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = self._check_parts(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        # Every part has made its first step when it was made: undo that, and let the first one alone make it.
        for group in optimizer.param_groups:
            put(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take the first step of all parts back, and of what they are made of."""
        whole = self if sched is None else sched
        if hasattr(whole, "_schedulers"):
            for one in whole._schedulers:
                self.recursive_undo(one)
        elif hasattr(whole, "last_epoch"):
            whole.last_epoch -= 1

    def step(self, epoch: int | None = None) -> None:
        """Go one step further with the schedule whose turn it is."""
        _no_epoch(self, epoch)
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            # Here it begins, at its own step 0; `step` would take it to 1.
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """All schedules at once: each changes the rate that the one before it left.

    Raises ValueError unless all are of one optimizer.

    >>> import workbench as wb
    >>> from workbench.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = ChainedScheduler([ConstantLR(optimizer, 0.5), ExponentialLR(optimizer, gamma=0.5)])
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer = self._check_parts(schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = values(self.optimizer, "lr")

    def step(self, epoch: int | None = None) -> None:
        """Go one step further with every schedule, in order."""
        _no_epoch(self, epoch)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer, "lr")


def _no_epoch(scheduler: LRScheduler, epoch: int | None) -> None:
    if epoch is not None:
        raise TypeError(
            f"{type(scheduler).__name__}.step() takes no epoch: its schedules count for themselves"
        )
