"""The learning rates of every group, as they went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.train.callbacks.base import Callback

__all__ = ["LearningRateMonitor"]


class LearningRateMonitor(Callback):
    """Keeps the learning rate of every parameter group, as it is after each step; with a log, writes them there.

    `log` is anything with ``add_scalar``. (The first group's rate is always in ``history.rates``.)
    """

    def __init__(self, log: Any = None) -> None:
        self.log = log
        self.rates: list[list[float]] = []
        """One list a group."""

    def on_step_end(self, trainer: Any) -> None:
        """Look at the groups."""
        groups = trainer.optimizer.param_groups
        # Groups may be added to an optimizer while it trains.
        self.rates += [[] for _ in range(len(groups) - len(self.rates))]
        for i, group in enumerate(groups):
            self.rates[i].append(float(group["lr"]))
            if self.log is not None:
                self.log.add_scalar(f"rate/group_{i}", float(group["lr"]), trainer.step)

    def state_dict(self) -> dict[str, Any]:
        """Return the rates."""
        return {"rates": [np.asarray(one, np.float64) for one in self.rates]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was."""
        self.rates = [np.asarray(one).tolist() for one in state_dict["rates"]]
