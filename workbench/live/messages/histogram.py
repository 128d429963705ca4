"""The histogram view: what observers saw, and the ranges chosen from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Head, Refusal

__all__ = [
    "Candidate", "Channel", "ChooseEvent", "CompareEvent", "Comparison", "CurvePoint", "Difference", "HistogramState",
    "ModelFigures", "ObserverDetail", "ObserverRow", "ObserverSettings", "RedoEvent", "ResetRangeEvent",
    "SetRangeEvent", "SetScaleEvent", "ShowDifferenceEvent", "ShowValuesEvent", "UndoEvent", "ValuesBeforeAfter",
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
    damage: float | None
    """What it costs the model: SQNR of its results where this alone is quantized, in dB. The least is the dearest."""


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
class ObserverSettings:
    """What can be chosen of an observer, as it is now."""

    rule: str
    rules: list[list[str]]
    """All rules: the name in events, and the one to show."""
    symmetric: bool
    bits: int
    per_channel: bool
    weight: bool
    """True if a weight is observed: only weights have ranges per channel."""


@dataclass(frozen=True)
class ValuesBeforeAfter:
    """Values of one layer on the held batch, in the floating point model and in the integer one."""

    low: float
    high: float
    bins: int
    float_buffer: int
    """float32 [bins]: how many values of the floating point model fell into each equal bin of [low, high]."""
    integer_buffer: int
    """float32 [bins]: of the integer model."""
    sqnr: float | None
    """Of the integer model's values against those of the floating point model, in dB."""
    worst: float
    """Greatest difference of two values."""
    shift: float
    """Mean of the integer model's values less that of the floating point model's."""


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
    settings: ObserverSettings | None
    """None where nothing can be chosen: the range is known without looking, or the observer is the program's own."""
    values: ValuesBeforeAfter | None
    """None until they are asked for, and there."""


@dataclass(frozen=True)
class ModelFigures:
    """What the present ranges do to the whole model, where somebody measures it."""

    sqnr: float | None
    accuracy: float | None
    float_accuracy: float | None
    samples: int | None
    """Of how many samples of the held batch these are, where the others follow; None for all of them."""
    held: int | None
    """How many samples are held; None where nobody measures."""


@dataclass(frozen=True)
class Difference:
    """One observer that two sides set otherwise."""

    id: str
    a: str
    b: str
    a_sqnr: float | None
    b_sqnr: float | None


@dataclass(frozen=True)
class Comparison:
    """Two settings of all observers beside each other."""

    active: Literal["A", "B"]
    a: ModelFigures
    b: ModelFigures
    differences: list[Difference]
    """At most 100."""


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
    comparison: Comparison | None
    """None unless settings were kept as A."""
    show_values: bool
    """Whether values before and after quantization are asked for."""
    no_values: str
    """Why there are none, in words; empty if there are, if they are on their way, or nobody asks."""
    no_detail: str
    """Why the selected observer has no detail, in words; empty if it has one."""


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


@dataclass(frozen=True)
class SetScaleEvent:
    """A person typed scale and zero point: a range in other words."""

    type: Literal["set_scale"]
    id: str
    scale: float
    zero_point: int


@dataclass(frozen=True)
class ChooseEvent:
    """A person chose settings of an observer; those that are None stay."""

    type: Literal["choose"]
    id: str
    rule: str | None = None
    symmetric: bool | None = None
    bits: int | None = None
    per_channel: bool | None = None


@dataclass(frozen=True)
class CompareEvent:
    """Keep the present settings as A and go on as B, go to the other side, or compare no longer."""

    type: Literal["compare"]
    what: Literal["keep", "switch", "leave"]


@dataclass(frozen=True)
class ShowValuesEvent:
    """Show values before and after quantization over the histogram, or no longer."""

    type: Literal["show_values"]
    on: bool


@dataclass(frozen=True)
class ShowDifferenceEvent:
    """Show what converting the model makes of its graph in the view of differences, an observer's node picked."""

    type: Literal["show_difference"]
    id: str
