"""A graph as a live view: its nodes with their scopes, named shapes on the edges, and what each node costs."""

from __future__ import annotations

import threading
import time
from html import escape
from typing import Any

from workbench.base.dtypes import dtype_of
from workbench.graph import Cost, Graph, Node, Type, Value, cost, total
from workbench.live.messages import Dim, GraphEdge, GraphNode, GraphState, Head, SelectEvent
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets.base import ViewWidget
from workbench.widgets.figures import si
from workbench.widgets.html import BOX, QUIET

__all__ = ["MOST_NODES", "GraphModel", "GraphWidget", "graph", "graph_html"]

MOST_NODES = 5000
"""A larger graph is cut here, and the view says how many nodes are missing."""

MOST_LINES = 200
"""Most lines of a graph's text that a cell shows."""

LONGEST = 200
"""Most characters of an attribute that travel."""


def _dims(kind: Type) -> list[Dim]:
    return [Dim(name, size) for name, size in zip(kind.dims.names, kind.dims.sizes, strict=True)]


def _node(kind: str, value: Value, **fields: Any) -> GraphNode:
    defaults: dict[str, Any] = {
        "op": "", "label": value.name, "scope": [], "attributes": [], "source": "", "doc": "", "equation": "",
        "rule": "", "parameters": 0, "flops": 0.0, "bytes": float(value.type.dims.numel * value.type.dtype.itemsize),
    }  # fmt: skip
    return GraphNode(
        id=fields.pop("id", value.name),
        kind=kind,  # type: ignore[arg-type]
        dtype=dtype_of(value.type).short,
        dims=_dims(value.type),
        bits=8 * value.type.dtype.itemsize,
        **{**defaults, **fields},
    )


def _op_node(node: Node, price: Cost) -> GraphNode:
    return _node(
        "op",
        node.outputs[0],
        op=node.op.name,
        label=node.op.name,
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


class GraphModel(ViewModel):
    """Draws `graph` under the name `title`; a picked node is the selection that all views share."""

    view = "graph"

    def __init__(self, graph: Graph, title: str = "", source: str = "") -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._title = title or graph.name
        self._source = source
        self._selected: str | None = None
        self._graph = graph
        self._nodes, self._edges, self._missing = self._draw(graph)
        self._stop = selection.listen(self._follow)

    @property
    def graph(self) -> Graph:
        """The graph that is drawn."""
        return self._graph

    @property
    def selected(self) -> str | None:
        """Name of the selected node."""
        return self._selected

    @staticmethod
    def _draw(graph: Graph) -> tuple[list[GraphNode], list[GraphEdge], int]:
        shown = graph.nodes[:MOST_NODES]
        read = {value for node in shown for value in node.values} | set(graph.outputs)
        nodes = [_node("input", value) for value in graph.inputs]
        for kind, tensors in (("parameter", graph.parameters), ("constant", graph.constants)):
            nodes += [
                _node(kind, value, scope=value.name.split(".")[:-1], parameters=value.type.dims.numel)
                for value in tensors
                if value in read
            ]
        nodes += [_op_node(node, cost(graph, node)) for node in shown]
        edges = []
        for node in shown:
            for value in node.values:
                source = value.node.name if value.node is not None else value.name
                edges.append(GraphEdge(source, node.name, dtype_of(value.type).short, _dims(value.type)))
        if len(shown) == len(graph.nodes):
            for i, value in enumerate(graph.outputs):
                name = "output" if graph.single else f"output {i}"
                nodes.append(_node("output", value, id=name, label=name))
                source = value.node.name if value.node is not None else value.name
                edges.append(GraphEdge(source, name, dtype_of(value.type).short, _dims(value.type)))
        return nodes, edges, len(graph.nodes) - len(shown)

    def snapshot(self) -> Snapshot:
        """Return the whole graph, and which node is selected."""
        head = Head(title=self._title, source=self._source, updated=time.time(), live=False)
        with self._lock:
            selected = self._selected
        return Snapshot(GraphState("graph", head, self._nodes, self._edges, selected, self._missing))

    def handle(self, event: object) -> None:
        """Select a node, or nothing."""
        if not isinstance(event, SelectEvent):
            raise Refused("a graph can be selected from, and nothing else")
        if event.id is not None and all(node.id != event.id for node in self._nodes):
            raise Refused(f"the graph has no node {event.id!r}")
        self._select(event.id)
        selection.set(source=self.id, node=event.id)

    def _select(self, node: str | None) -> None:
        with self._lock:
            if node == self._selected:
                return
            self._selected = node
        self.changed()

    def _follow(self, selected: Any, source: str) -> None:
        """Take over a selection made elsewhere, if the node is one of this graph."""
        if source != self.id and (selected.node is None or any(n.id == selected.node for n in self._nodes)):
            self._select(selected.node)


def graph_html(graph: Graph) -> str:
    """Return `graph` as HTML that needs no JavaScript: what it costs, and its text."""
    price = total(graph)
    facts = f"{len(graph.nodes)} ops · {si(price.parameters)} parameters · {si(price.flops)} flops"
    lines = str(graph).splitlines()
    shown = "\n".join(line[:LONGEST] for line in lines[:MOST_LINES])
    rest = f"\n… {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
    return (
        f'<div style="{BOX};max-width:none"><b>{escape(graph.name)}</b> '
        f'<span style="{QUIET}">{escape(facts)}</span>'
        f'<pre style="overflow-x:auto;font-size:12px">{escape(shown + rest)}</pre></div>'
    )


class GraphWidget(ViewWidget):
    """A graph in a cell."""

    def __init__(self, graph: Graph, title: str = "", source: str = "", **traits: Any) -> None:
        super().__init__(GraphModel(graph, title, source), **traits)


def graph(graph: Graph, title: str = "") -> GraphWidget:
    """Show `graph` in this cell."""
    return GraphWidget(graph, title)


renderers.register("graph", Graph, GraphModel)
