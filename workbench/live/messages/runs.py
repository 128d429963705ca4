"""The runs view: what a log of many runs holds, a page of it at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Head

__all__ = [
    "FilterTagsEvent", "RunsChart", "RunsColumn", "RunsDistribution", "RunsLine", "RunsPage", "RunsPicture", "RunsRow",
    "RunsRun", "RunsState", "RunsTable", "RunsText", "ShowPageEvent", "ShowRunsEvent", "ShowStepEvent", "TailEvent",
]  # fmt: skip


@dataclass(frozen=True)
class RunsRun:
    """One run of the log; its place in the list is its number and its colour, for as long as the log is open."""

    name: str
    shown: bool
    values: int
    """How many scalars it has written."""
    last: int
    """The last step of these."""


@dataclass(frozen=True)
class RunsPage:
    """One kind of what a log holds."""

    page: Literal["scalars", "histograms", "images", "texts", "curves", "table"]
    cards: int
    """How many there are of the runs that are shown, under tags that the pattern matches."""


@dataclass(frozen=True)
class RunsLine:
    """One tag of one run, thinned out so that its extremes stay."""

    run: int
    points: int
    points_buffer: int
    """float64 [3, points]: steps, values, and when they were written in seconds since the epoch; recall, precision and
    threshold of a curve of these. Not a number where there is none."""
    stretches: int
    """0 for a curve of precision and recall."""
    means_buffer: int
    """float64 [4, stretches]: last step of each stretch, mean of its values, how many it has, and when it ended"""
    missing: int
    """Values that are not finite."""
    of: int
    """How many values there are."""
    step: int
    """The last step, or that of the curve."""


@dataclass(frozen=True)
class RunsChart:
    """One tag, of all runs that have it and are shown."""

    tag: str
    lines: list[RunsLine]


@dataclass(frozen=True)
class RunsDistribution:
    """The histograms of one tag of one run, counted anew in equal bins, the same for all steps."""

    tag: str
    run: int
    steps: list[int]
    of: int
    """How many steps there are; some are left out where these are many."""
    low: float
    high: float
    bins: int
    counts_buffer: int
    """float32 [steps, bins]"""


@dataclass(frozen=True)
class RunsPicture:
    """One picture."""

    tag: str
    run: int
    step: int
    position: int
    """Which of the tag's pictures it is."""
    of: int
    height: int
    """Of what is sent; 0 where the picture cannot be read."""
    width: int
    channels: int
    """1, 3 or 4"""
    pixels_buffer: int
    """uint8 [height, width, channels]"""
    full_height: int
    full_width: int
    trouble: str
    """Why it cannot be read."""


@dataclass(frozen=True)
class RunsText:
    """One text, as it was written."""

    tag: str
    run: int
    step: int
    position: int
    of: int
    text: str
    left_out: int
    """Characters behind what is sent."""


@dataclass(frozen=True)
class RunsColumn:
    """A hyperparameter, or a figure that came of them."""

    name: str
    kind: Literal["setting", "metric"]
    numbers: bool
    """Whether all that there is are numbers."""


@dataclass(frozen=True)
class RunsRow:
    """The hyperparameters of a run and what came of them, in the order of the columns."""

    run: int
    runs: list[int]
    """The runs whose curves belong to it: itself, and the one in whose folder it lies."""
    cells: list[str | float | None]


@dataclass(frozen=True)
class RunsTable:
    """Hyperparameters and figures."""

    columns: list[RunsColumn]
    rows: list[RunsRow]
    left_out: int
    """Columns and rows that are not among them, because there are too many."""


@dataclass(frozen=True)
class RunsState:
    """A page of a log."""

    kind: Literal["runs"]
    head: Head
    runs: list[RunsRun]
    runs_left_out: int
    """Runs that are not among them, because there are too many."""
    pages: list[RunsPage]
    """The kinds of which there is something, whatever is filtered."""
    page: Literal["scalars", "histograms", "images", "texts", "curves", "table"]
    pattern: str
    """What the tags that are shown match; all where it is empty."""
    first: int
    """Which card of the page's is the first here."""
    most: int
    """Cards that are sent at once."""
    charts: list[RunsChart]
    distributions: list[RunsDistribution]
    pictures: list[RunsPicture]
    texts: list[RunsText]
    table: RunsTable | None
    step: int | None
    """The step at which pictures, texts and curves are shown: of each the last one up to it. None is the latest."""
    last_step: int
    """The last step of what the page shows."""
    problems: list[str]
    """What could not be read."""


@dataclass(frozen=True)
class ShowPageEvent:
    """A person wants another kind of what there is, or other cards of it."""

    type: Literal["show_page"]
    page: Literal["scalars", "histograms", "images", "texts", "curves", "table"]
    first: int


@dataclass(frozen=True)
class FilterTagsEvent:
    """A person wants only tags that match a regular expression."""

    type: Literal["filter_tags"]
    pattern: str


@dataclass(frozen=True)
class ShowRunsEvent:
    """A person put runs away; all others are shown."""

    type: Literal["show_runs"]
    hidden: list[int]


@dataclass(frozen=True)
class ShowStepEvent:
    """A person wants to see pictures, texts and curves as they were at a step, or the latest."""

    type: Literal["show_step"]
    step: int | None


@dataclass(frozen=True)
class TailEvent:
    """A page that somebody looks at asks whether more was written."""

    type: Literal["tail"]
