"""The scatter view: points of the embedding projector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Head, Refusal

__all__ = ["Neighbour", "ScatterState", "SelectPointsEvent", "SetMetricEvent", "Sprite"]


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
    """[count, dims], as `positions_coding` says"""
    positions_coding: Literal["float32", "packed"]
    """float32; or a uint64 a point: 21 bits each for x, y and z from the lowest on, counted in equal steps from `low`
    to `high`, and the highest bit set where the point has no place"""
    low: list[float]
    """The least finite coordinate along each dim."""
    high: list[float]
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
