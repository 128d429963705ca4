"""Every message that travels between Python and the browser: the one place where their shapes are written.

The TypeScript types in ``extensions/protocol`` are generated from this file (``python -m
workbench.widgets.generate``) and a test compares them, so the two sides cannot disagree.

A *state* travels from Python to a view and is complete: a view that was just opened, or reopened from a
saved notebook, draws from one state alone. Large numbers travel as buffers: a field that ends in
``_buffer`` is an index into the list of binary buffers sent along, with the element type given in its
comment (little endian, C order). An *event* travels from a view to Python and is validated there
(`workbench.live.validate`) before anything changes.

Floats that are not finite travel as ``None``. Text is text: a view never treats it as markup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "Announcement",
    "Candidate",
    "Channel",
    "ClashDim",
    "ClashOperand",
    "ClashState",
    "ClassScore",
    "CurvePoint",
    "Dim",
    "FlowOperand",
    "FlowRow",
    "FlowState",
    "GraphEdge",
    "GraphNode",
    "GraphState",
    "Head",
    "HeatmapState",
    "Hello",
    "HistogramState",
    "ModelFigures",
    "Neighbour",
    "ObserverDetail",
    "ObserverRow",
    "PROTOCOL_VERSION",
    "PauseEvent",
    "Picture",
    "RedoEvent",
    "Refusal",
    "Reply",
    "Request",
    "ResetRangeEvent",
    "ResumeEvent",
    "SampleEvent",
    "ScatterState",
    "SelectEvent",
    "SelectPointsEvent",
    "SetMetricEvent",
    "SetRangeEvent",
    "SliceEvent",
    "Slider",
    "Sprite",
    "Statistics",
    "StopEvent",
    "TensorState",
    "TrainingCounters",
    "TrainingCurve",
    "TrainingFailure",
    "TrainingMark",
    "TrainingSpike",
    "TrainingState",
    "TrainingStrip",
    "Trouble",
    "UndoEvent",
    "VIEWS",
    "Welcome",
    "Withdrawal",
]

PROTOCOL_VERSION = 1
"""Raised when a message changes shape; a view refuses a state of another version and says so."""


# ---------------------------------------------------------------------------------- shared by all views


@dataclass(frozen=True)
class Dim:
    """One dimension: its name (None if it has none) and its size."""

    name: str | None
    size: int


@dataclass(frozen=True)
class Head:
    """What every view says about itself: what it shows, where that came from and how fresh it is."""

    title: str
    """What is shown, e.g. ``conv1.weight``."""
    source: str
    """Where it came from: a variable, a cell, a line of code; empty if unknown."""
    updated: float
    """When Python made this state, in seconds since the epoch."""
    live: bool
    """True while the thing shown may still change by itself."""
    code: str = ""
    """Python that recreates what is shown ("write as code"); empty if there is none."""


# ------------------------------------------------------------------------------------- the shapes view


@dataclass(frozen=True)
class Statistics:
    """Summary of a tensor's values; of the finite ones where a figure needs finite values."""

    minimum: float | None
    maximum: float | None
    mean: float | None
    std: float | None
    zeros: float
    """Fraction of the values that are exactly zero, 0 to 1."""
    nan: int
    inf: int
    counts: list[int]
    """Histogram of the finite values over [minimum, maximum] in equal bins."""
    sampled: bool = False
    """True if only a part of the values was looked at, to keep to the time allowed."""


@dataclass(frozen=True)
class Slider:
    """A dimension that the picture does not draw, and which of its entries is shown."""

    dim: Dim
    axis: int
    index: int


@dataclass(frozen=True)
class Picture:
    """A small picture of a tensor, drawn from `values_buffer` (float32)."""

    kind: Literal["images", "heatmap", "line", "scalar"]
    tiles: int
    """How many images lie in the buffer (1 for the other kinds)."""
    height: int
    width: int
    channels: int
    """Buffer shape: [tiles, height, width, channels]."""
    low: float
    """The value drawn as the lower end of the colour map."""
    high: float
    signed: bool
    """True if zero means something: the map is then the signed one with zero fixed at its middle."""
    values_buffer: int
    row_dim: Dim | None
    column_dim: Dim | None
    tile_dim: Dim | None
    sliders: list[Slider]


