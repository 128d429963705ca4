"""Taking nodes out of a graph into a function of it, which is called in their place: what fusing is made of.

The function is a function of the graph like any other, with a word for what kind it is. So a graph in which things were
fused is checked, printed, run and differentiated as before, and `passes.inline` makes of it what it was.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from workbench.base.size_expressions import Expression, Size, Symbol, evaluate
from workbench.base.size_formulas import Formula
from workbench.base.size_guards import Guard, SizeScope
from workbench.graph import symbols
from workbench.graph.blocks import Block, GraphError, Node, SubGraph, Value, filled, values_in
from workbench.graph.effects import pure
from workbench.graph.ir import Graph
from workbench.graph.rules import results
from workbench.graph.sizes import is_symbolic
from workbench.graph.types import TensorType, Type, symbolic
from workbench.graph.walk import blocks, made, reads, users

__all__ = ["Outliner"]


class Outliner:
    """Takes groups of nodes out of a graph, which it changes: a pass gives it a copy.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: (x * 2).exp() + 1, wb.ones(N=3))
    >>> call = Outliner(graph).take_out(graph.nodes[:2], "twice_exp")
    >>> print(wb.graph.check(graph))
    twice_exp(%x : f32[N:3]):
      kind 'twice_exp'
      %mul : f32[N:3] = mul(%x, 2)  # ...
      %exp : f32[N:3] = exp(%mul)  # ...
      return %exp
    <BLANKLINE>
    graph(%x : f32[N:3]):
      %exp : f32[N:3] = @twice_exp(%x)  # ...
      %add : f32[N:3] = add(%exp, 1)  # ...
      return %add
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.block: dict[Node, Block] = {}
        """The block in which each node stands."""
        self.users: dict[Value, list[Node]] = {}
        """The nodes that read each value, in order; what a block gives is read by its node."""
        self.needed: set[Value] = set()
        """What functions return, and what parameters become."""
        self._worlds: dict[Block, _World] = {}
        for function in (*graph.functions.values(), graph):
            world = _World(function)
            for block in blocks(function):
                self._worlds[block] = world
                self.block.update(dict.fromkeys(block.nodes, block))
            self.users.update(users(function))
            self.needed.update(values_in(function.outputs))
        self.needed.update(graph.updates.values())
        # In all functions: in the Python form a function and a value cannot be called the same.
        self._taken = {value.name for one in (graph, *graph.functions.values()) for value in made(one)}
        self._taken.update(value.name for value in graph.given())

    def readers(self, value: Value) -> list[Node]:
        """Return the nodes that read a value; what the graph holds has them in one list with all others."""
        return self.users.get(value, [])

    def only_reader(self, value: Value) -> Node | None:
        """Return the node that alone reads a value, in the block that makes it; None where there is no such node."""
        found = self.readers(value)
        alone = len(found) == 1 and value not in self.needed and value.node is not None
        # One that has blocks reads it inside them, or gives it from there.
        if not alone or found[0].blocks or value.node not in self.block:
            return None
        return found[0] if self.block[found[0]] is self.block[value.node] else None

    def sizes(self, node: Node, value: Value) -> tuple[Size, ...]:
        """Return what the sizes of a tensor are in every run, as far as it is known where a node stands."""
        scope = self._worlds[self.block[node]].sizes
        return tuple(map(scope.settle, value.tensor.sizes))

    def shown_inside(self, node: Node) -> bool:
        """Say whether the sizes that stand in the operands of a node are those of tensors that it is given."""
        if not is_symbolic((node.inputs, node.params)):
            return True
        scope = self._worlds[self.block[node]].sizes
        world: dict[Size, Size] = {}
        for value in node.values:
            for _ in _sizes_of(value, value, scope, world):
                pass
        try:
            filled((node.inputs, node.params), lambda value: value, lambda size: _put(size, world, node))
        except GraphError:
            return False
        return True

    def refusal(self, nodes: Sequence[Node]) -> str | None:
        """Return why nodes cannot be taken out, in words; None where they can."""
        try:
            self._order(nodes)
        except GraphError as error:
            return str(error)
        return None

    def take_out(self, nodes: Sequence[Node], kind: str, name: str = "") -> Node:
        """Make a function of `nodes`, called `name` or like its kind, and return the call that stands for them.

        Nodes in between that need what they make come behind the call, all others before it. Raises `GraphError`
        where that is not the same graph: what stands in between needs them and is needed by them, changes memory, or
        does something that is not known. The graph is then as it was.
        """
        before, group, after = self._order(nodes)
        block = self.block[group[0]]
        inside = set(group)
        own = [value for node in group for value in node.outputs]
        outputs = [one for one in own if one in self.needed or not inside.issuperset(self.readers(one))]
        if not outputs:
            # What nobody reads is the function's result all the same: a call makes some value.
            outputs = list(group[-1].outputs)
        function, given = _function(group, outputs, self._worlds[block].sizes, self._name(name or kind), kind)
        call = Node(function, tuple(given), {}, tuple(outputs), group[0].scope, group[0].source)
        kinds = self._types(call, block)
        # From here on nothing is refused.
        for value, one in zip(outputs, kinds, strict=True):
            value.node, value.type = call, one
        start = block.nodes.index(min(group, key=block.nodes.index))
        block.nodes[start : start + len(before) + len(group) + len(after)] = [*before, call, *after]
        self._enter(function, block)
        self._tell(call, group, block)
        return call

    def attempt(self, nodes: Sequence[Node], kind: str) -> Node | None:
        """Take nodes out as `take_out` does where it is the same graph; else leave them, and return None."""
        try:
            return self.take_out(nodes, kind)
        except GraphError:
            return None

    # ------------------------------------------------------------------------------------------------- parts

    def _order(self, nodes: Sequence[Node]) -> tuple[list[Node], list[Node], list[Node]]:
        """Return what comes before the call, the group in order, and what comes behind."""
        if not nodes:
            raise GraphError("there are no nodes to take out")
        for node in nodes:
            if node not in self.block:
                raise GraphError(f"{node.name} is no node of the graph")
            if node.blocks:
                raise GraphError(
                    f"{node.name} has blocks, which stay where they are: take out what stands in them"
                )
            if not pure(node):
                raise GraphError(f"{node.name} does more than compute, and stays where it is")
        block = self.block[nodes[0]]
        for node in nodes:
            if self.block[node] is not block:
                raise GraphError(f"{nodes[0].name} and {node.name} stand in different blocks")
        inside = set(nodes)
        places = [i for i, node in enumerate(block.nodes) if node in inside]
        shown = self._worlds[block].shown
        before: list[Node] = []
        group: list[Node] = []
        after: list[Node] = []
        # What came behind the group, or is computed from that.
        behind: set[Value] = set()
        made_here: set[Value] = set()
        for node in block.nodes[places[0] : places[-1] + 1]:
            needs = {*reads(node), *symbols.sized((node.inputs, node.params), shown)}
            if node in inside:
                late = next((value for value in node.values if value in behind), None)
                if late is not None or needs & behind:
                    which = late.name if late is not None else "a size"
                    raise GraphError(
                        f"{node.name} needs {which}, which is computed from what the group makes and is not in it: "
                        "take it out as well"
                    )
                group.append(node)
                made_here.update(node.outputs)
                continue
            if not pure(node):
                raise GraphError(
                    f"{node.name} stands between the nodes and does more than compute: none is moved across it"
                )
            if needs & made_here or needs & behind:
                after.append(node)
                behind.update(node.outputs)
            else:
                before.append(node)
        return before, group, after

    def _types(self, call: Node, block: Block) -> list[Type]:
        """Return the types of what a call gives; in every run they have the sizes that they had without it."""
        sizes = self._worlds[block].sizes
        found = []
        for value, known in zip(call.outputs, symbols.follows(call, sizes), strict=True):
            kind = symbols.own(value.name, value.type, known)
            if isinstance(value.type, TensorType) and isinstance(kind, TensorType):
                old, new = (tuple(map(sizes.settle, one.sizes)) for one in (value.type, kind))
                if old != new:
                    raise GraphError(
                        f"{value.name} has sizes {list(old)}, which do not follow from those of what the nodes are "
                        f"given: they are {list(new)}"
                    )
            found.append(kind)
        return found

    def _name(self, wanted: str) -> str:
        if not wanted.isidentifier() or keyword.iskeyword(wanted):
            raise GraphError(f"{wanted!r} cannot be what a function is called, or its kind")
        name = self.graph.fresh(wanted)
        while name in self.graph.functions or name in self._taken:
            name = self.graph.fresh(wanted)
        return name

    def _enter(self, function: SubGraph, block: Block) -> None:
        """Put a function among those of the graph: in front of that which calls it, as a text is read."""
        around = self._worlds[block].function
        known = self.graph.functions
        if around is self.graph:
            known[function.name] = function
            return
        found = list(known.items())
        known.clear()
        for name, one in found:
            if one is around:
                known[function.name] = function
            known[name] = one

    def _tell(self, call: Node, group: Sequence[Node], block: Block) -> None:
        """Take in who reads what now."""
        gone = set(group)
        for value in dict.fromkeys(value for node in group for value in node.values):
            if value in self.users:
                left = [one for one in self.users[value] if one not in gone]
                self.users[value] = [*left, call] if value in call.values else left
        for node in group:
            del self.block[node]
        self.block[call] = block


