"""What can end a training, and what can be wrong with a checkpoint."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import Shown
from workbench.base.tracebacks import short_traceback

__all__ = ["CheckpointError", "CheckpointWarning", "Interrupted", "TrainingError"]


class TrainingError(Shown, RuntimeError):
    """A training that cannot go on: a loss or a gradient that is no finite number.

    The step that it arose in has changed no parameter; where the loss is to blame, no buffer either.
    """

    def __init__(
        self, message: str, *, step: int = 0, epoch: int = 0, batch: Any = None, culprit: str | None = None
    ) -> None:
        super().__init__(message)
        self.step = step
        """The step that was not taken, from 1."""
        self.epoch = epoch
        """Its epoch, from 1."""
        self.batch = batch
        """What the loader gave."""
        self.culprit = culprit
        """What first held a value that is not finite, as far as it could be found: ``fc1.weight``."""


class CheckpointError(Shown, ValueError):
    """A file that is no checkpoint, is damaged, or belongs to another training; nothing was changed."""


class CheckpointWarning(UserWarning):
    """A checkpoint that was passed over, and why."""


class Interrupted(KeyboardInterrupt):
    """An interrupt that reached a training: a notebook shows where it stands, and not how it got out."""

    def _render_traceback_(self) -> list[str]:
        """Return the traceback without the frames of this package (IPython calls this)."""
        return short_traceback(self)
