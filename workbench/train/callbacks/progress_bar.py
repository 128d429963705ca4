"""A bar for every epoch."""

from __future__ import annotations

import sys
from typing import Any

from tqdm.auto import tqdm

from workbench.train.callbacks.base import Callback

__all__ = ["ProgressBar"]


class ProgressBar(Callback):
    """Shows a bar for every epoch, with loss, throughput and, at its end, all figures: as text, or in a notebook."""

    order = 90

    def __init__(self) -> None:
        self._bar: Any = None

    def on_epoch_start(self, trainer: Any) -> None:
        """Show a new bar."""
        self._open(trainer)

    def _open(self, trainer: Any) -> None:
        loop = trainer.loop
        of = "" if loop.epochs is None else f"/{loop.epochs}"
        self._bar = tqdm(
            total=loop.position.length, desc=f"epoch {trainer.epoch + 1}{of}", unit="batch", file=sys.stdout,
            initial=trainer.progress.batch,
        )  # fmt: skip

    def on_batch_end(self, trainer: Any) -> None:
        """Move it on."""
        if self._bar is None:
            self._open(trainer)
        history = trainer.history
        if history.losses:
            words = f"loss {history.losses[-1]:.4f}, {history.speeds[-1]:.0f}/s"
            self._bar.set_postfix_str(words, refresh=False)
        self._bar.update()

    def on_pause(self, trainer: Any) -> None:
        """Say so."""
        if self._bar is not None:
            self._bar.set_postfix_str("paused")

    def on_validation_start(self, trainer: Any) -> None:
        """Say so."""
        if self._bar is not None:
            self._bar.set_postfix_str("validating")

    def on_epoch_end(self, trainer: Any) -> None:
        """Show the figures, and leave the bar."""
        if self._bar is not None:
            last = trainer.history.epochs[-1]
            figures = ", ".join(f"{name} {value:.4f}" for name, value in last.values.items())
            self._bar.set_postfix_str(f"{figures}, {last.rate:.0f}/s")
            self._close()

    def on_end(self, trainer: Any) -> None:
        """Leave the bar as it is, and say why training ended."""
        self._close()
        if trainer.message and trainer.status == "stopped":
            tqdm.write(f"stopped: {trainer.message}", file=sys.stdout)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
