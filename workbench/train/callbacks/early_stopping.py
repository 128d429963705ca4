"""Stopping when it gets no better."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from workbench.core.dispatch import no_grad
from workbench.train.callbacks.base import Callback
from workbench.train.callbacks.monitor import Mode, Monitor

__all__ = ["EarlyStopping"]


class EarlyStopping(Callback):
    """Stops after `patience` epochs in which the monitored figure got no better by more than `min_delta`.

    With `restore_best` the model is given back the weights of the best epoch, when this stops it or it finishes. Where
    somebody else stops it, the weights stay as they are, to go on from.

    >>> EarlyStopping("val_accuracy", patience=3, restore_best=True)
    EarlyStopping(monitor='val_accuracy', patience=3)
    """

    def __init__(
        self,
        monitor: str | None = None,
        patience: int = 5,
        *,
        mode: Mode = "auto",
        min_delta: float = 0.0,
        restore_best: bool = False,
    ) -> None:
        if patience < 1:
            raise ValueError(f"patience must be 1 or more epochs, got {patience}")
        # Written so that NaN is refused as well.
        if not min_delta >= 0:
            raise ValueError(f"min_delta must be 0 or more, got {min_delta}")
        self.monitor = Monitor(monitor, mode)
        self.patience = patience
        self.min_delta = min_delta
        self.restore_best = restore_best
        self.best: float | None = None
        """The best figure so far."""
        self.best_epoch = 0
        self.waited = 0
        """Epochs since then."""
        self._weights: dict[str, Any] | None = None

    def on_epoch_end(self, trainer: Any) -> None:
        """Compare, and stop if it is time."""
        value = self.monitor.look(trainer)
        if self.monitor.better(trainer, value, self.best, self.min_delta):
            self.best, self.best_epoch, self.waited = value, trainer.epoch, 0
            if self.restore_best:
                # A copy, since the state shares its memory with the model, which goes on learning. Codes stand there
                # in pairs with their biases, so not every value is a tensor. A plain dict is saved with all it has.
                with no_grad():
                    self._weights = copy.deepcopy(trainer.model.state_dict(destination={}))
            return
        self.waited += 1
        if self.waited >= self.patience:
            name = self.monitor.named(trainer)
            told = "was never a number" if self.best is None else f"got no better than {self.best:.4g}"
            since = f", of epoch {self.best_epoch}" if self.best_epoch else ""
            trainer.stop(f"{name} {told}{since}, in {self.waited} epochs")

    def on_fit_start(self, trainer: Any) -> None:
        """Be patient anew, where training goes on after this stopped it."""
        self.monitor.check(trainer)
        if self.waited >= self.patience:
            self.waited = 0

    def on_fit_end(self, trainer: Any) -> None:
        """Give the best weights back."""
        done = self.waited >= self.patience or trainer.loop.reached()
        if done and self._weights is not None:
            trainer.model.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        """Return the best so far, with its weights."""
        return {
            "best": self.best,
            "best_epoch": self.best_epoch,
            "waited": self.waited,
            "weights": self._weights,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was."""
        self.best, self.best_epoch = state_dict["best"], state_dict["best_epoch"]
        self.waited, self._weights = state_dict["waited"], state_dict["weights"]

    def __repr__(self) -> str:
        return f"EarlyStopping(monitor={self.monitor.name!r}, patience={self.patience})"
