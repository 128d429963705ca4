"""The view of differences: the nodes of two graphs beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Dim, Head

__all__ = ["DiffNode", "DiffRow", "DiffState"]


@dataclass(frozen=True)
class DiffNode:
    """A node of one of the graphs."""

    id: str
    op: str
    place: str
    """The function, the module and the blocks in which it stands: ``layer1.0``."""
    source: str
    dtype: str
    dims: list[Dim]
    """Type of the (first) value it produces."""


@dataclass(frozen=True)
class DiffRow:
    """A node of both graphs, or of one, or some that are the same."""

    status: Literal["same", "follows", "changed", "moved", "added", "removed", "replaced"]
    before: DiffNode | None
    """None where it was added, and where it looks as `after` does."""
    after: DiffNode | None
    what: list[str]
    """What is different, a line each."""
    left_out: int
    """How many nodes that are the same it stands for, where it stands for such and has none itself; else 0."""


@dataclass(frozen=True)
class DiffState:
    """What is different between two graphs."""

    kind: Literal["diff"]
    head: Head
    before: str
    after: str
    """What the graphs are called."""
    counts: list[list[str]]
    """Pairs of a status and how many nodes have it, as text."""
    notes: list[str]
    """What is different besides nodes, a line each."""
    rows: list[DiffRow]
    selected: str | None
    truncated: int
    """How many rows were left out because there are more than a view can show; 0 if none."""
