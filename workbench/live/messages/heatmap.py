"""The heatmap view: an attribution over its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Dim, Head

__all__ = ["ClassScore", "HeatmapState", "SampleEvent"]


@dataclass(frozen=True)
class ClassScore:
    """One class that the model weighs, with its probability."""

    label: str
    probability: float


@dataclass(frozen=True)
class HeatmapState:
    """An attribution over its input."""

    kind: Literal["heatmap"]
    head: Head
    height: int
    width: int
    channels: int
    input_buffer: int
    """float32 [height, width, channels]"""
    input_low: float
    input_high: float
    attribution_buffer: int
    """float32 [height, width]; not a number where there is none"""
    row_dim: Dim
    column_dim: Dim
    method: str
    settings: list[list[str]]
    """Pairs of name and value, as text."""
    target: str
    predictions: list[ClassScore]
    """Most probable first."""
    delta: float | None
    """Convergence delta: sum of the attributions − (F(input) − F(baseline)); None if it has no meaning."""
    tolerance: float | None
    """A delta beyond this is shown as a warning."""
    seconds: float
    sample: int
    samples: int


@dataclass(frozen=True)
class SampleEvent:
    """A person asked for another sample of a batch."""

    type: Literal["sample"]
    index: int
