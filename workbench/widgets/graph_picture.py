"""A graph as nodes and edges of the view, with the blocks of control flow and the functions that it calls as boxes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from workbench.base.collector import collector_at_rest
from workbench.base.size_expressions import Symbol
from workbench.graph import Graph, Node, Profile, SubGraph, Value, called, cost
from workbench.graph.blocks import Block, Control, values_in
from workbench.graph.cost import bytes_of, elements_of
from workbench.graph.rules import kind_of
from workbench.graph.stopping import Stop
from workbench.graph.types import NONE
from workbench.graph.walk import walk
from workbench.live.messages import Dim, GraphEdge, GraphNode, GraphTensor, GraphValues
from workbench.widgets.graph_scopes import Box, scopes_of
from workbench.widgets.graph_types import (
    LONGEST,
    bits_of,
    dims_of_type,
    quantization_of,
    quantization_of_node,
    short_name,
    size_names,
    sizes_of_type,
    texts,
)

__all__ = ["LONGEST_ERROR", "MOST_NODES", "GraphPicture"]

MOST_NODES = 12_000
"""A larger graph is cut here, and the view says how many nodes are missing."""

LONGEST_ERROR = 2000
"""Most characters of an error that travel: it says what was given, line by line."""

Kind = Literal["input", "op", "output"]

_BOXES: dict[Control, Box] = {Control.IF: "if", Control.LOOP: "loop"}


class _World:
    """A function while it is drawn: where its values come from, and what its sizes are called."""

    def __init__(self, function: SubGraph, prefix: str) -> None:
        self.prefix = prefix
        """What stands in front of the names of its values, so that no two nodes of the picture share an identity."""
        self.sources: dict[Value, str] = {}
        """The node that gives a value, for values that a node of the picture gives."""
        self.held: dict[Value, GraphTensor] = {}
        """Values that are parameters or constants, here or where the function is called."""
        self.names: Mapping[Symbol, str] = size_names(function)
        self._told: dict[Value, tuple[str, list[Dim], list[str]]] = {}

    def told(self, value: Value) -> tuple[str, list[Dim], list[str]]:
        """Return the type of a value as views take it: its short name, its dims, and its sizes in any run."""
        # Once for a value: its node says it, and every edge that it travels along.
        if value not in self._told:
            kind = value.type
            self._told[value] = short_name(kind), dims_of_type(kind), sizes_of_type(kind, self.names)
        return self._told[value]


class GraphPicture:
    """What is drawn of a graph."""

    @collector_at_rest()
    def __init__(self, graph: Graph, profile: Profile | None = None, stop: Stop | None = None) -> None:
        self.made = time.time()
        self.graph = graph
        self.profile = profile
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self.calls: dict[str, Node] = {}
        """The call that a node of the picture draws, by its identity."""
        self._kinds: dict[tuple[str, ...], Box] = {}
        self._left = MOST_NODES
        self._own = 0
        """How many nodes of the graph itself, and not of its functions, are drawn."""
        world = _World(graph, "")
        world.held |= {value: _held("parameter", value, one) for value, one in graph.parameters.items()}
        world.held |= {value: _held("constant", value, one) for value, one in graph.constants.items()}
        self._given(world, [*graph.inputs, *graph.seeds], [])
        self._block(world, graph, [])
        self.ended = self._end(world, stop) if stop is not None else None
        """The identity of the node where the function failed; None where it did not, or nobody knows where."""
        self.missing = sum(1 for _ in graph.walk()) - self._own
        # What lies behind the cut is unknown, and so are the outputs that come from there.
        if not self.missing:
            self._outputs(world)
        self.scopes = scopes_of(self.nodes, self.edges, self._kinds)
        self.known = frozenset(node.id for node in self.nodes)

    def values_of(self, identity: str | None) -> GraphValues | None:
        """Return how the numbers are spread that a node gave; None where it was not measured, or gave none."""
        call = self.calls.get(identity or "")
        measured = self.profile.nodes.get(call) if self.profile is not None and call is not None else None
        if identity is None or measured is None or measured.spread is None:
            return None
        spread = measured.spread
        return GraphValues(
            identity,
            spread.count,
            spread.low,
            spread.high,
            spread.mean,
            spread.std,
            spread.zeros,
            spread.broken,
            list(spread.bins),
        )

    def _end(self, world: _World, stop: Stop) -> str | None:
        """Draw the call that was refused, with what it was given."""
        if stop.call is None:
            return None
        call, identity = stop.call, "failed call"  # with a space, as no value has one in its name
        reads = list(call.values)
        made = self._node(
            "op", world, Value(identity, NONE), identity, called(call.callee), reads, list(call.scope)
        )
        documented: dict[str, Any] = {}
        if call.op is not None:
            documented = {"doc": call.op.doc, "equation": call.op.equation, "rule": call.op.rule}
        words = f"{type(stop.error).__name__}: {stop.error}"[:LONGEST_ERROR]
        self.nodes.append(
            replace(
                made,
                op=called(call.callee),
                dtype="",
                attributes=texts(call.params.items()),
                source=call.source[:LONGEST],
                wrong=words,
                **documented,
            )
        )
        self._join(world, reads, identity)
        return identity

    def _outputs(self, world: _World) -> None:
        graph = self.graph
        for i, operand in enumerate(graph.outputs):
            label = "output" if graph.single else f"output {i}"
            self._output(world, f"output {i}", label, list(values_in(operand)))
        for value, after in graph.updates.items():
            self._output(world, f"update {value.name}", f"update {value.name}", [after])

    def _output(self, world: _World, identity: str, label: str, values: list[Value]) -> None:
        """Draw where values leave the graph: one node for several that leave together."""
        if values:
            self.nodes.append(self._node("output", world, values[0], identity, label, values))
            self._join(world, values, identity)

    def _given(self, world: _World, values: list[Value], scope: list[str]) -> None:
        """Draw what a graph, a block or a function is given."""
        for value in values:
            identity = world.prefix + value.name
            world.sources[value] = identity
            self.nodes.append(self._node("input", world, value, identity, value.name, scope=scope))

    def _join(self, world: _World, values: list[Value], target: str) -> None:
        """Draw an edge for each value that a node gives; a parameter has none, since it is drawn in its reader."""
        for value in dict.fromkeys(values):
            source = world.sources.get(value)
            if source is not None:
                self.edges.append(_edge(world, value, source, target))

    def _block(self, world: _World, block: Block, scope: list[str], base: tuple[str, ...] = ()) -> None:
        """Draw the nodes of a block in the box of the path `scope`; `base` are the modules that this stands for."""
        for node in block.nodes:
            if not self._left:
                return
            self._left -= 1
            self._own += not world.prefix
            # Modules that are called inside a block have their boxes in its.
            inside = [*scope, *_below(node.scope, base)]
            if isinstance(node.callee, SubGraph) and self._has_room(node.callee):
                self._function(world, node, node.callee, inside)
            elif node.blocks:
                self._control(world, node, inside)
            else:
                self._call(world, node, inside, list(node.values))

    def _call(
        self, world: _World, node: Node, scope: list[str], reads: list[Value], opened: bool = False
    ) -> str:
        """Draw one call, and what it reads; one that is opened has what it runs in a box, with the costs of that."""
        identity = world.prefix + node.name
        self.calls[identity] = node
        world.sources.update(dict.fromkeys(node.outputs, identity))
        self.nodes.append(self._of_call(world, node, scope, identity, reads, opened))
        self._join(world, reads, identity)
        return identity

    def _control(self, world: _World, node: Node, scope: list[str]) -> None:
        """Draw a node of blocks: a box for it, in it a box for each block, and a node where their results meet."""
        place = [*scope, f"{called(node.callee)} {node.name}"]
        self._kinds[tuple(place)] = _BOXES[node.callee]
        reads = list(node.values)
        kind = kind_of(node.callee)
        for name, block in zip(kind.blocks if kind is not None else (), node.blocks, strict=False):
            inner = [*place, name]
            self._kinds[tuple(inner)] = "block"
            self._given(world, block.inputs, inner)
            if node.callee is Control.LOOP:
                reads = self._carried(world, node, block)
            self._block(world, block, inner, node.scope)
            reads += values_in(block.outputs)
        self._call(world, node, place, reads, opened=True)

    def _carried(self, world: _World, node: Node, body: Block) -> list[Value]:
        """Join what a loop begins with to what its body is given, and return what its own node reads besides."""
        most, condition, *carried = node.inputs
        for operand, value in zip(carried, body.inputs[1:], strict=False):
            self._join(world, list(values_in(operand)), world.sources[value])
        return [*values_in((most, condition))]

    def _has_room(self, function: SubGraph) -> bool:
        """Say whether a function can be drawn at its call; if not, the call alone is."""
        return sum(1 for _ in walk(function)) < self._left

    def _function(self, world: _World, node: Node, function: SubGraph, scope: list[str]) -> None:
        """Draw a call of a function of the graph: a box with what it is given, its nodes, and what it gives."""
        inner = _World(function, f"{world.prefix}{node.name} › ")  # no value has a space in its name
        if function.kind and _is_plain(node, function):
            self._fused(world, inner, node, function, [*scope, f"{function.kind} {node.name}"])
            return
        place = [*scope, f"{called(function)} {node.name}"]
        self._kinds[tuple(place)] = "function"
        given: list[Value] = []
        for operand, value in zip(node.inputs, function.inputs, strict=False):
            # A function that is given a weight is drawn with it, as a module that holds it is.
            if isinstance(operand, Value) and operand in world.held:
                inner.held[value] = world.held[operand]
            else:
                given.append(value)
        self._given(inner, given, place)
        for operand, value in zip(node.inputs, function.inputs, strict=False):
            if value in inner.sources:
                self._join(world, list(values_in(operand)), inner.sources[value])
        self._block(inner, function, place)
        identity = self._call(world, node, place, [], opened=True)
        self._join(inner, list(values_in(function.outputs)), identity)

    def _fused(self, world: _World, inner: _World, node: Node, function: SubGraph, place: list[str]) -> None:
        """Draw what was put together as a box around its nodes, which read and are read across its rim."""
        self._kinds[tuple(place)] = "function"
        for operand, value in zip(node.inputs, function.inputs, strict=True):
            if operand in world.held:
                inner.held[value] = world.held[operand]
            elif operand in world.sources:
                inner.sources[value] = world.sources[operand]
        self._block(inner, function, place, node.scope)
        for value, result in zip(node.outputs, function.outputs, strict=True):
            if result in inner.sources:
                world.sources[value] = inner.sources[result]

    # ------------------------------------------------------------------------------------------- single nodes

    def _of_call(
        self, world: _World, node: Node, scope: list[str], identity: str, reads: list[Value], opened: bool
    ) -> GraphNode:
        name = called(node.callee)[:LONGEST]
        documented: dict[str, Any] = {}
        if node.op is not None:
            documented = {"doc": node.op.doc, "equation": node.op.equation, "rule": node.op.rule}
        measured = self.profile.nodes.get(node) if self.profile is not None else None
        price = cost(self.graph, node)
        made = self._node("op", world, node.outputs[0], identity, name, reads, scope)
        held = sum(one.elements for one in made.held if one.kind == "parameter")
        return replace(
            made,
            op=name,
            quantization=quantization_of_node(node),
            attributes=texts(node.params.items()),
            source=node.source[:LONGEST],
            parameters=held,
            flops=0.0 if opened else price.flops,
            bytes=0.0 if opened else price.bytes,
            memory=0.0 if opened else sum(map(bytes_of, node.outputs)),
            seconds=None if measured is None or opened else measured.seconds,
            **documented,
        )

    def _node(
        self,
        kind: Kind,
        world: _World,
        value: Value,
        identity: str,
        label: str,
        reads: list[Value] | None = None,
        scope: list[str] | None = None,
    ) -> GraphNode:
        dtype, dims, sizes = world.told(value)
        held = [world.held[one] for one in dict.fromkeys(reads or ()) if one in world.held]
        return GraphNode(
            id=identity,
            kind=kind,
            op="",
            label=label[:LONGEST],
            scope=scope or [],
            dtype=dtype,
            dims=dims,
            sizes=sizes,
            held=held,
            quantization="",
            attributes=[],
            source="",
            doc="",
            equation="",
            rule="",
            parameters=0,
            flops=0.0,
            bytes=0.0,
            memory=0.0,
            bits=bits_of(value.type),
            seconds=None,
            wrong="",
        )


def _held(kind: Literal["parameter", "constant"], value: Value, tensor: Any) -> GraphTensor:
    return GraphTensor(
        value.name[:LONGEST],
        kind,
        short_name(value.type),
        dims_of_type(value.type),
        quantization_of(tensor),
        elements_of(value),
    )


def _below(scope: tuple[str, ...], base: tuple[str, ...]) -> tuple[str, ...]:
    """Return the part of the path of a module that is not that of another around it."""
    shared = 0
    while shared < min(len(scope), len(base)) and scope[shared] == base[shared]:
        shared += 1
    return scope[shared:]


def _is_plain(node: Node, function: SubGraph) -> bool:
    """Say whether a call gives a function values alone, and takes values that its nodes make, each by itself."""
    made = {value for one in function.nodes for value in one.outputs}
    return (
        all(isinstance(one, Value) for one in node.inputs)
        and len(node.outputs) == len(function.outputs)
        and all(isinstance(one, Value) and one in made for one in function.outputs)
    )


def _edge(world: _World, value: Value, source: str, target: str) -> GraphEdge:
    return GraphEdge(source, target, *world.told(value))
