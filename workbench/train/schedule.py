"""When a scheduler of learning rates steps."""

from __future__ import annotations

import inspect
from typing import Any, Literal

from workbench.train.history import Epoch

__all__ = ["Schedule"]


class Schedule:
    """A scheduler, or none, and when it steps; one that asks for a metric steps after an epoch, with its loss."""

    def __init__(self, scheduler: Any, every: Literal["step", "epoch"]) -> None:
        if every not in ("step", "epoch"):
            raise ValueError(f"schedule is 'step' or 'epoch', got {every!r}")
        if isinstance(scheduler, type):
            raise TypeError(
                f"a scheduler is made of the optimizer, got the class {scheduler.__name__} itself: make one, "
                f"{scheduler.__name__}(optimizer, …)"
            )
        if scheduler is not None and not all(
            hasattr(scheduler, name) for name in ("step", "state_dict", "load_state_dict")
        ):
            raise TypeError(
                f"a scheduler has step, state_dict and load_state_dict, and {type(scheduler).__name__} does not: "
                "several become one by SequentialLR or ChainedScheduler"
            )
        self.scheduler = scheduler
        # `ReduceLROnPlateau`, and schedulers like it, are known by what their `step` takes.
        self._by_metric = scheduler is not None and "metrics" in inspect.signature(scheduler.step).parameters
        self.every = "epoch" if self._by_metric else every

    def step(self, epoch: Epoch | None) -> None:
        """Go one step further, if this is the time: `epoch` is given at the end of one."""
        if self.scheduler is None or (epoch is None) != (self.every == "step"):
            return
        if self._by_metric and epoch is not None:
            self.scheduler.step(epoch.values.get("val_loss", epoch.loss))
        else:
            self.scheduler.step()
