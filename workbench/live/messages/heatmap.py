"""The heatmap view: an attribution over its input, and the board on which methods are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Dim, Head, Refusal

__all__ = [
    "AskEvent",
    "BoardCell",
    "BoardColumn",
    "BoardRow",
    "BoardState",
    "ClassScore",
    "HeatmapControls",
    "HeatmapMethod",
    "HeatmapOther",
    "HeatmapPart",
    "HeatmapSetting",
    "HeatmapState",
    "HeatmapStrip",
    "HeatmapWork",
    "OpenRowEvent",
    "SampleEvent",
    "SettingEvent",
    "StripSample",
]


@dataclass(frozen=True)
class ClassScore:
    """One class that the model weighs, with its probability."""

    label: str
    probability: float
    index: int = -1
    """Which class it is; -1 if it has no number."""


@dataclass(frozen=True)
class HeatmapPart:
    """One input with its attributions."""

    name: str
    """Empty where there is one input only."""
    form: Literal["picture", "tokens", "series"]
    """A picture; a row of words, one a column; or lines over the columns, one a row."""
    height: int
    width: int
    channels: int
    """Of the input; 0 where the attributions are those of a layer, which has no picture."""
    input_buffer: int
    """float32 [height, width, channels]"""
    input_low: float
    input_high: float
    attribution_buffer: int | None
    """float32 [height, width]; not a number where there is none. None until there is an answer."""
    other_buffer: int | None
    """float32 [height, width]: of the other model."""
    row_dim: Dim
    column_dim: Dim
    tokens: list[str]
    """The words of a text, as many as columns; else empty."""


@dataclass(frozen=True)
class HeatmapSetting:
    """One setting of the method, as text."""

    name: str
    kind: str
    """``whole``, ``wholes``, ``place``, ``number``, ``truth`` or ``choice``."""
    value: str
    choices: list[str]
    label: str
    """What it is called where people read it; `name` is its name in Python."""
    meaning: str
    """What it does, in a sentence; may be empty."""


@dataclass(frozen=True)
class HeatmapMethod:
    """A method that can be asked for."""

    name: str
    title: str
    layer: bool
    """Whether it explains by a layer."""


@dataclass(frozen=True)
class HeatmapControls:
    """What can be asked for, and what is."""

    models: list[str]
    model: str
    other: str | None
    """The model that is shown beside."""
    methods: list[HeatmapMethod]
    method: str
    settings: list[HeatmapSetting]
    layers: list[str]
    layer: str | None
    target: str
    """One of `targets`, or a class's number."""
    targets: list[str]
    """Which there are of ``predicted``, ``true`` and ``given``."""
    made: str
    """Of a method that is made ready, what it was made with, which is not set here; empty for others."""


@dataclass(frozen=True)
class HeatmapWork:
    """A question that is worked on; the picture is the last answer."""

    what: str
    """In words: the method, and of what."""
    rows: int
    """How many rows went through the model."""
    total: int | None
    """How many will, where that is known."""
    seconds: float


@dataclass(frozen=True)
class HeatmapOther:
    """What the other model answers, or why it does not."""

    name: str
    trouble: str
    delta: float | None
    tolerance: float | None
    seconds: float | None


@dataclass(frozen=True)
class StripSample:
    """One of all samples."""

    index: int
    predicted: str
    truth: str
    """Empty if it is not known."""
    wrong: bool


@dataclass(frozen=True)
class HeatmapStrip:
    """Samples around the one that is shown."""

    samples: list[StripSample]
    height: int
    width: int
    channels: int
    """1 or 3; 0 where samples are no pictures, and their numbers stand for them."""
    buffer: int | None
    """uint8 [samples, height, width, channels]"""
    wrong: int
    """How many of all samples are predicted wrongly."""


@dataclass(frozen=True)
class HeatmapState:
    """An attribution over its input."""

    kind: Literal["heatmap"]
    head: Head
    parts: list[HeatmapPart]
    """One for each input of the model."""
    method: str
    settings: list[list[str]]
    """Name in Python, value as text, and what it is called."""
    target: str
    target_index: int | None
    truth: str | None
    """The true class; None if it is not known."""
    wrong: bool
    """True where another class was predicted."""
    predictions: list[ClassScore]
    """Most probable first."""
    delta: float | None
    """Convergence delta: sum of the attributions − (F(input) − F(baseline)); None if it has no meaning."""
    tolerance: float | None
    """A delta beyond this is shown as a warning."""
    seconds: float
    sample: int
    samples: int
    averaged: int
    """Over how many samples this is the mean; 0 for a single one."""
    averaged_samples: list[int]
    """Which samples of the strip are among them."""
    note: str
    """What else must be known to read it; mostly empty."""
    controls: HeatmapControls | None
    """None where nothing else can be asked."""
    alone: str
    """Why nothing else can be asked; empty where it can."""
    work: HeatmapWork | None
    other: HeatmapOther | None
    refusal: Refusal | None
    strip: HeatmapStrip | None
    board: bool = False
    """True where it is a row of a board, to which a person can go back."""


@dataclass(frozen=True)
class BoardColumn:
    """A figure by which methods are compared."""

    name: str
    title: str
    better: str
    """``low``, ``high``, or empty where none is better."""
    meaning: str


@dataclass(frozen=True)
class BoardCell:
    """One figure of one method."""

    value: float | None
    note: str
    """Why there is none, or what is wrong with it; mostly empty."""


@dataclass(frozen=True)
class BoardRow:
    """One method on the board."""

    method: str
    title: str
    made: str
    """Of a method that is made ready, what it was made with; empty for others."""
    standing: Literal["waiting", "running", "done", "refused", "stopped"]
    trouble: str
    attribution_buffer: int | None
    """float32 [height, width] of the first sample"""
    cells: list[BoardCell]
    """One for each column."""


@dataclass(frozen=True)
class BoardState:
    """Methods compared on the same question."""

    kind: Literal["board"]
    head: Head
    height: int
    width: int
    columns: list[BoardColumn]
    rows: list[BoardRow]
    question: str
    """Which target of how many samples."""
    running: bool
    done: int
    seconds: float
    refusal: Refusal | None


@dataclass(frozen=True)
class SampleEvent:
    """A person asked for another sample of a batch."""

    type: Literal["sample"]
    index: int


@dataclass(frozen=True)
class AskEvent:
    """A person asked something else; what is None stays as it is."""

    type: Literal["ask"]
    model: str | None = None
    other: str | None = None
    """Empty for no other model."""
    method: str | None = None
    layer: str | None = None
    target: str | None = None
    """``predicted``, ``true``, or a class's number."""


@dataclass(frozen=True)
class SettingEvent:
    """A person set something of the method."""

    type: Literal["setting"]
    name: str
    value: str


@dataclass(frozen=True)
class OpenRowEvent:
    """A person opened a row of the board as a heatmap, or with None went back to the board."""

    type: Literal["open_row"]
    method: str | None
