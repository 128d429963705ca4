"""The scatter view: what of a very large cloud travels, and how a page asks for a closer look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["LookCloserEvent", "ScatterWindow"]


@dataclass(frozen=True)
class ScatterWindow:
    """The part of a cloud that travels where the whole would be too much."""

    low: list[float]
    """The least coordinate of the part along each dim."""
    high: list[float]
    whole_low: list[float]
    """The least finite coordinate of the whole cloud along each dim."""
    whole_high: list[float]
    inside: int
    """How many points lie in the part."""
    weights_buffer: int | None
    """uint32 [count]: how many points each of the drawn stands for; None where the points themselves are drawn"""
    cell: list[float]
    """The sides of what each of the drawn stands for; empty where the points themselves are drawn."""
    numbers_buffer: int | None
    """uint32 [count], ascending: the points' numbers; None where each of the drawn stands for many"""


@dataclass(frozen=True)
class LookCloserEvent:
    """A person zoomed into a very large cloud, or out again."""

    type: Literal["look_closer"]
    low: list[float]
    """The least coordinate that can be seen along each dim; empty for the whole cloud."""
    high: list[float]
