"""A bar for every epoch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from tqdm.auto import tqdm

from workbench.base.figures import si
from workbench.train.callbacks.base import Callback
from workbench.train.drawing import rounded

__all__ = ["ProgressBar"]

SHAPE = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
"""Without the batches a second: samples a second say it."""


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
        length = loop.position.length
        self._bar = tqdm(
            total=length, desc=f"epoch {trainer.epoch + 1}{of}", unit="batch", file=sys.stdout,
            initial=trainer.progress.batch, bar_format=None if length is None else SHAPE,
        )  # fmt: skip

    def on_batch_end(self, trainer: Any) -> None:
        """Move it on."""
        if self._bar is None:
            self._open(trainer)
        history = trainer.history
        if history.losses:
            self._bar.set_postfix_str(_words({"loss": history.losses[-1]}, history.speeds[-1]), refresh=False)
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
            self._bar.set_postfix_str(_words(last.values, last.rate))
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


def _words(figures: Mapping[str, float], rate: float) -> str:
    told = [f"{name} {rounded(value)}" for name, value in figures.items()]
    return ", ".join([*told, f"{si(rate)} samples/s"])
