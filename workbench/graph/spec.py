"""What a legal graph is, as a check that runs: tests run it after every pass.

What is legal for a callee of each kind stands in the table of `rules`; here stands what holds for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.base.size_expressions import Size, Symbol, Symbolic
from workbench.base.size_guards import SizeScope
from workbench.core.op import Op
from workbench.core.value import Value as Tensor
from workbench.graph.blocks import (
    NAME,
    Block,
    GraphError,
    HeldFunction,
    LeafModule,
    NamedFunction,
    Node,
    SubGraph,
    Value,
    called,
    values_in,
)
from workbench.graph.effects import written_by
from workbench.graph.ir import Graph
from workbench.graph.rules import kind_of, results
from workbench.graph.sizes import today
from workbench.graph.symbols import bare, due, follows, symbols
from workbench.graph.types import INT, TensorType, Type, type_of
from workbench.graph.walk import made, reads, walk

__all__ = ["DEEPEST", "check"]

DEEPEST = 32
"""Blocks in blocks, and tuples in tuples, go no deeper than this: nothing that works on graphs runs out of stack."""


def check(graph: Graph) -> Graph:
    """Return `graph` if it is legal.

    Every name is there once; every value is made before it is read, in the block that reads it or one around that;
    every node calls what the graph has, knows its outputs, says what it writes into, and has the types that the rules
    of what it calls give; what is returned and what parameters become exists; functions call one another in no circle.

    Raises `GraphError` at the first thing that is wrong.
    """
    _check_functions(graph)
    # With the guards assumed: sizes that they make equal are equal in every check.
    with SizeScope(graph.guards) as sizes:
        _check_graph(graph, _Scope(graph, sizes))
        _check_guards(graph)
        _check_decided(graph, sizes)
    return graph


def _check_guards(function: SubGraph) -> None:
    """Refuse a guard on what is no size of a value, or one that is not so for the sizes of the trace."""
    due(function)
    hints = {symbol: symbol.hint for symbol in symbols(function)}
    for guard in function.guards:
        if not guard.holds(hints):
            raise GraphError(f"the guard {guard} does not hold for the sizes that the graph is written for")


def _check_decided(function: SubGraph, sizes: SizeScope) -> None:
    """Refuse a function of which a rule decides by sizes what no guard says."""
    if len(sizes.guards) > len(function.guards):
        raise GraphError(
            f"the types of {function.name} hold where {sizes.guards[len(function.guards)]}, and no guard says so"
        )


def _check_kind(function: SubGraph) -> None:
    # An identifier, so that it stands in a text without being mistaken for anything else.
    if function.kind and not function.kind.isidentifier():
        raise GraphError(f"{function.name} is of the kind {function.kind!r}, which is no identifier")


def _check_graph(graph: Graph, scope: _Scope) -> None:
    _check_kind(graph)
    for value in graph.inputs:
        scope.bind(value)
    for value in (*graph.held(), *graph.seeds):
        scope.define(value)
    if graph.takes:
        scope.check_operand("what the graph takes", graph.takes)
        if list(values_in(graph.takes)) != list(graph.inputs):
            raise GraphError("what the graph takes has not just its inputs in it, each once and in order")
    for value, tensor in graph.held().items():
        given = type_of(tensor)
        if not given.accepts(value.type):
            raise GraphError(f"{value.name} is written as {value.type} and its tensor is {given}")
    for value in graph.seeds:
        drawn = graph.noise.get(value)
        if drawn is None and value.type != INT:
            raise GraphError(f"the seed {value.name} is {value.type}, and seeds are int")
        if drawn is not None:
            scope.check_operand(f"what draws {value.name}", (drawn.operands, drawn.keywords))
            if not value.type.accepts(drawn.type):
                raise GraphError(
                    f"{value.name} is written as {value.type}, and what is drawn is {drawn.type}"
                )
    if not set(graph.noise) <= set(graph.seeds):
        raise GraphError("the graph says how something is drawn that is none of its seeds")
    scope.check_nodes(graph)
    _check_returned(graph, scope, "the graph")
    for value, after in graph.updates.items():
        if value not in graph.parameters and not (
            value in graph.inputs and isinstance(value.type, TensorType)
        ):
            raise GraphError(
                f"{value.name} is no parameter and no tensor that is given: only those are updated"
            )
        scope.check_known(f"the update of {value.name}", after)
        if not (value.type.accepts(after.type) or _by_label(value.type).accepts(after.type)):
            raise GraphError(f"{value.name} : {value.type} cannot become {after!r}")


def _by_label(kind: Type) -> Type:
    """Return the type of a parameter with its labels for names: what is computed of it by name has those."""
    return replace(kind, dims=kind.dims.by_label()) if isinstance(kind, TensorType) else kind


def _check_functions(graph: Graph) -> None:
    """Check the functions of a graph, each for itself; and that none calls itself, by way of others either."""
    for name, function in graph.functions.items():
        if function.name != name or not name.isidentifier():
            raise GraphError(f"the function {name!r} is called {function.name!r}; names are identifiers")
        _check_kind(function)
        if isinstance(function, Graph):
            raise GraphError(f"the function {name} holds tensors: it is given what it needs")
        with SizeScope(function.guards) as sizes:
            # With a scope of its own: a function knows its inputs and nothing of the graph.
            scope = _Scope(graph, sizes)
            for value in function.inputs:
                scope.bind(value)
            scope.check_nodes(function)
            _check_returned(function, scope, f"the function {name}")
            _check_guards(function)
            _check_decided(function, sizes)
    done: set[SubGraph] = set()
    for function in graph.functions.values():
        _check_circle(function, (), done)


def _check_circle(function: SubGraph, path: tuple[SubGraph, ...], done: set[SubGraph]) -> None:
    # The path finds circles; `done` keeps many calls of one function from being followed again and again.
    if function in path or len(path) > DEEPEST:
        names = " → ".join(one.name for one in (*path, function))
        raise GraphError(f"functions call one another in a circle, or too deeply: {names[-200:]}")
    if function not in done:
        for node, _ in walk(function):
            if isinstance(node.callee, SubGraph):
                _check_circle(node.callee, (*path, function), done)
        done.add(function)


def _check_returned(block: SubGraph, scope: _Scope, what: str) -> None:
    scope.check_operand(f"what {what} returns", block.outputs)
    for value in values_in(block.outputs):
        if value not in scope.known:
            raise GraphError(f"{what} returns {value.name}, which nothing makes{scope.elsewhere(value)}")
    if block.single and (len(block.outputs) != 1 or isinstance(block.outputs[0], tuple)):
        raise GraphError(
            f"{what} returns one value, and has {len(block.outputs)}, or a tuple, which is several"
        )


class _Scope:
    """The values that are known at a place, and the names that are taken."""

    def __init__(self, graph: Graph, sizes: SizeScope) -> None:
        self.graph = graph
        self.sizes = sizes
        """What is known of the sizes of the graph, or of a function of it."""
        self.shown: set[Symbol] = set()
        """The sizes that are known at the place: those that values have shown so far."""
        self.known: set[Value] = set()
        self.names: set[str] = set()
        self.nodes: set[Node] = set()
        self.made: set[Value] = set()
        """All values so far, also those of blocks that have been left."""

    def define(self, value: Value) -> None:
        """Take a value in."""
        if value.name in self.names:
            raise GraphError(f"the name {value.name} is taken twice")
        if not re.fullmatch(NAME, value.name):
            raise GraphError(
                f"{value.name!r} cannot be a name in a graph: it is empty, or has brackets or the like in it"
            )
        if not isinstance(value.type, Type):
            raise GraphError(f"{value.name} has no type: {value.type!r} is none")
        kind = value.type
        if isinstance(kind, TensorType):
            _check_sizes(value, kind)
        # A name is taken for the whole graph, a value is known for as long as its block.
        self.known.add(value)
        self.made.add(value)
        self.names.add(value.name)

    def bind(self, value: Value, later: bool = False) -> None:
        """Take in a value whose sizes only a run knows."""
        self.define(value)
        self._show(value, (), later)

    def _show(self, value: Value, known: Sequence[Size | None], later: bool) -> None:
        """Hold the sizes of what is given, or of what a call of no op makes, against those that are known."""
        if not isinstance(value.type, TensorType):
            return
        # A size of which nothing is known is a symbol that nobody else shows, or what is computed of it would be wrong.
        for size, other in zip(value.type.sizes, known or [None] * len(value.type.sizes), strict=True):
            symbol = bare(size)
            if other is not None and self.sizes.settle(other) != self.sizes.settle(size):
                raise GraphError(
                    f"{value.name} has sizes {list(value.type.sizes)}, and by what makes it {list(known)}"
                )
            if other is None and (symbol is None or symbol in self.shown or symbol.later != later):
                raise GraphError(
                    f"{value.name} : {value.type} is given where a run may have another size than {size}: "
                    f"wb.graph.types.symbolic({value.name!r}, type{', later=True' if later else ''}) makes sizes that "
                    "a run binds"
                )
            if symbol is not None:
                self.shown.add(symbol)

    def elsewhere(self, value: Value) -> str:
        """Return what to add to a refusal where a block that has been left makes a value."""
        return ": another block makes it, and nobody outside that knows it" if value in self.made else ""

    def check_known(self, who: str, value: Value) -> None:
        """Refuse a value that is not known here."""
        if value not in self.known:
            raise GraphError(f"{who} reads {value.name} before it is made{self.elsewhere(value)}")

    def check_nodes(self, block: Block, depth: int = 0) -> None:
        """Check the nodes of a block, and those of the blocks in it."""
        if depth > DEEPEST:
            raise GraphError(f"blocks in blocks go deeper than {DEEPEST}")
        for node in block.nodes:
            if not node.outputs:
                raise GraphError(
                    f"a call of {called(node.callee)} makes no value: what gives nothing makes None"
                )
            # A node that stands twice would be changed in both places.
            if node in self.nodes:
                raise GraphError(f"the node {node.name} stands in the graph twice")
            self.nodes.add(node)
            self._check_callee(node)
            self.check_operand(node.name, (node.inputs, node.params))
            for value in node.values:
                self.check_known(node.name, value)
            for one in node.blocks:
                self._check_block(node, one, depth)
            # After its blocks, which say what they write into.
            _check_writes(node)
            _check_types(node, self.sizes)
            for value in node.outputs:
                if value.node is not node:
                    raise GraphError(f"{value.name} does not know the node that makes it")
                self.define(value)
            if not isinstance(node.callee, Op):
                for value, known in zip(node.outputs, follows(node, self.sizes), strict=True):
                    self._show(value, known, later=True)

    def _check_callee(self, node: Node) -> None:
        kind = kind_of(node.callee)
        if kind is None:
            raise GraphError(f"{node.name} calls {node.callee!r}, which is nothing that a node can call")
        if not kind.known(self.graph, node.callee):
            raise GraphError(f"{node.name} calls {called(node.callee)!r}, which is not {kind.unknown}")
        if len(node.blocks) != len(kind.blocks):
            raise GraphError(
                f"{node.name}: {called(node.callee)} has {len(kind.blocks)} blocks "
                f"({', '.join(kind.blocks) or 'none'}), not {len(node.blocks)}"
            )

    def _check_block(self, node: Node, block: Block, depth: int) -> None:
        """Check a block of a node; afterwards nobody knows what it made."""
        outside = set(self.shown)
        for value in block.inputs:
            self.bind(value, later=True)
        self.check_nodes(block, depth + 1)
        self.check_operand(node.name, block.outputs)
        for value in values_in(block.outputs):
            self.check_known(f"a block of {node.name}", value)
        self.known.difference_update(made(block))
        self.shown = outside

    def check_operand(self, who: str, operand: Any, depth: int = 0) -> None:
        """Refuse what cannot be an operand."""
        if depth > DEEPEST:
            raise GraphError(f"{who}: operands in operands go deeper than {DEEPEST}")
        if isinstance(operand, tuple | list):
            for one in operand:
                self.check_operand(who, one, depth + 1)
        elif isinstance(operand, dict):
            for key, one in operand.items():
                if not isinstance(key, _KEYS):
                    raise GraphError(f"{who}: {type(key).__name__} cannot be a key of a dict in a graph")
                self.check_operand(who, one, depth + 1)
        elif isinstance(operand, slice):
            self.check_operand(who, (operand.start, operand.stop, operand.step), depth)
        elif isinstance(operand, Tensor):
            raise GraphError(f"{who}: a tensor stands among the operands; Graph.hold makes it a value")
        elif isinstance(operand, Symbolic):
            for symbol in operand.symbols():
                if symbol not in self.shown:
                    raise GraphError(f"{who} asks for {symbol} before it is known")
        elif not isinstance(operand, _LITERALS):
            raise GraphError(f"{who}: {type(operand).__name__} cannot be an operand of a graph")


_KEYS = (str, int, float, bool, type(None))
_LITERALS = (
    Value, str, int, float, bool, complex, type(None), type(Ellipsis), np.dtype, DType, np.ndarray, np.generic, Device,
)  # fmt: skip


def _check_writes(node: Node) -> None:
    """Hold what a node says it writes into against what is known of its callee."""
    read = set(reads(node))
    for value in node.writes:
        if value not in read:
            raise GraphError(f"{node.name} writes into {value.name}, which it does not read")
    if isinstance(node.callee, Op) and node.writes:
        raise GraphError(f"{node.name} writes into {node.writes[0].name}, and ops write into nothing")
    if isinstance(node.callee, NamedFunction):
        _check_said(node, set(written_by(node.callee, node.inputs, node.params)))
    elif not isinstance(node.callee, Op | LeafModule | HeldFunction):
        # What is kept whole is not looked into: what its node says is all that is known.
        _check_said(node, _written(node))


def _written(node: Node) -> set[Value]:
    """Return the values that a function of the graph, or control flow, writes into, as its nodes say."""
    if isinstance(node.callee, SubGraph):
        found = {value for one, _ in walk(node.callee) for value in one.writes}
        # Not strict: a wrong number of inputs is refused by the rules, in words of their own.
        pairs = zip(node.callee.inputs, node.inputs, strict=False)
        return {value for own, operand in pairs if own in found for value in values_in(operand)}
    inside = {value for block in node.blocks for one, _ in walk(block) for value in one.writes}
    own = {value for block in node.blocks for value in made(block)}
    return inside - own


def _check_said(node: Node, wanted: set[Value]) -> None:
    # By name, so that the same graph is always refused with the same words.
    for value in sorted(wanted ^ set(node.writes), key=lambda one: one.name):
        says = "writes into" if value in wanted else "does not write into"
        raise GraphError(
            f"{node.name}: {called(node.callee)} {says} {value.name}, and the node says otherwise"
        )


def _check_sizes(value: Value, kind: TensorType) -> None:
    """Refuse sizes that are not those in the dims, for the sizes of the trace."""
    if not all(0 <= dim < len(kind.dims.sizes) for dim in kind.fixed):
        raise GraphError(f"{value.name} : {kind} has no dims {sorted(kind.fixed)} to be fixed")
    if today(kind.sizes) != kind.dims.sizes:
        raise GraphError(f"{value.name} is written as {kind}, and its sizes are {list(kind.sizes)}")


def _check_types(node: Node, sizes: SizeScope) -> None:
    name = called(node.callee)
    try:
        found = results(node, sizes)
    except (TypeError, ValueError, LookupError, RuntimeError) as error:
        # Whatever a rule says to wrong operands.
        message = f"{node.name}: {name} does not take these inputs and parameters: {error}"
        raise GraphError(message) from error
    if found is None:
        return
    if len(found) != len(node.outputs):
        raise GraphError(f"{node.name}: {name} makes {len(found)} values, the node has {len(node.outputs)}")
    for value, given in zip(node.outputs, found, strict=True):
        if not value.type.accepts(given):
            raise GraphError(f"{value.name} is written as {value.type}, the rules of {name} give {given}")
        if isinstance(node.callee, Op):
            _check_any_run(value, given, name, sizes)


def _check_any_run(value: Value, given: Type, name: str, sizes: SizeScope) -> None:
    """Compare what a value's sizes are in every run with what the rules of an op give."""
    if isinstance(value.type, TensorType) and isinstance(given, TensorType):
        own, ruled = (tuple(map(sizes.settle, one.sizes)) for one in (value.type, given))
        if own != ruled:
            raise GraphError(f"{value.name} has sizes {list(own)}, the rules of {name} give {list(ruled)}")
