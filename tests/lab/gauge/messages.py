"""The gauge view: one number between two ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Head

__all__ = ["GaugeState", "PresetEvent"]


@dataclass(frozen=True)
class GaugeState:
    """A number and the ends that it lies between."""

    kind: Literal["gauge"]
    head: Head
    low: float
    high: float
    value: float | None
    """None if it is not finite."""


@dataclass(frozen=True)
class PresetEvent:
    """A person asked for another value."""

    type: Literal["preset"]
    value: float
