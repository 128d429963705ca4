"""A training in TensorBoard."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from workbench.base.lazy import Lazy
from workbench.tensor import Tensor
from workbench.train.callbacks.base import Callback

__all__ = ["Log", "TensorBoardLogger"]

_tensorboard = Lazy("workbench.tensorboard")


class Log(Protocol):
    """What a training writes to, such as `workbench.tensorboard.SummaryWriter`."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None:
        """Write one number."""

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None) -> None:
        """Write how values are distributed."""

    def add_hparams(
        self,
        hparam_dict: Any,
        metric_dict: Any,
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Write settings with the figures that came of them."""


class TensorBoardLogger(Callback):
    """Writes loss, learning rate, gradient norm and throughput every so many steps, and all figures every epoch.

    `log` is a folder, or a writer, which stays open. `histograms` says whether every epoch has those of all
    parameters. `hyperparameters` are settings of the training by name, numbers, texts or truth values; at the end
    they make a row of the log's table with the last epoch's figures. With ``layers=True`` every epoch has, for each
    parameter, its mean, spread and norm, the norm of its last gradient, and by how much of its norm it moved since
    the epoch before.
    """

    def __init__(
        self,
        log: str | Path | Log,
        *,
        every: int = 10,
        histograms: bool = True,
        hyperparameters: Mapping[str, Any] | None = None,
        layers: bool = False,
    ) -> None:
        if every < 1:
            raise ValueError(f"every must be 1 or more steps, got {every}")
        if not isinstance(log, str | Path) and not hasattr(log, "add_scalar"):
            raise TypeError(
                f"log is a folder, or a writer with add_scalar and add_histogram, got {type(log).__name__}"
            )
        for name, value in (hyperparameters or {}).items():
            # Refused here: at the end of the training it would be late.
            if not isinstance(value, bool | int | float | str | np.generic | Tensor):
                raise TypeError(
                    f"hyperparameter {name!r} is a text, a number or a truth value, got {type(value).__name__}; "
                    "str(...) makes a text of it"
                )
        self.folder = Path(log) if isinstance(log, str | Path) else None
        self.every = every
        self.histograms = histograms
        self.hyperparameters = dict(hyperparameters or {})
        self.layers = layers
        self._before: dict[str, Any] = {}
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
        if self.layers:
            self._layers(trainer)
        if self.histograms:
            for name, parameter in trainer.model.named_parameters():
                self._log.add_histogram(f"parameters/{name.replace('.', '/')}", parameter, trainer.step)

    def _layers(self, trainer: Any) -> None:
        """Write what is to be known of every parameter."""
        for name, parameter in trainer.model.named_parameters():
            values = parameter.detach().numpy(force=True).astype(np.float64)
            norm = float(np.linalg.norm(values))
            told = {"mean": float(values.mean()), "spread": float(values.std()), "norm": norm}
            if parameter.grad is not None:
                told["gradient"] = float(np.linalg.norm(parameter.grad.numpy(force=True).astype(np.float64)))
            before = self._before.get(name)
            if before is not None and norm > 0:
                told["moved"] = float(np.linalg.norm(values - before)) / norm
            self._before[name] = values
            for figure, value in told.items():
                if math.isfinite(value):
                    self._log.add_scalar(f"layers/{name.replace('.', '/')}/{figure}", value, trainer.step)

    def _row(self, trainer: Any) -> None:
        """Write the settings with the last epoch's figures."""
        last = trainer.history.epochs[-1]
        parts = (("train", last.metrics), ("validation", last.validation))
        figures = {f"{name}/{part}": value for part, values in parts for name, value in values.items()}
        figures["loss/epoch"] = last.loss
        self._log.add_hparams(
            self.hyperparameters, figures, run_name="hyperparameters", global_step=trainer.step
        )

    def on_fit_end(self, trainer: Any) -> None:
        """Write the row of the table, if there are settings."""
        if self.hyperparameters and trainer.history.epochs:
            self._row(trainer)

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
