"""The histogram view: what observers saw, and the ranges chosen from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Head, Refusal

__all__ = [
    "Candidate", "Channel", "CurvePoint", "HistogramState", "ModelFigures", "ObserverDetail", "ObserverRow",
    "RedoEvent", "ResetRangeEvent", "SetRangeEvent", "UndoEvent",
]  # fmt: skip


@dataclass(frozen=True)
class ObserverRow:
    """One observer in the list of layers."""

    id: str
    name: str
    """What is observed, e.g. ``conv2.output``."""
    dims: list[str]
    dtype: str
    scheme: str
    batches: int
    sqnr: float | None
    """Signal to quantization noise ratio with the present range, in dB."""
    spark: list[float]
    """At most 24 bin heights, 0 to 1."""
    nan: int
    inf: int
    overridden: bool
    """True if a person has set the range."""


@dataclass(frozen=True)
class Candidate:
    """A range that some rule would choose, and what it would give."""

    name: str
    low: float
    high: float
    sqnr: float | None


@dataclass(frozen=True)
class CurvePoint:
    """One point of the error curve: the range scaled by `width` about its chosen centre."""

    width: float
    low: float
    high: float
    sqnr: float | None


@dataclass(frozen=True)
class Channel:
    """Range of one channel; `outlier` marks one that is far from its siblings."""

    index: int
    low: float
    high: float
    outlier: bool


@dataclass(frozen=True)
class ObserverDetail:
    """Everything about the selected observer."""

    id: str
    bits: int
    quant_min: int
    quant_max: int
    observed_low: float
    observed_high: float
    counts_buffer: int
    """float32 [bins]: how many values fell into each equal bin of [observed_low, observed_high]."""
    bins: int
    low: float
    """The range in force, after the widening to include zero that quantization asks for."""
    high: float
    scale: float
    zero_point: int
    clip_low: float
    """Fraction of the values below the range, 0 to 1."""
    clip_high: float
    sqnr: float | None
    candidates: list[Candidate]
    curve: list[CurvePoint]
    channel_dim: str | None
    channels: list[Channel]


@dataclass(frozen=True)
class ModelFigures:
    """What the present ranges do to the whole model, where somebody measures it."""

    sqnr: float | None
    accuracy: float | None
    float_accuracy: float | None


@dataclass(frozen=True)
class HistogramState:
    """All observers of a model, one of them in detail."""

    kind: Literal["histogram"]
    head: Head
    observers: list[ObserverRow]
    selected: str | None
    detail: ObserverDetail | None
    model: ModelFigures
    undo: int
    """How many changes can be undone."""
    redo: int
    change: str
    """What the last change did, in words: "clipping 0.3 % more bought 1.7 dB"."""
    refusal: Refusal | None


@dataclass(frozen=True)
class SetRangeEvent:
    """A person moved an observer's range. During a drag `final` is False: only its end can be undone."""

    type: Literal["set_range"]
    id: str
    low: float
    high: float
    final: bool


@dataclass(frozen=True)
class ResetRangeEvent:
    """A person gave an observer's range back to the observer."""

    type: Literal["reset_range"]
    id: str


@dataclass(frozen=True)
class UndoEvent:
    """Take the last change back."""

    type: Literal["undo"]


@dataclass(frozen=True)
class RedoEvent:
    """Make the change again that was taken back."""

    type: Literal["redo"]
