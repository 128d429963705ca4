"""A graph as a live view: its nodes with their scopes, named shapes on the edges, and what each node costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from typing import Any, Literal

from workbench.base.dtypes import dtype_of
from workbench.graph import Graph, Node, TensorType, Type, Value, called, cost, trace
from workbench.graph.blocks import Block, values_in
from workbench.graph.cost import bytes_of, elements_of
from workbench.graph.rules import kind_of
from workbench.graph.tracing import Example
from workbench.live.messages import Dim, GraphEdge, GraphNode, GraphState, Head
from workbench.live.model import Snapshot
from workbench.live.renderers import renderers
from workbench.widgets.base import ViewWidget
from workbench.widgets.node_selection import NodeSelectionModel

__all__ = ["MOST_NODES", "GraphModel", "GraphWidget", "dims_of_type", "graph", "graph_of"]

MOST_NODES = 5000
"""A larger graph is cut here, and the view says how many nodes are missing."""

LONGEST = 200
"""Most characters of a text that travel."""

Kind = Literal["input", "op", "parameter", "constant", "output"]


def short_name(kind: Type) -> str:
    """Return how a view names what a value is: a data type such as ``f32``, or the type in words."""
    return dtype_of(kind).short if isinstance(kind, TensorType) else str(kind)[:LONGEST]


def dims_of_type(kind: Type) -> list[Dim]:
    """Return the dims of a type as views take them; none for what is no tensor."""
    if not isinstance(kind, TensorType):
        return []
    return [Dim(name, size) for name, size in zip(kind.dims.labels, kind.dims.sizes, strict=True)]


class GraphModel(NodeSelectionModel):
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
        # Drawn before the lock is taken: it may be large.
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
        self._graph = graph
        self._left = MOST_NODES
        count = sum(1 for _ in graph.walk())
        # What lies behind the cut is unknown, and so are the outputs that come from there.
        whole = count <= MOST_NODES
        self.made = time.time()
        self.missing = max(0, count - MOST_NODES)
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self._block(graph, [])
        read = {edge.source for edge in self.edges} | (
            {one.name for one in graph.returned()} if whole else set()
        )
        given = [_node("input", value, value.name, value.name) for value in (*graph.inputs, *graph.seeds)]
        given += [_held("parameter", value) for value in graph.parameters if value.name in read]
        given += [_held("constant", value) for value in graph.constants if value.name in read]
        self.nodes = given + self.nodes
        for i, operand in enumerate(graph.outputs if whole else ()):
            label = "output" if graph.single else f"output {i}"
            for value in values_in(operand):
                self._output(value, label, f"output {i}")
        for value, after in graph.updates.items() if whole else ():
            self._output(after, f"update {value.name}", f"update {value.name}")
        self.known = frozenset(node.id for node in self.nodes)

    def _output(self, value: Value, label: str, identity: str) -> None:
        """Draw where a value leaves the graph: once for several that leave together."""
        # No value has a space in its name, so this cannot be another's identity.
        # The values of one output come in a row: only the last node can be theirs.
        if all(node.id != identity for node in self.nodes[-1:]):
            self.nodes.append(_node("output", value, identity, label))
        self.edges.append(_edge(value, identity))

    def _block(self, block: Block, scope: list[str]) -> None:
        """Draw the nodes of a block; those of blocks in it have a scope of their own and come before their node."""
        for node in block.nodes:
            if not self._left:
                return
            self._left -= 1
            kind = kind_of(node.callee)
            names = kind.blocks if kind is not None else ()
            read = dict.fromkeys(node.values)
            for name, inner in zip(names, node.blocks, strict=False):
                place = [*(scope or node.scope), f"{called(node.callee)} {node.name}", name]
                # The scope of what holds it, its own call, and which of its blocks.
                self.nodes += [_node("input", one, one.name, one.name, scope=place) for one in inner.inputs]
                self._block(inner, place)
                read.update(dict.fromkeys(values_in(inner.outputs)))
            self.nodes.append(_call(self._graph, node, scope or list(node.scope)))
            self.edges += [_edge(value, node.name) for value in read]


def _node(kind: Kind, value: Value, identity: str, label: str, **fields: Any) -> GraphNode:
    defaults: dict[str, Any] = {
        "op": "", "scope": [], "attributes": [], "source": "", "doc": "", "equation": "", "rule": "", "parameters": 0,
        "flops": 0.0, "bytes": bytes_of(value),
    }  # fmt: skip
    bits = 8 * value.type.dtype.itemsize if isinstance(value.type, TensorType) else 0
    return GraphNode(
        id=identity,
        kind=kind,
        label=label,
        dtype=short_name(value.type),
        dims=dims_of_type(value.type),
        bits=bits,
        **{**defaults, **fields},
    )


def _held(kind: Kind, value: Value) -> GraphNode:
    scope = value.name.split(".")[:-1] if kind == "parameter" else []
    return _node(kind, value, value.name, value.name, scope=scope, parameters=elements_of(value))


def _call(graph: Graph, node: Node, scope: list[str]) -> GraphNode:
    price, name = cost(graph, node), called(node.callee)[:LONGEST]
    documented: dict[str, str] = {}
    if node.op is not None:
        documented = {"doc": node.op.doc, "equation": node.op.equation, "rule": node.op.rule}
    return _node(
        "op",
        node.outputs[0],
        node.name,
        name,
        op=name,
        scope=scope,
        attributes=[[key, str(value)[:LONGEST]] for key, value in node.params.items()],
        source=node.source,
        parameters=price.parameters,
        flops=price.flops,
        bytes=price.bytes,
        **documented,
    )


def _edge(value: Value, target: str) -> GraphEdge:
    source = value.node.name if value.node is not None else value.name
    return GraphEdge(source, target, short_name(value.type), dims_of_type(value.type))


class GraphWidget(ViewWidget):
    """A graph in a cell."""

    def __init__(self, graph: Graph, title: str = "", source: str = "", **traits: Any) -> None:
        own = title or source
        super().__init__(GraphModel(graph, title, source) if own else renderers.model_of(graph), **traits)


def graph(source: Graph | Callable[..., Any], *examples: Example, title: str = "") -> GraphWidget:
    """Show a graph in this cell: `source` itself, or that of a module or function, traced for inputs like `examples`.

    Raises:
        TypeError: `source` is a model without an example of its inputs, or no graph and nothing that can be traced.
    """
    return GraphWidget(graph_of(source, examples), title)


def graph_of(source: Graph | Callable[..., Any], examples: Sequence[Example]) -> Graph:
    """Return `source` where it is a graph, else the graph that tracing it gives.

    Raises:
        TypeError: there is nothing to trace, or nothing to trace it with.
    """
    if isinstance(source, Graph):
        if examples:
            raise TypeError("this is a graph already, which is drawn as it is: leave the examples out")
        return source
    if not callable(source):
        raise TypeError(
            f"a {type(source).__name__} is neither a graph nor something to trace; "
            "give a model and an example of its inputs: wb.widgets.graph(model, batch)"
        )
    if not examples:
        raise TypeError(
            "a model is traced with an example of its inputs: wb.widgets.graph(model, batch); "
            "sizes will do: wb.widgets.graph(model, {'N': 8, 'C': 3})"
        )
    return trace(source, *examples)


renderers.register(Graph, GraphModel)
