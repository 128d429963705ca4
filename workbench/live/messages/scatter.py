"""The scatter view: points of the embedding projector, and everything that is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Head, Refusal
from workbench.live.messages.scatter_window import ScatterWindow

__all__ = [
    "CompareWithEvent",
    "ComputeColumnEvent",
    "JudgeEvent",
    "Neighbour",
    "PlayEvent",
    "ProjectEvent",
    "PublishEvent",
    "RemoveBookmarkEvent",
    "SaveBookmarkEvent",
    "ScatterArrangement",
    "ScatterAxis",
    "ScatterBookmark",
    "ScatterClip",
    "ScatterColumn",
    "ScatterComparison",
    "ScatterEnd",
    "ScatterHidden",
    "ScatterMethod",
    "ScatterQuality",
    "ScatterRange",
    "ScatterSetting",
    "ScatterState",
    "ScatterValue",
    "ScatterWork",
    "SelectPointsEvent",
    "SetNeighboursEvent",
    "ShowProjectionEvent",
    "Sprite",
    "WriteTableEvent",
]


@dataclass(frozen=True)
class Sprite:
    """Thumbnails, one a point, laid out row by row in one image."""

    image_buffer: int
    """uint8 [rows * height, columns * width, channels]"""
    channels: int
    """1 for grey, 3 for red, green and blue"""
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
class ScatterColumn:
    """What is known of every point: a column of the metadata, or one that is computed."""

    name: str
    kind: Literal["category", "number", "text", "offered", "away"]
    """``offered`` is computed when it is asked for; ``away`` is too large to travel, and `note` says so."""
    note: str
    """What it is, in words; mostly empty."""
    values: list[str]
    """The distinct values of a category, in order."""
    buffer: int | None
    """category: uint16 [count], places in `values`; number: float32 or float64 [count], NaN where there is none;
    text: UTF-8."""
    ends_buffer: int | None
    """text: uint32 [count], where each ends in the bytes."""


@dataclass(frozen=True)
class ScatterQuality:
    """How far neighbours in the picture are those of the space, each from 0 to 1, the best."""

    trustworthiness: float | None
    """None as long as nobody has judged it: what will be said then has its room already, so that nothing moves."""
    continuity: float | None
    k: int
    """Among how many nearest."""
    judged: int
    """How many points are judged, each against all."""
    points: int
    """How many there are in the picture."""


@dataclass(frozen=True)
class ScatterSetting:
    """One setting of a method, as text."""

    name: str
    """As Python has it."""
    label: str
    kind: Literal["whole", "number", "truth", "choice", "text"]
    value: str
    choices: list[str]
    note: str
    """What it does, in a sentence."""


@dataclass(frozen=True)
class ScatterMethod:
    """A way of projecting that can be asked for."""

    name: str
    title: str
    note: str
    settings: list[ScatterSetting]


@dataclass(frozen=True)
class ScatterWork:
    """What is being computed; the picture moves meanwhile, or is the last one."""

    what: str
    done: int
    total: int | None
    seconds: float
    unit: str
    """What is counted: ``steps``."""
    stops: bool
    """Whether it can be stopped."""


@dataclass(frozen=True)
class ScatterComparison:
    """The neighbourhoods of these points in another embedding of them."""

    name: str
    k: int
    kept: float
    """The share of neighbours that both have, over all points."""
    lost: list[int]
    """Of the picked point: near here and not there, nearest first."""
    gained: list[int]
    """Of the picked point: near there and not here."""


@dataclass(frozen=True)
class ScatterClip:
    """The sound of one point."""

    point: int
    buffer: int
    """A WAV file."""


@dataclass(frozen=True)
class ScatterHidden:
    """Values of a column whose points are hidden."""

    column: str
    values: list[str]


@dataclass(frozen=True)
class ScatterRange:
    """The part of a column of numbers whose points are shown, both ends included."""

    column: str
    low: float
    high: float


@dataclass(frozen=True)
class ScatterArrangement:
    """How a person has arranged the picture: all that a bookmark keeps, and undo goes back to."""

    projection: str
    camera: list[float]
    """yaw, pitch, zoom, shift to the right, shift upwards, and 1 for the plane; empty for the first look"""
    label: str
    """Column that points are named by."""
    colour: str
    """Column that points are coloured by."""
    hidden: list[ScatterHidden]
    ranges: list[ScatterRange]
    isolated: list[int] | None
    """The only points that are shown; None for all."""
    selected: list[int]
    metric: Literal["cosine", "euclidean"]
    k: int


@dataclass(frozen=True)
class ScatterBookmark:
    """An arrangement with a name."""

    name: str
    arrangement: ScatterArrangement


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
    """[count, dims], as `positions_coding` says"""
    positions_coding: Literal["float32", "packed"]
    """float32; or a uint64 a point: 21 bits each for x, y and z from the lowest on, counted in equal steps from `low`
    to `high`, and the highest bit set where the point has no place"""
    low: list[float]
    """The least finite coordinate along each dim."""
    high: list[float]
    window: ScatterWindow | None
    """What of the cloud is drawn where the whole is too much; None where each point is"""
    explained: list[float]
    """Fraction of the variance that each component explains; empty where that has no meaning."""
    facts: str
    """What else must be known of the picture: steps, loss, that a method sampled; mostly empty."""
    quality: ScatterQuality | None
    """None where it is not judged without being asked for, or cannot be."""
    judges: bool
    """Whether a page that has shown this picture for a while may ask how far it can be trusted (`JudgeEvent`)."""
    label_name: str
    """The column that names points; empty if there is none."""
    columns: list[ScatterColumn]
    sprite: Sprite | None
    selected: list[int]
    metric: Literal["cosine", "euclidean"]
    k: int
    neighbours: list[Neighbour]
    """Of the first selected point."""
    projections: list[str]
    """What this embedding was projected to, by name."""
    projection: str
    """Which of them is drawn."""
    frames: list[str]
    """Those of them that belong together and are played one after another; the drawn one is among them."""
    methods: list[ScatterMethod]
    asked: str
    """The method whose settings were asked last."""
    work: ScatterWork | None
    resumes: bool
    """Whether what was stopped can go on."""
    others: list[str]
    """What these points can be compared with."""
    comparison: ScatterComparison | None
    bookmarks: list[ScatterBookmark]
    sounds: bool
    """Whether points have sounds."""
    clip: ScatterClip | None
    arrangement: ScatterArrangement | None
    """How it is arranged at first; None for the plain way."""
    published: str
    """Where the last page, or table, was written to; empty if none was."""
    refusal: Refusal | None


@dataclass(frozen=True)
class SelectPointsEvent:
    """A person picked points of the projector."""

    type: Literal["select_points"]
    indices: list[int]


@dataclass(frozen=True)
class SetNeighboursEvent:
    """A person chose how distance between points is measured, and how many of the nearest are listed."""

    type: Literal["set_neighbours"]
    metric: Literal["cosine", "euclidean"]
    k: int


@dataclass(frozen=True)
class ScatterValue:
    """What a person typed for one setting."""

    name: str
    value: str


@dataclass(frozen=True)
class ScatterEnd:
    """One end of a direction: the middle of points, or of the points that words name."""

    words: str
    """Names, parted by commas; empty where points are given."""
    points: list[int]


@dataclass(frozen=True)
class ScatterAxis:
    """A direction that an axis of the picture follows."""

    start: ScatterEnd
    end: ScatterEnd


@dataclass(frozen=True)
class ProjectEvent:
    """A person asked for a projection."""

    type: Literal["project"]
    method: str
    dims: int
    settings: list[ScatterValue]
    axes: list[ScatterAxis]
    """For custom axes, two or three; else empty."""


@dataclass(frozen=True)
class ShowProjectionEvent:
    """A person asked for one of the projections that there are."""

    type: Literal["show_projection"]
    name: str


@dataclass(frozen=True)
class JudgeEvent:
    """A page has shown a finished picture for a while, and nobody did anything: there is time to judge it."""

    type: Literal["judge"]
    projection: str


@dataclass(frozen=True)
class WriteTableEvent:
    """A person asked for all points as a file, with exact coordinates."""

    type: Literal["write_table"]


@dataclass(frozen=True)
class ComputeColumnEvent:
    """A person asked for a column that is offered."""

    type: Literal["compute_column"]
    name: str


@dataclass(frozen=True)
class CompareWithEvent:
    """A person asked how neighbourhoods differ from those of another embedding; empty for none."""

    type: Literal["compare_with"]
    name: str


@dataclass(frozen=True)
class SaveBookmarkEvent:
    """A person kept the arrangement under a name, in the place of one of that name."""

    type: Literal["save_bookmark"]
    name: str
    arrangement: ScatterArrangement


@dataclass(frozen=True)
class RemoveBookmarkEvent:
    """A person removed a bookmark."""

    type: Literal["remove_bookmark"]
    name: str


@dataclass(frozen=True)
class PlayEvent:
    """A person wants to hear a point."""

    type: Literal["play"]
    point: int


@dataclass(frozen=True)
class PublishEvent:
    """A person asked for a page that needs no kernel, as it is arranged now."""

    type: Literal["publish"]
    arrangement: ScatterArrangement
