"""Curves below the cell that trains."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from workbench.base import renderer_lookup
from workbench.train.callbacks.base import Callback

__all__ = ["CellCurves"]


class CellCurves(Callback):
    """Draws the history below the running cell of a notebook, anew at most every `interval` seconds.

    Drawing takes at most a twentieth of the time. Elsewhere nothing is drawn.
    """

    order = 95

    def __init__(self, interval: float = 1.0) -> None:
        if not interval >= 0:
            raise ValueError(f"interval must be 0 seconds or more, got {interval}")
        self.interval = interval
        self._draw: Callable[[], None] | None = None
        self._due = 0.0

    def on_fit_start(self, trainer: Any) -> None:
        """Show the history as it is."""
        self._draw = renderer_lookup.display_again(trainer.history)

    def on_step_end(self, trainer: Any) -> None:
        """Draw it, if it is time."""
        if self._draw is not None and time.monotonic() >= self._due:
            self._redraw(self._draw)

    def _redraw(self, draw: Callable[[], None]) -> None:
        started = time.monotonic()
        draw()
        # Drawing takes a twentieth of the time at most.
        self._due = started + max(self.interval, 20 * (time.monotonic() - started))

    def on_end(self, trainer: Any) -> None:
        """Draw how it ended."""
        if self._draw is not None:
            self._redraw(self._draw)
            self._draw = None
