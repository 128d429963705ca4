"""What a legal graph is, as a check that runs: tests run it after every pass.

What is legal for a callee of each kind stands in the table of `rules`; here stands what holds for all of them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.base.size_expressions import Symbolic
from workbench.base.size_guards import Guard, SizeScope
from workbench.core.op import Op
from workbench.core.value import Value as Tensor
from workbench.graph.blocks import (
    NAME,
    Block,
    GraphError,
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
from workbench.graph.types import INT, TensorType, Type, type_of
from workbench.graph.walk import made, reads, walk

__all__ = ["DEEPEST", "check", "with_sizes"]

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
    for guard in graph.guards:
        _check_guard(graph, guard)
    # With the guards assumed: sizes that they make equal are equal in every check.
    with SizeScope(graph.guards) as sizes:
        _check_graph(graph, _Scope(graph, sizes))
    return graph


def with_sizes(graph: Graph) -> Graph:
    """Return `graph` with the sizes that its values have in every run, as they follow from the rules of ops.

    It ends where a rule refuses what it is given: `check` says so.
    """
    with SizeScope(graph.guards) as sizes:
        for node, _ in walk(graph):
            try:
                # Only ops have rules that say sizes of any run.
                found = results(node, sizes) if isinstance(node.callee, Op) else None
            except (TypeError, ValueError, LookupError, RuntimeError):
                break
            for value, given in zip(node.outputs, found or (), strict=False):
                if isinstance(value.type, TensorType) and isinstance(given, TensorType):
                    value.type = replace(value.type, sizes=tuple(map(sizes.settle, given.sizes)))
    return graph


def _check_guard(graph: Graph, guard: Guard) -> None:
    """Refuse a guard on what is no size of an input, or one that is not so for the sizes of the trace."""
    known = graph.symbols()
    for symbol in guard.symbols():
        if symbol not in known:
            raise GraphError(f"the guard {guard} asks for {symbol}, which is the size of no input")
    if not guard.holds({symbol: symbol.hint for symbol in known}):
        raise GraphError(f"the guard {guard} does not hold for the sizes that the graph is written for")


def _check_graph(graph: Graph, scope: _Scope) -> None:
    for value in graph.given():
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
        if value not in graph.parameters:
            raise GraphError(f"{value.name} is no parameter, and only those are updated")
        scope.check_known(f"the update of {value.name}", after)
        if not value.type.accepts(after.type):
            raise GraphError(f"{value.name} : {value.type} cannot become {after!r}")


def _check_functions(graph: Graph) -> None:
    """Check the functions of a graph, each for itself; and that none calls itself, by way of others either."""
    for name, function in graph.functions.items():
        if function.name != name or not name.isidentifier():
            raise GraphError(f"the function {name!r} is called {function.name!r}; names are identifiers")
        if isinstance(function, Graph):
            raise GraphError(f"the function {name} holds tensors: it is given what it needs")
        scope = _Scope(graph)
        for value in function.inputs:
            scope.define(value)
        scope.check_nodes(function)
        # With a scope of its own: a function knows its inputs and nothing of the graph.
        _check_returned(function, scope, f"the function {name}")
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

    def __init__(self, graph: Graph, sizes: SizeScope | None = None) -> None:
        self.graph = graph
        self.sizes = sizes
        """What is known of the sizes of the graph; None in a function, which knows its inputs' as they were."""
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
        for value in block.inputs:
            self.define(value)
        self.check_nodes(block, depth + 1)
        self.check_operand(node.name, block.outputs)
        for value in values_in(block.outputs):
            self.check_known(f"a block of {node.name}", value)
        self.known.difference_update(made(block))

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
        elif not isinstance(operand, _LITERALS):
            raise GraphError(f"{who}: {type(operand).__name__} cannot be an operand of a graph")


_KEYS = (str, int, float, bool, type(None))
_LITERALS = (
    Value, str, int, float, bool, complex, type(None), type(Ellipsis), np.dtype, DType, np.ndarray, np.generic, Device,
    Symbolic,
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
    elif not isinstance(node.callee, Op | LeafModule):
        # A module kept whole is not looked into: what its node says is all that is known.
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


def _check_types(node: Node, sizes: SizeScope | None) -> None:
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
        if isinstance(node.callee, Op) and sizes is not None:
            _check_any_run(value, given, name, sizes)


def _check_any_run(value: Value, given: Type, name: str, sizes: SizeScope) -> None:
    """Compare what a value's sizes are in every run with what the rules of an op give."""
    if isinstance(value.type, TensorType) and isinstance(given, TensorType):
        own, ruled = (tuple(map(sizes.settle, one.sizes)) for one in (value.type, given))
        if own != ruled:
            raise GraphError(f"{value.name} has sizes {list(own)}, the rules of {name} give {list(ruled)}")
