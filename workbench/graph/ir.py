"""A graph: a function of tensors and other values, with the tensors and modules that it holds.

Its nodes call ops of the table, functions of the graph, modules and functions kept whole, functions by name, and
control flow, whose blocks nest. Every value has a type; every node knows the module it came from and the line of code
that made it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.base import renderer_lookup
from workbench.base.seams import Seam
from workbench.base.size_expressions import Symbol
from workbench.base.size_guards import SizeScope
from workbench.graph import symbols, walk
from workbench.graph.blocks import (
    Block,
    GraphError,
    HeldFunction,
    LeafModule,
    Node,
    SubGraph,
    Value,
    called,
    filled,
    values_in,
)
from workbench.graph.draws import Noise
from workbench.graph.rules import results
from workbench.graph.types import Type, type_of

__all__ = ["RUN", "TEXT", "Graph"]

RUN = Seam("running a graph", "workbench.graph")
TEXT = Seam("printing a graph", "workbench.graph")


@dataclass(eq=False)
class Graph(SubGraph):
    """A function: what goes in, what it holds, its nodes in order, and what comes out.

    Mutation is stated: a node that changes memory names the values whose memory it is in `Node.writes`, and what a
    graph changes for good, the buffers of its module and tensors that it is given, stands in `updates`.
    """

    takes: tuple[Any, ...] = ()
    """What a run is given: tuples, lists and dicts with the inputs in them, in order; where empty, just the inputs."""
    parameters: dict[Value, Any] = field(default_factory=dict)
    """Tensors of the module that was traced, parameters and buffers, under their dotted names."""
    constants: dict[Value, Any] = field(default_factory=dict)
    """Other tensors that the function uses."""
    modules: dict[str, Any] = field(default_factory=dict)
    """Modules that are called whole, by their paths."""
    held_functions: dict[str, Any] = field(default_factory=dict)
    """Functions of the program's own that are called whole, by the names that the graph has for them."""
    functions: dict[str, SubGraph] = field(default_factory=dict)
    """Functions that nodes call, by their names."""
    seeds: list[Value] = field(default_factory=list)
    """Seeds of what is drawn, and what is drawn: inputs that a run draws from the default generator, in order, where
    none is given."""
    noise: dict[Value, Noise] = field(default_factory=dict)
    """Those of them that are no seeds, but the numbers themselves: how they are drawn."""
    updates: dict[Value, Value] = field(default_factory=dict)
    """Parameters and inputs whose numbers are others after a run, as running statistics, and the values they take."""

    _names: dict[str, int] = field(default_factory=dict, repr=False)

    def fresh(self, base: str) -> str:
        """Return a name that is not taken: `base`, or `base` with a number."""
        count = self._names.get(base, 0)
        self._names[base] = count + 1
        # Asked again: somebody may have called a value `relu_1` already.
        return base if count == 0 else self.fresh(f"{base}_{count}")

    def given(self) -> Iterator[Value]:
        """Every value that is there before the first node: inputs, parameters, constants, seeds."""
        yield from self.inputs
        yield from self.parameters
        yield from self.constants
        yield from self.seeds

    def values(self) -> Iterator[Value]:
        """Every value: inputs, parameters, constants, seeds, then what the nodes of all blocks make."""
        yield from self.given()
        # As a block, the graph makes its inputs too.
        taken = set(self.inputs)
        yield from (value for value in walk.made(self) if value not in taken)

    def held(self) -> dict[Value, Any]:
        """Parameters and constants with their tensors."""
        return {**self.parameters, **self.constants}

    def symbols(self) -> dict[Symbol, tuple[Value, int]]:
        """The sizes that differ from run to run: for each, the value that shows it first, and the dim."""
        return symbols.symbols(self)

    def settle(self, sizes: SizeScope) -> None:
        """Take over what `sizes` has decided: its guards, and what they say of the sizes in types and operands."""
        self._settle(self, sizes)

    def _settle(self, function: SubGraph, sizes: SizeScope) -> None:
        symbols.settle(function, sizes)
        if function is self:
            self.noise = {value: one.over(sizes.settle) for value, one in self.noise.items()}

    def returned(self) -> list[Value]:
        """The values that a run needs at its end: what is returned, and what parameters take."""
        return [*values_in(self.outputs), *self.updates.values()]

    def walk(self) -> Iterator[tuple[Node, Block]]:
        """Every node of all blocks with its block, in order; see `workbench.graph.walk`."""
        return walk.walk(self)

    def users(self) -> dict[Value, list[Node]]:
        """For each value, the nodes that read it, or what it is sized, in order."""
        found = {**{value: [] for value in self.given()}, **walk.users(self)}
        shown = self.symbols()
        for node, _ in self.walk():
            for value in symbols.sized((node.inputs, node.params), shown):
                found[value] += [] if node in found[value] else [node]
        return found

    def replace(self, old: Value, new: Value) -> None:
        """Let everything that reads `old` read `new`."""
        symbols.replace(self, old, new)
        walk.replace(self, old, new)
        # Only what is taken is replaced: the parameter that takes it stays the same tensor.
        self.updates = {value: new if one is old else one for value, one in self.updates.items()}

    def hold(self, tensor: Any, name: str = "constant") -> Value:
        """Take `tensor` in as a constant, under `name` or a name like it."""
        value = Value(self.fresh(name), type_of(tensor))
        self.constants[value] = tensor
        return value

    def block_of(self, node: Node) -> Block:
        """Return the block in which `node` stands; raise `GraphError` where it is in none."""
        for one, block in self.walk():
            if one is node:
                return block
        raise GraphError(f"{node.name} is no node of the graph")

    def insert(
        self,
        callee: Any,
        *inputs: Any,
        before: Node | None = None,
        like: Node | None = None,
        block: Block | None = None,
        blocks: tuple[Block, ...] = (),
        types: tuple[Type, ...] | None = None,
        writes: tuple[Value, ...] = (),
        **params: Any,
    ) -> Node:
        """Add a call of `callee` in front of the node `before`, or at the end of `block` (the graph's), and return it.

        Types follow from the rules of what is called, or are `types` where no rule says them; what the rules decide by
        sizes is guarded from then on. Scope and source are those of the node `like`. Raises what the rules raise.

        >>> import workbench as wb
        >>> graph = wb.graph.trace(lambda x: x * 2, wb.ones(N=2))
        >>> graph.outputs = graph.insert(wb.core.ops.relu, graph.outputs[0]).outputs
        >>> graph(wb.tensor([1.0, -1.0]))
        tensor([2., 0.])
        """
        place = self.block_of(before) if before is not None else self if block is None else block
        function = self._function_of(place)
        node = Node(callee, inputs, params, (), blocks=blocks, writes=writes)
        with SizeScope(function.guards) as sizes:
            # Before the node is put in: where the rules refuse, the graph is as it was.
            found = results(node, sizes)
            if function.guards:
                # A size that a guard says is written as that, as in the nodes that are there.
                node.inputs, node.params = filled((inputs, params), lambda value: value, sizes.settle)
            types = found if types is None else types
            if types is None:
                raise GraphError(f"nothing says what {called(callee)} gives: pass types=(...,)")
            base = _name_for(callee)
            node.outputs = tuple(Value(self.fresh(base), one, node) for one in types)
            symbols.tell(node, sizes)
        if like is not None:
            node.scope, node.source = like.scope, like.source
        place.nodes.insert(len(place.nodes) if before is None else place.nodes.index(before), node)
        # A rule compared sizes: from now on the function holds for those that compare alike.
        # What was put into a block before the block was put in has not heard of the guards since.
        if len(sizes.guards) > len(function.guards) or (blocks and function.guards):
            self._settle(function, sizes)
        return node

    def _function_of(self, block: Block) -> SubGraph:
        """Return the function that a block belongs to; the graph, where it stands in none yet."""
        if isinstance(block, SubGraph):
            return block
        return next((one for one in self.functions.values() if block in walk.blocks(one)), self)

    def remove(self, node: Node) -> None:
        """Take a node out, with its blocks; raise `GraphError` while anything reads what it makes."""
        block, readers = self.block_of(node), self.users()
        guarded = set(symbols.sized(self.guards, self.symbols()))
        for value in node.outputs:
            if readers[value] or value in self.returned() or value in guarded:
                last = "a guard" if value in guarded else "the graph's output"
                where = ", ".join(one.name for one in readers[value]) or last
                raise GraphError(f"cannot remove {node.name}: {value.name} is still read by {where}")
        # Nodes are compared by identity (`eq=False`): it takes out this one and none like it.
        block.nodes.remove(node)

    def copy(self) -> Graph:
        """Return a graph of its own with the same tensors and modules."""
        twins = _Twins()
        for name, function in self.functions.items():
            # Empty first: functions call one another, and may stand in any order.
            twins.functions[function] = SubGraph(name=name, single=function.single, kind=function.kind)
        for function, twin in twins.functions.items():
            twins.fill(function, twin)
        other = Graph(name=self.name, single=self.single, kind=self.kind)
        other.parameters = {twins.new(value): tensor for value, tensor in self.parameters.items()}
        other.constants = {twins.new(value): tensor for value, tensor in self.constants.items()}
        other.seeds = [twins.new(value) for value in self.seeds]
        other.noise = {twins.known(value): one for value, one in self.noise.items()}
        other.modules = dict(self.modules)
        other.held_functions = dict(self.held_functions)
        other.functions = {name: twins.functions[one] for name, one in self.functions.items()}
        twins.fill(self, other)
        other.takes = filled(self.takes, twins.known)
        other.updates = {twins.known(value): twins.known(one) for value, one in self.updates.items()}
        # What was ever taken stays taken, so that a name means one value in all steps of a run of passes.
        other._names = dict(self._names)
        return other

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph; see `workbench.graph.run`."""
        return RUN(self, *inputs)

    def __str__(self) -> str:
        return str(TEXT(self))

    def __repr__(self) -> str:
        return f"<graph {self.name}: {sum(1 for _ in self.walk())} nodes, {len(self.parameters)} parameters>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)


def _name_for(callee: Any) -> str:
    """Return what to call what a callee gives: a name that Python can have, too."""
    if isinstance(callee, SubGraph):
        return "result"  # its own name is the function's in Python
    match callee:
        case LeafModule(path=name) | HeldFunction(name=name):
            pass
        case _:
            name = called(callee).rpartition(".")[2]
    word = re.sub(r"\W+", "_", name).strip("_") or "value"
    return f"{word}_" if keyword.iskeyword(word) else word


class _Twins:
    """The values and blocks of a copy, by those that they are copies of."""

    def __init__(self) -> None:
        self.values: dict[Value, Value] = {}
        self.functions: dict[SubGraph, SubGraph] = {}

    def new(self, value: Value) -> Value:
        """Make the twin of a value."""
        self.values[value] = Value(value.name, value.type)
        return self.values[value]

    def known(self, value: Value) -> Value:
        """Return the twin of a value; what nothing made before, as in a graph that is not legal, stays."""
        return self.values.get(value, value)

    def fill(self, block: Block, twin: Block) -> None:
        """Put copies of what `block` has into `twin`."""
        if isinstance(block, SubGraph) and isinstance(twin, SubGraph):
            # Guards and types are never changed, only replaced: they can be shared.
            twin.guards = list(block.guards)
        twin.inputs = [self.new(one) for one in block.inputs]
        twin.nodes = [self._node(one) for one in block.nodes]
        twin.outputs = filled(block.outputs, self.known)

    def _node(self, node: Node) -> Node:
        inputs, params = filled(node.inputs, self.known), filled(node.params, self.known)
        callee = self.functions[node.callee] if isinstance(node.callee, SubGraph) else node.callee
        made = Node(callee, inputs, params, (), node.scope, node.source)
        made.writes = tuple(map(self.known, node.writes))
        made.blocks = tuple(Block() for _ in node.blocks)
        for block, twin in zip(node.blocks, made.blocks, strict=True):
            self.fill(block, twin)
        made.outputs = tuple(self.new(one) for one in node.outputs)
        for value in made.outputs:
            value.node = made
        return made