class _World:
    """A function with what is known of its sizes, asked for once for all groups that are taken out of it."""

    def __init__(self, function: SubGraph) -> None:
        self.function = function
        self.shown = symbols.symbols(function)
        self.sizes = SizeScope(function.guards)


def _function(
    group: Sequence[Node], outputs: Sequence[Value], around: SizeScope, name: str, kind: str
) -> tuple[SubGraph, list[Value]]:
    """Return a function that does what nodes do, and the values that it is to be given."""
    function = SubGraph(name=name, kind=kind, single=len(outputs) == 1)
    own = {value for node in group for value in node.outputs}
    given = list(dict.fromkeys(value for node in group for value in node.values if value not in own))
    names = _Names(name)
    twins: dict[Value, Value] = {}
    world: dict[Size, Size] = {}
    guards: list[Guard] = []
    for value in given:
        called = names.take(value.name)
        twins[value] = Value(called, symbolic(called, value.type))
        function.inputs.append(twins[value])
        guards += _sizes_of(value, twins[value], around, world)
    with SizeScope(guards) as sizes:
        for node in group:
            function.nodes.append(_again(node, twins, names, world, sizes))
        function.outputs = tuple(twins[value] for value in outputs)
    symbols.settle(function, sizes)
    return function, given


def _again(
    node: Node, twins: dict[Value, Value], names: _Names, world: dict[Size, Size], sizes: SizeScope
) -> Node:
    """Return the same call in a function, in the values and sizes of that."""

    def put(size: Any) -> Any:
        return _put(size, world, node)

    twin = Node(
        node.callee,
        filled(node.inputs, twins.__getitem__, put),
        filled(node.params, twins.__getitem__, put),
        (),
    )
    twin.scope, twin.source = node.scope, node.source
    asked = len(sizes.guards)
    found = results(twin, sizes) or tuple(value.type for value in node.outputs)
    # What a rule asks is asked by the line that made the node, not by whoever takes it out.
    sizes.guards[asked:] = [replace(one, source=node.source) for one in sizes.guards[asked:]]
    twin.outputs = tuple(
        Value(names.take(value.name), one, twin) for value, one in zip(node.outputs, found, strict=True)
    )
    symbols.tell(twin, sizes)
    twins.update(zip(node.outputs, twin.outputs, strict=True))
    return twin


