"""The graph view: nodes and the values that travel between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.live.messages.common import Dim, Head

__all__ = ["GraphEdge", "GraphNode", "GraphScope", "GraphState", "GraphTensor", "GraphValues"]


@dataclass(frozen=True)
class GraphTensor:
    """A parameter or constant, which is drawn inside the node that uses it."""

    name: str
    kind: Literal["parameter", "constant"]
    dtype: str
    dims: list[Dim]
    quantization: str
    """How its codes stand for numbers, in words; empty where it has none."""
    elements: int


@dataclass(frozen=True)
class GraphNode:
    """One node of a graph."""

    id: str
    kind: Literal["input", "op", "output"]
    op: str
    label: str
    scope: list[str]
    """Path, outermost first: modules, ``["features", "0"]``, and blocks, ``["if y", "then"]``."""
    dtype: str
    dims: list[Dim]
    """Type of the (first) value it produces."""
    sizes: list[str]
    """What the sizes are in any run, one a dim: ``n``, ``4*h``, ``?`` where only the run knows; empty where they are
    those in `dims`."""
    held: list[GraphTensor]
    """Parameters and constants that it reads."""
    quantization: str
    """How the codes that it gives stand for numbers, in words; empty where it gives none."""
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
    """What is read and written."""
    memory: float
    """What its results take."""
    bits: int
    seconds: float | None
    """How long it ran, in all calls of one run; None where it was not measured."""
    wrong: str
    """Why the function ended here with an error; empty where it did not."""


@dataclass(frozen=True)
class GraphEdge:
    """One value that travels from a node to another."""

    source: str
    target: str
    dtype: str
    dims: list[Dim]
    sizes: list[str]
    """As in `GraphNode`."""


@dataclass(frozen=True)
class GraphScope:
    """A box that nodes stand in."""

    id: str
    """Its path, joined with dots."""
    kind: Literal["module", "function", "if", "loop", "block"]
    same: int
    """Equal for scopes that compute the same: the same calls, on values of the same types, joined the same way."""


@dataclass(frozen=True)
class GraphValues:
    """How the numbers are spread that a node gave when its graph was measured."""

    node: str
    count: int
    low: float
    high: float
    mean: float
    std: float
    zeros: float
    """Share of zeros."""
    broken: int
    """How many are infinite or not a number."""
    bins: list[int]
    """Counts of the finite ones, in equal bins from `low` to `high`."""


@dataclass(frozen=True)
class GraphState:
    """A whole graph."""

    kind: Literal["graph"]
    head: Head
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    scopes: list[GraphScope]
    selected: str | None
    values: GraphValues | None
    """Of the selected node, where the graph was measured."""
    wrong: str
    """Why the graph ends where it does: the error of the function that was traced; empty where it is whole."""
    truncated: int
    """How many nodes were left out because the graph is larger than a view can show; 0 if none."""
