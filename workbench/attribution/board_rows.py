"""What a board holds: columns, and rows of figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.attribution.result import AttributionResult

__all__ = ["DELTA", "TIME", "Column", "Figure", "Row"]

Standing = Literal["waiting", "running", "done", "refused", "stopped"]


@dataclass(frozen=True)
class Column:
    """A figure by which methods are compared."""

    name: str
    title: str
    better: Literal["low", "high"]
    meaning: str


DELTA = Column(
    "delta", "Delta", "low", "How far attributions are, at most, from adding up to the output's change."
)
TIME = Column("time", "Time", "low", "How long the method took for all samples.")


@dataclass(frozen=True)
class Figure:
    """One number of one method."""

    value: float | None
    note: str = ""
    """Why there is none, or what is wrong with it."""


@dataclass
class Row:
    """What is known of one method so far."""

    method: str
    title: str
    standing: Standing = "waiting"
    result: AttributionResult | None = None
    figures: dict[str, Figure] = field(default_factory=dict)
    """By the names of the columns; one that is missing is not known yet."""
    trouble: str = ""
    """Why the method was refused, in its words."""
    made: str = ""
    """Of a method that is made ready, what it was made with; empty for others."""
