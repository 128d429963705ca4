"""A graph as a live view: its nodes with their scopes, named shapes on the edges, and what each node costs."""

from __future__ import annotations

import time
from collections.abc import Container
from typing import Any, Literal

from workbench.base.dtypes import dtype_of
from workbench.graph import Graph, Node, Type, Value, cost
from workbench.live.messages import Dim, GraphEdge, GraphNode, GraphState, Head
from workbench.live.model import Snapshot
from workbench.live.renderers import renderers
from workbench.widgets.base import ViewWidget
from workbench.widgets.picking import PickingModel

__all__ = ["MOST_NODES", "GraphModel", "GraphWidget", "dims_of_type", "graph"]

MOST_NODES = 5000
"""A larger graph is cut here, and the view says how many nodes are missing."""

LONGEST = 200
"""Most characters of a text that travel."""

Kind = Literal["input", "op", "parameter", "constant", "output"]


def dims_of_type(kind: Type) -> list[Dim]:
    """Return the dims of a type as views take them."""
    return [Dim(name, size) for name, size in zip(kind.dims.labels, kind.dims.sizes, strict=True)]


class GraphModel(PickingModel):
    """Draws `graph` under the name `title`; call `show` to draw another, or this one after it was changed."""

    view = "graph"

    def __init__(self, graph: Graph, title: str = "", source: str = "") -> None:
        super().__init__()
        self._title = title
        self._source = source
        self._graph = graph
        self._drawn: _Drawn | None = None

    @property
    def graph(self) -> Graph:
        """The graph that is drawn."""
        return self._graph

    def show(self, graph: Graph) -> None:
        """Draw `graph` from now on; the picked node stays where it has one of that name."""
        drawn = _Drawn(graph)
        with self._lock:
            self._graph, self._drawn = graph, drawn
            self._selected = self._selected if self._selected in drawn.known else None
        self.changed()

    def snapshot(self) -> Snapshot:
        """Return the whole graph, and which node is picked."""
        drawn = self._draw()
        title = (self._title or self._graph.name)[:LONGEST]
        head = Head(title, self._source[:LONGEST], drawn.made, live=False)
        with self._lock:
            selected = self._selected
        return Snapshot(GraphState("graph", head, drawn.nodes, drawn.edges, selected, drawn.missing))

    def _known(self) -> Container[str]:
        return self._draw().known

    def _draw(self) -> _Drawn:
        with self._lock:
            if self._drawn is None:
                self._drawn = _Drawn(self._graph)
            return self._drawn


class _Drawn:
    """A graph as nodes and edges of the view."""

    def __init__(self, graph: Graph) -> None:
        shown = graph.nodes[:MOST_NODES]
        whole = len(shown) == len(graph.nodes)
        read = {value for node in shown for value in node.values} | (set(graph.outputs) if whole else set())
        self.made = time.time()
        self.missing = len(graph.nodes) - len(shown)
        self.nodes = [_node("input", value, value.name, value.name) for value in graph.inputs]
        self.nodes += [_held("parameter", value) for value in graph.parameters if value in read]
        self.nodes += [_held("constant", value) for value in graph.constants if value in read]
        self.nodes += [_op(graph, node) for node in shown]
        self.edges = [_edge(value, node.name) for node in shown for value in dict.fromkeys(node.values)]
        for i, value in enumerate(graph.outputs if whole else ()):
            label = "output" if graph.single else f"output {i}"
            # No value has a space in its name, so this cannot be another's identity.
            self.nodes.append(_node("output", value, f"output {i}", label))
            self.edges.append(_edge(value, f"output {i}"))
        self.known = frozenset(node.id for node in self.nodes)


def _node(kind: Kind, value: Value, identity: str, label: str, **fields: Any) -> GraphNode:
    defaults: dict[str, Any] = {
        "op": "", "scope": [], "attributes": [], "source": "", "doc": "", "equation": "", "rule": "", "parameters": 0,
        "flops": 0.0, "bytes": float(value.type.dims.numel * value.type.dtype.itemsize),
    }  # fmt: skip
    return GraphNode(
        id=identity,
        kind=kind,
        label=label,
        dtype=dtype_of(value.type).short,
        dims=dims_of_type(value.type),
        bits=8 * value.type.dtype.itemsize,
        **{**defaults, **fields},
    )


def _held(kind: Kind, value: Value) -> GraphNode:
    scope = value.name.split(".")[:-1] if kind == "parameter" else []
    return _node(kind, value, value.name, value.name, scope=scope, parameters=value.type.dims.numel)


def _op(graph: Graph, node: Node) -> GraphNode:
    price = cost(graph, node)
    return _node(
        "op",
        node.outputs[0],
        node.name,
        node.op.name,
        op=node.op.name,
        scope=list(node.scope),
        attributes=[[key, str(value)[:LONGEST]] for key, value in node.params.items()],
        source=node.source,
        doc=node.op.doc,
        equation=node.op.equation,
        rule=node.op.rule,
        parameters=price.parameters,
        flops=price.flops,
        bytes=price.bytes,
    )


def _edge(value: Value, target: str) -> GraphEdge:
    source = value.node.name if value.node is not None else value.name
    return GraphEdge(source, target, dtype_of(value.type).short, dims_of_type(value.type))


class GraphWidget(ViewWidget):
    """A graph in a cell."""

    def __init__(self, graph: Graph, title: str = "", source: str = "", **traits: Any) -> None:
        super().__init__(GraphModel(graph, title, source), **traits)


def graph(graph: Graph, title: str = "") -> GraphWidget:
    """Show `graph` in this cell."""
    return GraphWidget(graph, title)


renderers.register("graph", Graph, GraphModel)
