"""A training in TensorBoard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Protocol

from workbench.base.lazy import Lazy
from workbench.train.callbacks.base import Callback

__all__ = ["Log", "TensorBoardLogger"]

_tensorboard = Lazy("workbench.tensorboard")


class Log(Protocol):
    """What a training writes to, such as `workbench.tensorboard.SummaryWriter`."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None:
        """Write one number."""

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None:
        """Write how values are distributed."""


class TensorBoardLogger(Callback):
    """Writes loss, learning rate, gradient norm and throughput every so many steps, and all figures every epoch.

    `log` is a folder, or a writer, which stays open. `histograms` says whether every epoch has those of all
    parameters.
    """

    def __init__(self, log: str | Path | Log, *, every: int = 10, histograms: bool = True) -> None:
        if every < 1:
            raise ValueError(f"every must be 1 or more steps, got {every}")
        if not isinstance(log, str | Path) and not hasattr(log, "add_scalar"):
            raise TypeError(
                f"log is a folder, or a writer with add_scalar and add_histogram, got {type(log).__name__}"
            )
        self.folder = Path(log) if isinstance(log, str | Path) else None
        self.every = every
        self.histograms = histograms
        self._log: Any = None if self.folder is not None else log

    def on_fit_start(self, trainer: Any) -> None:
        """Open the log."""
        if self.folder is not None and self._log is None:
            self._log = _tensorboard.SummaryWriter(self.folder)

    def on_step_end(self, trainer: Any) -> None:
        """Write the step, if it is time."""
        if trainer.step % self.every:
            return
        history = trainer.history
        for tag, value in (
            ("loss/train", history.losses[-1]),
            ("rate/learning", history.rates[-1]),
            ("gradient/norm", history.norms[-1]),
            ("rate/samples_per_second", history.speeds[-1]),
        ):
            if math.isfinite(value):
                self._log.add_scalar(tag, value, trainer.step)

    def on_epoch_end(self, trainer: Any) -> None:
        """Write the epoch."""
        last = trainer.history.epochs[-1]
        self._log.add_scalar("loss/epoch", last.loss, trainer.step)
        for part, values in (("train", last.metrics), ("validation", last.validation)):
            for name, value in values.items():
                self._log.add_scalar(f"{name}/{part}", value, trainer.step)
        if self.histograms:
            for name, parameter in trainer.model.named_parameters():
                self._log.add_histogram(f"parameters/{name.replace('.', '/')}", parameter, trainer.step)

    def on_end(self, trainer: Any) -> None:
        """Close the log, if it was opened here."""
        if self.folder is not None and self._log is not None:
            # Let go of first: what cannot be closed is not tried twice.
            log, self._log = self._log, None
            try:
                log.close()
            except OSError as error:
                error.add_note(f"while the log in {self.folder} was closed: what was trained is whole")
                raise
