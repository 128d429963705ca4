"""A level as a live view: one number between two ends, which a person can set."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from workbench.live.messages import GaugeState, Head, PresetEvent
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.widgets.base import ViewWidget

__all__ = ["GaugeModel", "GaugeWidget", "Level", "gauge"]


@dataclass(eq=False)
class Level:
    """A number between two ends."""

    value: float
    low: float = 0.0
    high: float = 1.0


class GaugeModel(ViewModel):
    """Draws `level`."""

    view = "gauge"

    def __init__(self, level: Level) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self.level = level

    def snapshot(self) -> Snapshot:
        """Return the number and its ends."""
        with self._lock:
            level = self.level
            head = Head("level", "", time.time(), live=False)
            return Snapshot(GaugeState("gauge", head, level.low, level.high, level.value))

    def handle(self, event: object) -> None:
        """Set the number."""
        assert isinstance(event, PresetEvent)
        if not self.level.low <= event.value <= self.level.high:
            raise Refused(f"the level lies between {self.level.low} and {self.level.high}")
        with self._lock:
            self.level.value = event.value
        self.changed()


class GaugeWidget(ViewWidget):
    """A level in a cell."""

    def __init__(self, level: Level, **traits: Any) -> None:
        super().__init__(GaugeModel(level), **traits)


def gauge(value: float) -> GaugeWidget:
    """Show `value` in this cell."""
    return GaugeWidget(Level(value))


renderers.register(Level, GaugeModel)
