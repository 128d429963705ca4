"""A bar for every epoch, and a line of figures at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

# Its bars of text, in notebooks too, where `ProgressLine` draws them: those made of widgets are not saved with a
# notebook, which shows an error in the place of each when it is opened again, and in a narrow cell they overlap.
from tqdm.std import tqdm

from workbench.base import renderer_lookup
from workbench.base.number_format import si
from workbench.data.progress_line import ProgressLine, line_format
from workbench.train.callbacks.base import Callback
from workbench.train.drawing import rounded

__all__ = ["ProgressBar"]

SHAPE = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
"""Without the batches a second: samples a second say it."""
SIGN_OF_LIFE = 60.0
"""Seconds between two lines amid an epoch, where there is no bar."""


class ProgressBar(Callback):
    """Shows a bar for every epoch, with loss and throughput, and at its end all figures.

    In a notebook the bar stays, with the figures beside it; in a terminal a line takes its place. Where output goes to
    a file or a pipe there are only lines: one an epoch, and one a minute.
    """

    order = 90

    def __init__(self) -> None:
        self._bar: Any = None
        self._due = 0.0

    def on_epoch_start(self, trainer: Any) -> None:
        """Show a new bar."""
        self._open(trainer)

    def _open(self, trainer: Any) -> None:
        notebook = renderer_lookup.in_notebook()
        self._due = time.monotonic() + SIGN_OF_LIFE
        length = trainer.loop.position.length
        # Without a length tqdm has a form of its own, which tells no time that is left.
        shape = line_format(length, rate=False) if notebook else None if length is None else SHAPE
        self._bar = tqdm(
            total=length, desc=_label(trainer), unit="batch", initial=trainer.progress.batch,
            file=ProgressLine() if notebook else sys.stdout, bar_format=shape, dynamic_ncols=not notebook,
            disable=not (notebook or sys.stdout.isatty()),
        )  # fmt: skip

    def on_batch_start(self, trainer: Any) -> None:
        """Show a bar, where training goes on amid an epoch."""
        if self._bar is None:
            self._open(trainer)

    def on_batch_end(self, trainer: Any) -> None:
        """Move it on."""
        history, words = trainer.history, ""
        if history.losses:
            words = _words({"loss": history.losses[-1]}, history.speeds[-1])
            # `update` draws it, as often as tqdm finds right.
            self._bar.set_postfix_str(words, refresh=False)
        self._bar.update()
        if self._bar.disable and time.monotonic() >= self._due:
            self._due = time.monotonic() + SIGN_OF_LIFE
            length = trainer.loop.position.length
            of = "" if length is None else f" of {length}"
            _write(f"{_label(trainer)}: {trainer.progress.batch}{of} batches" + (words and f", {words}"))

    def on_pause(self, trainer: Any) -> None:
        """Say so."""
        if self._bar is not None:
            self._bar.set_postfix_str("paused")

    def on_validation_start(self, trainer: Any) -> None:
        """Say so."""
        if self._bar is not None:
            self._bar.set_postfix_str("validating")

    def on_epoch_end(self, trainer: Any) -> None:
        """Show the figures, beside the bar or in its place."""
        if self._bar is None:
            return
        last = trainer.history.epochs[-1]
        figures = _words(last.values, last.rate)
        if renderer_lookup.in_notebook():
            self._bar.set_postfix_str(figures)
            self._close()
            return
        # A line with the figures stands in its place.
        self._bar.leave = False
        self._close()
        _write(f"{_label(trainer, ended=True)}: {figures}, {last.seconds:.1f} s")

    def on_end(self, trainer: Any) -> None:
        """Leave the bar as it is, and say why training ended."""
        self._close()
        if trainer.message and trainer.status == "stopped":
            _write(f"stopped: {trainer.message}")

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _label(trainer: Any, *, ended: bool = False) -> str:
    """Return which epoch of how many this is."""
    of = "" if trainer.loop.epochs is None else f"/{trainer.loop.epochs}"
    return f"epoch {trainer.epoch + (not ended)}{of}"


def _words(figures: Mapping[str, float], rate: float) -> str:
    told = [f"{name} {rounded(value)}" for name, value in figures.items()]
    return ", ".join([*told, f"{si(rate)} samples/s"])


def _write(line: str) -> None:
    """Write a line where bars may stand, also those of the program's own."""
    tqdm.write(line, file=sys.stdout)
