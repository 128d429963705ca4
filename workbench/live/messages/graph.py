"""The graph view: nodes and the values that travel between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Dim, Head

__all__ = ["GraphEdge", "GraphNode", "GraphState"]


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