@dataclass(frozen=True)
class TensorState:
    """One tensor: its dims by name, type, statistics and a small picture."""

    kind: Literal["tensor"]
    head: Head
    dtype: str
    device: str
    dims: list[Dim]
    count: int
    nbytes: int
    requires_grad: bool
    leaf: bool
    statistics: Statistics | None
    picture: Picture | None


@dataclass(frozen=True)
class FlowOperand:
    """One tensor that enters or leaves an op in the flow picture."""

    label: str
    dtype: str
    dims: list[Dim]
    contracted: list[int]
    """Indices of dims that end in the op (hatched)."""
    reduced: list[int]
    """Indices of dims that are reduced away (faded)."""
    broadcast: list[int]
    """Indices of dims that are stretched (dashed outline)."""
    becomes: list[int | None] = field(default_factory=list)
    """For each dim the index of the output's dim that it lives on as, None if it ends; empty if only names tell."""


@dataclass(frozen=True)
class FlowRow:
    """One op of the flow picture."""

    node: str
    """Identity of the graph's node: the selection shared with the graph view."""
    op: str
    scope: str
    source: str
    inputs: list[FlowOperand]
    output: FlowOperand


@dataclass(frozen=True)
class FlowState:
    """Dims flowing through ops, one row an op, time downward."""

    kind: Literal["flow"]
    head: Head
    rows: list[FlowRow]
    selected: str | None


@dataclass(frozen=True)
class ClashDim:
    """One dimension of an operand in an error picture, and the line that gave it its size."""

    name: str | None
    size: int
    origin: str
    clash: bool


@dataclass(frozen=True)
class ClashOperand:
    """One operand of the op that was refused."""

    label: str
    dims: list[ClashDim]


@dataclass(frozen=True)
class ClashState:
    """A name or shape error: the operands aligned from the right, the offending dims ringed and joined."""

    kind: Literal["clash"]
    head: Head
    op: str
    message: str
    operands: list[ClashOperand]
    fix: str
    """Code that would work; empty if none is known."""


# ---------------------------------------------------------------------------------- the histogram view


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
class Refusal:
    """Why the last request was refused; the state is as it was before it."""

    request: str
    reason: str


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


# -------------------------------------------------------------------------------------- the graph view


@dataclass(frozen=True)
class GraphNode:
    """One node of a graph."""

    id: str
    kind: Literal["input", "op", "parameter", "constant", "output"]
    op: str
    label: str
    scope: list[str]
    """Module path, outermost first: ``["features", "0"]``."""
    dtype: str
    dims: list[Dim]
    """Type of the (first) value it produces."""
    attributes: list[list[str]]
    """Pairs of name and value, as text."""
    source: str
    doc: str
    equation: str
    rule: str
    """The dims rule in words."""
    parameters: int
    flops: float
    bytes: float
    bits: int


@dataclass(frozen=True)
class GraphEdge:
    """One value that travels from a node to another."""

    source: str
    target: str
    dtype: str
    dims: list[Dim]


@dataclass(frozen=True)
class GraphState:
    """A whole graph."""

    kind: Literal["graph"]
    head: Head
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    selected: str | None
    truncated: int
    """How many nodes were left out because the graph is larger than a view can show; 0 if none."""


# ------------------------------------------------------------------------------------ the heatmap view


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


# ------------------------------------------------------------------------------------ the scatter view


@dataclass(frozen=True)
class Sprite:
    """Thumbnails, one a point, laid out row by row in one grey image."""

    image_buffer: int
    """uint8 [rows * height, columns * width]"""
    height: int
    width: int
    columns: int
    rows: int