def _sizes_of(value: Value, twin: Value, around: SizeScope, world: dict[Size, Size]) -> Iterator[Guard]:
    """Enter what the sizes of a value are called inside; yield that those which are numbers outside are numbers."""
    if not (isinstance(value.type, TensorType) and isinstance(twin.type, TensorType)):
        return
    for there, here in zip(map(around.settle, value.type.sizes), twin.type.sizes, strict=True):
        if isinstance(there, Expression):
            world.setdefault(there, here)
        else:
            yield Guard(here, "==", there)


def _put(size: Any, world: dict[Size, Size], node: Node) -> Any:
    """Return a size of the function around in sizes of the function inside."""
    if isinstance(size, Formula):
        return size.over(lambda one: _put(one, world, node))
    if not isinstance(size, Expression):
        return size
    if size in world:
        return world[size]
    known: dict[Symbol, Size] = {}
    for symbol in size.symbols():
        if (bare := Expression.of(symbol)) not in world:
            raise GraphError(f"{node.name} asks for {symbol}, which nothing shows that the nodes are given")
        known[symbol] = world[bare]
    return evaluate(size, known)


class _Names:
    """Names in a function: those that values had, as far as Python can have them."""

    def __init__(self, function: str) -> None:
        self._taken = {function}

    def take(self, name: str) -> str:
        """Return `name` where it is free, or one like it."""
        # Of a dotted name the last part: the path stands where the function is called.
        word = re.sub(r"\W+", "_", name.rpartition(".")[2]).strip("_") or "value"
        word = f"_{word}" if word[0].isdigit() else word
        found = word = f"{word}_" if keyword.iskeyword(word) else word
        count = 0
        while found in self._taken:
            count += 1
            found = f"{word}_{count}"
        self._taken.add(found)
        return found
