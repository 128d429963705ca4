"""Checkpoints while training."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.base.files import alone
from workbench.train import checkpoint, state
from workbench.train.callbacks.base import Callback
from workbench.train.callbacks.monitor import Mode, Monitor
from workbench.train.errors import CheckpointError

__all__ = ["ModelCheckpoint"]


class ModelCheckpoint(Callback):
    """Saves a checkpoint every so many epochs or steps, and when training is stopped or interrupted.

    The last `keep` of this training stay, and with `best` the one with the best monitored figure; those of other
    trainings in the folder are left alone. What a save that was cut short left behind is removed when training begins.

    >>> ModelCheckpoint("runs/mine", every_steps=500)
    ModelCheckpoint('runs/mine', keep=3)
    """

    order = 100

    def __init__(
        self,
        folder: str | Path,
        *,
        every_epochs: int | None = None,
        every_steps: int | None = None,
        keep: int = 3,
        best: bool = True,
        monitor: str | None = None,
        mode: Mode = "auto",
    ) -> None:
        for label, value in (("every_epochs", every_epochs), ("every_steps", every_steps), ("keep", keep)):
            if value is not None and value < 1:
                raise ValueError(f"{label} must be 1 or more, got {value}")
        self.folder = Path(folder)
        self.every_epochs = 1 if every_epochs is None and every_steps is None else every_epochs
        self.every_steps = every_steps
        self.keep = keep
        self.best = best
        self.monitor = Monitor(monitor, mode)
        self._saved: tuple[int, int, int] | None = None

    def on_fit_start(self, trainer: Any) -> None:
        """Make the folder, and remove what a crash left."""
        self.monitor.check(trainer)
        _make_writable(self.folder)
        checkpoint.clean(self.folder)
        # What is there at the start was saved, or is nothing: a stop before the first batch saves none.
        self._saved = _place(trainer)

    def on_step_end(self, trainer: Any) -> None:
        """Save, if it is time."""
        if self.every_steps is not None and trainer.step % self.every_steps == 0:
            self.save(trainer)

    def on_epoch_end(self, trainer: Any) -> None:
        """Save, if it is time."""
        if self.every_epochs is not None and trainer.epoch % self.every_epochs == 0:
            self.save(trainer, value=self.monitor.look(trainer))

    def on_fit_end(self, trainer: Any) -> None:
        """Save what was trained since."""
        if self._saved != _place(trainer):
            self.save(trainer)

    def on_exception(self, trainer: Any, error: BaseException) -> None:
        """Save, where training was interrupted by hand."""
        if isinstance(error, KeyboardInterrupt) and self._saved != _place(trainer):
            self.save(trainer)

    def save(self, trainer: Any, value: float | None = None) -> Path:
        """Save a checkpoint, let older ones go, and return its path."""
        name = None if value is None else self.monitor.named(trainer)
        with alone(self.folder):  # of two trainings in one folder none takes the other's place
            path = checkpoint.place(self.folder, trainer.step)
            try:
                state.save(trainer, path, monitor=name, value=value, mode=self.monitor.mode(trainer))
            except OSError as error:
                error.add_note(
                    f"while {path} was saved. Nothing that was trained is lost: once that is mended, "
                    "fit(…, resume=True) goes on"
                )
                raise
            self._saved = _place(trainer)
            self._let_go(trainer.run_id)
        return path

    def _let_go(self, run: str) -> None:
        own = [one for one in checkpoint.files(self.folder) if _run_of(one) == run]
        kept = own[-self.keep :]
        best = checkpoint.best_of(own, run) if self.best else None
        for one in own:
            if one not in kept and one != best:
                one.path.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"ModelCheckpoint({str(self.folder)!r}, keep={self.keep})"

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: what was saved is in the folder."""
        return {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Nothing is to be taken over."""


def _make_writable(folder: Path) -> None:
    """Make a folder where there is none; OSError, before anything is trained, where no file can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(f"{folder} is a file: checkpoints are saved in a folder") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"no checkpoint can be saved in {folder}: this user may not write there. Name another folder, or mend its "
            "rights"
        )


def _place(trainer: Any) -> tuple[int, int, int]:
    """Return how far the training is, to the batch."""
    return trainer.epoch, trainer.step, trainer.progress.batch


def _run_of(stored: checkpoint.Stored) -> str | None:
    try:
        return checkpoint.read_summary(stored.path).run
    except (CheckpointError, OSError):
        return None