@dataclass(frozen=True)
class Neighbour:
    """A point near the picked one, by distance in the space before projection."""

    index: int
    distance: float


@dataclass(frozen=True)
class ScatterState:
    """Points in the embedding projector."""

    kind: Literal["scatter"]
    head: Head
    method: str
    count: int
    total: int
    """How many points there are in all; the view says so when `count` is smaller."""
    dims: int
    """2 or 3"""
    positions_buffer: int
    """float32 [count, dims]"""
    explained: list[float]
    """Fraction of the variance that each component explains; empty where that has no meaning."""
    categories: list[str]
    """The distinct labels."""
    category_buffer: int | None
    """uint16 [count]: index into `categories`"""
    label_name: str
    sprite: Sprite | None
    columns: list[str]
    """Names of the metadata columns."""
    rows: list[list[str]]
    """Metadata of the selected points, one row each, in the order of `selected`."""
    selected: list[int]
    metric: Literal["cosine", "euclidean"]
    neighbours: list[Neighbour]
    """Of the first selected point."""
    refusal: Refusal | None


# ----------------------------------------------------------------------------------- the training view


@dataclass(frozen=True)
class TrainingCurve:
    """One curve over the steps, thinned out so that its extremes stay."""

    name: str
    """``loss``, ``learning rate``, ``gradient norm``, ``throughput``, or a metric's name."""
    kind: Literal["loss", "metric", "rate", "norm", "throughput"]
    part: Literal["train", "validation"]
    points: int
    points_buffer: int
    """float64 [2, points]: steps, and the least and greatest values around them; not a number where there is none"""
    stretches: int
    """0 where there is a value an epoch."""
    means_buffer: int
    """float64 [3, stretches]: last step of each stretch, mean of its values, and how many steps it has"""
    missing: int
    """Values that are not finite."""


@dataclass(frozen=True)
class TrainingStrip:
    """One number a layer, over the steps at which it was looked at."""

    name: Literal["update / weight", "gradient norm", "dead units"]
    layers: list[str]
    left_out: int
    """Layers that were left out because there are too many."""
    steps: list[int]
    values_buffer: int
    """float32 [layers, steps]; not a number where there is none"""


@dataclass(frozen=True)
class TrainingMark:
    """The end of an epoch."""

    epoch: int
    step: int


@dataclass(frozen=True)
class TrainingSpike:
    """A step at which the loss stood out."""

    step: int
    value: float
    usual: float
    """The median of the steps before it."""


@dataclass(frozen=True)
class TrainingFailure:
    """What ended a training that did not end by itself."""

    kind: str
    """Class of the error."""
    step: int | None
    """The step that was not taken, where the error knows it."""
    culprit: str | None
    """What first held a value that is not finite, where that is known."""


@dataclass(frozen=True)
class TrainingCounters:
    """How far a training is."""

    epoch: int
    """Epochs completed."""
    epochs: int | None
    """Epochs after which it ends; None where steps decide."""
    step: int
    steps: int | None
    """Steps after which it ends, where known."""
    batch: int
    """Batches of this epoch."""
    batches: int | None
    """Batches in an epoch, where known."""
    samples: int
    """Samples of this epoch."""
    skipped: int
    """Steps left out because float16 overflowed."""
    seconds: float
    """Time spent training, without what it was held."""
    seconds_left: float | None
    rate: float | None
    """Samples a second."""


@dataclass(frozen=True)
class TrainingState:
    """A training: how far it is, its curves, and its layers over time."""

    kind: Literal["training"]
    head: Head
    status: Literal["idle", "running", "paused", "stopped", "finished", "failed"]
    asked: Literal["", "pause", "stop"]
    """What is asked for and comes after this batch."""
    message: str
    """Why it ended, where it ended by itself or with an error."""
    failure: TrainingFailure | None
    counters: TrainingCounters
    curves: list[TrainingCurve]
    strips: list[TrainingStrip]
    spikes: list[TrainingSpike]
    epochs: list[TrainingMark]
    advice: str
    """Code that would begin the training, or go on with it; empty where it runs."""


