"""`Callback`: what is told at every turn of a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Callback"]


class Callback:
    """Base of callbacks: override what you want to be told; each hook gets the `Trainer`.

    Hooks run in the thread of the training, in the order of the callbacks. They may call ``trainer.stop()``. What
    they raise ends the training.

    >>> class Count(Callback):
    ...     steps = 0
    ...     def on_step_end(self, trainer):
    ...         self.steps += 1
    """

    order: int = 0
    """Callbacks with a lower number are called first; what saves the others' state comes last."""

    def on_fit_start(self, trainer: Any) -> None:
        """Training begins, or goes on."""

    def on_epoch_start(self, trainer: Any) -> None:
        """An epoch begins."""

    def on_batch_start(self, trainer: Any) -> None:
        """A batch, ``trainer.last_batch``, is about to be learned from."""

    def on_batch_end(self, trainer: Any) -> None:
        """Its gradients are there."""

    def on_step_start(self, trainer: Any) -> None:
        """The optimizer is about to change the parameters: gradients are whole, finite and clipped."""

    def on_step_end(self, trainer: Any) -> None:
        """It has; ``trainer.history`` has the step."""

    def on_validation_start(self, trainer: Any) -> None:
        """The epoch's batches are done, validation begins."""

    def on_validation_end(self, trainer: Any) -> None:
        """``trainer.outcome`` has the evaluation."""

    def on_epoch_end(self, trainer: Any) -> None:
        """``trainer.history.epochs`` has the epoch."""

    def on_pause(self, trainer: Any) -> None:
        """Training waits."""

    def on_resume(self, trainer: Any) -> None:
        """It goes on after it waited."""

    def on_fit_end(self, trainer: Any) -> None:
        """Training ended, finished or stopped."""

    def on_exception(self, trainer: Any, error: BaseException) -> None:
        """Training ended with an error, or was interrupted."""

    def on_end(self, trainer: Any) -> None:
        """``trainer.status`` says how it ended; called last, whatever happened."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: numbers, text, tensors, and lists, tuples and dicts of them."""
        return {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was."""