# ------------------------------------------------------------------------------- events, view to Python


@dataclass(frozen=True)
class SelectEvent:
    """A person picked an observer, a node, or nothing."""

    type: Literal["select"]
    id: str | None


@dataclass(frozen=True)
class SelectPointsEvent:
    """A person picked points of the projector."""

    type: Literal["select_points"]
    indices: list[int]


@dataclass(frozen=True)
class SetMetricEvent:
    """A person chose how distance between points is measured."""

    type: Literal["set_metric"]
    metric: Literal["cosine", "euclidean"]


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
class SliceEvent:
    """A person moved a slider of a tensor's picture."""

    type: Literal["slice"]
    axis: int
    index: int


@dataclass(frozen=True)
class SampleEvent:
    """A person asked for another sample of a batch."""

    type: Literal["sample"]
    index: int


@dataclass(frozen=True)
class PauseEvent:
    """A person wants the training to wait after this batch."""

    type: Literal["pause"]


@dataclass(frozen=True)
class ResumeEvent:
    """A person lets a training that waits go on."""

    type: Literal["resume"]


@dataclass(frozen=True)
class StopEvent:
    """A person wants the training to end after this batch."""

    type: Literal["stop"]


VIEWS: dict[str, tuple[tuple[type, ...], tuple[type, ...]]] = {
    "shapes": ((TensorState, FlowState, ClashState), (SliceEvent, SelectEvent)),
    "histogram": (
        (HistogramState,),
        (SelectEvent, SetRangeEvent, ResetRangeEvent, UndoEvent, RedoEvent),
    ),
    "graph": ((GraphState,), (SelectEvent,)),
    "heatmap": ((HeatmapState,), (SampleEvent,)),
    "scatter": ((ScatterState,), (SelectPointsEvent, SetMetricEvent)),
    "training": ((TrainingState,), (PauseEvent, ResumeEvent, StopEvent)),
}
"""For each view: the states it can draw and the events it may send."""


# --------------------------------------------------------------------- the link between page and kernel


@dataclass(frozen=True)
class Announcement:
    """Kernel to page, on the data comm: a view model exists and this is its newest state."""

    type: Literal["state"]
    version: int
    view: Literal["shapes", "histogram", "graph", "heatmap", "scatter", "training"]
    model: str
    """Identity of the view model inside this kernel."""
    order: int
    """Grows with every model that is shown: a panel shows the one of its view with the largest."""
    state: dict[str, object]


@dataclass(frozen=True)
class Withdrawal:
    """Kernel to page: a view model is gone."""

    type: Literal["gone"]
    version: int
    model: str


@dataclass(frozen=True)
class Trouble:
    """Kernel to page: no picture of a view model could be made, and why; the last one stays valid."""

    type: Literal["trouble"]
    version: int
    view: Literal["shapes", "histogram", "graph", "heatmap", "scatter", "training"]
    model: str
    reason: str


@dataclass(frozen=True)
class Hello:
    """Page to kernel, on the control comm: when it opens, when `views` changes, and every half minute."""

    type: Literal["hello"]
    version: int
    views: list[str]
    """The views that the page draws now; only their states are made and sent."""


@dataclass(frozen=True)
class Welcome:
    """Kernel to page, on the control comm: the answer to every hello."""

    type: Literal["welcome"]
    version: int
    kernel: str
    """Identity of the kernel's process: another one after a restart."""
    data: str
    """Identity of the data comm."""


@dataclass(frozen=True)
class Request:
    """Page to kernel, on the control comm, which is served while a cell runs: an event for a view model."""

    type: Literal["event"]
    version: int
    model: str
    event: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """Kernel to page, on the control comm: what became of a request."""

    type: Literal["reply"]
    version: int
    model: str
    accepted: bool
    reason: str
