"""One of two graphs that are compared: its facts, and what identifies a node by what lies before and behind it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from workbench.graph.blocks import Block, Node, SubGraph, Value, values_in
from workbench.graph.diffing.facts import Facts, Reader
from workbench.graph.effects import pure
from workbench.graph.ir import Graph
from workbench.graph.walk import blocks, reads, walk

__all__ = ["LEVELS", "Numbers", "Shape", "Side"]

LEVELS = 3
"""Labels of a node, from narrow to wide: with its line, with its module and the names of its weights, with neither."""


class Numbers:
    """Small numbers for keys: equal for equal keys, in both graphs."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def __call__(self, key: Hashable) -> int:
        return self._known.setdefault(key, len(self._known))


class Side:
    """One graph, its functions and inputs called by `names`, which both graphs share."""

    def __init__(self, graph: Graph, names: dict[Any, str], numbers: Numbers) -> None:
        self.graph = graph
        self.names = names
        self.numbers = numbers
        self.reader = Reader(graph, names)
        self.facts: dict[Node, Facts] = {}
        self.labels: tuple[dict[Node, int], ...] = tuple({} for _ in range(LEVELS))
        self.kinds = {
            **dict.fromkeys(graph.parameters, "parameter"),
            **dict.fromkeys(graph.constants, "constant"),
            **dict.fromkeys(graph.seeds, "seed"),
        }
        """Values that the graph holds or draws, and as what."""
        self.held_types: dict[Value, str] = {}
        self.given_types: dict[Value, str] = {}
        """Of what functions and blocks are given."""

    def read(self, function: SubGraph) -> None:
        """Take in the facts of a function's nodes."""
        self.reader.enter(function)
        if function is self.graph:
            self.held_types = {value: self.reader.type(value.type) for value in self.kinds}
        for block in blocks(function):
            self.given_types.update({value: self.reader.type(value.type) for value in block.inputs})
        for node, _ in walk(function):
            facts = self.facts[node] = self.reader.facts(node)
            held = [value for _, value in facts.reads if value in self.kinds]
            plain = facts.callee, facts.arguments, tuple(self.held_types[value] for value in held)
            named = *plain, node.scope, tuple(value.name for value in held)
            for known, key in zip(self.labels, ((*named, node.source), named, plain), strict=True):
                known[node] = self.numbers(key)

    def tokens(self, level: int) -> dict[Value, int]:
        """Return what identifies the values that the graph is given or holds."""
        found = {value: self.numbers(("given", self.names[value])) for value in self.graph.inputs}
        for value, kind in self.held_types.items():
            name = value.name if level < LEVELS - 1 else ""
            found[value] = self.numbers(("held", kind, name))
        return found

    def content(self, function: SubGraph, level: int) -> int:
        """Return what identifies a function by what it computes."""
        tokens = {value: self.numbers(("place", i)) for i, value in enumerate(function.inputs)}
        return Shape(self, function).content(tokens, level)


class Shape:
    """A block of one graph: its nodes in an order that does not depend on how they are written down."""

    def __init__(self, side: Side, block: Block, ends: Iterable[Value] = ()) -> None:
        self.side = side
        self.block = block
        self.ends = [*values_in(block.outputs), *ends]
        self._place = {node: i for i, node in enumerate(block.nodes)}
        self.made = {
            value: (i, j) for i, node in enumerate(block.nodes) for j, value in enumerate(node.outputs)
        }
        self.sources: list[list[tuple[int, int, int]]] = []
        """For each node as it is written: the operand, and the node and output that it reads there."""
        self.users: list[list[tuple[int, int, int]]] = [[] for _ in block.nodes]
        self._wire()

    def _wire(self) -> None:
        written: dict[Value, int] = {}
        for i, node in enumerate(self.block.nodes):
            values = [value for _, value in self.side.facts[node].reads]
            found = [(k, *self.made[value]) for k, value in enumerate(values) if value in self.made]
            inner = dict.fromkeys(reads(node)) if node.blocks else ()
            found += [
                (-1, *self.made[value]) for value in inner if value in self.made and value not in values
            ]
            # What changes memory goes before what reads it later, though no operand says so.
            found += [
                (-2, written[value], 0) for value in dict.fromkeys((*values, *inner)) if value in written
            ]
            # In a graph that is not legal a node may read what is made behind it.
            self.sources.append([one for one in found if one[1] < i])
            for k, source, j in self.sources[-1]:
                self.users[source].append((k, i, j))
            written.update(dict.fromkeys(node.writes, i))

    def order(self, ups: list[int]) -> list[int]:
        """Return the nodes behind what they read, from the outputs on; what nothing reads comes at the end."""
        done: set[int] = set()
        found: list[int] = []
        ends = [self.made[value][0] for value in self.ends if value in self.made]
        idle = [i for i, users in enumerate(self.users) if not users]
        # What does more than giving values runs in the order in which it is written; all else may stand anywhere.
        acting = [i for i in idle if not pure(self.block.nodes[i])]
        ends += [*acting, *sorted(set(idle) - set(acting), key=lambda i: (ups[i], i))]
        for end in ends:
            # A stack and no recursion: a chain may have thousands of nodes.
            stack = [(end, 0)]
            while stack:
                i, k = stack.pop()
                if i in done:
                    continue
                if k < len(self.sources[i]):
                    stack.append((i, k + 1))
                    if self.sources[i][k][1] not in done:
                        stack.append((self.sources[i][k][1], 0))
                else:
                    done.add(i)
                    found.append(i)
        return found

    def ups(self, tokens: dict[Value, int], level: int) -> list[int]:
        """Return for each node what identifies it with all that it is computed from."""
        return self._ups(self.block, dict(tokens), level)

    def content(self, tokens: dict[Value, int], level: int) -> int:
        """Return what identifies the whole block."""
        return self._content(self.block, tokens, level)

    def _ups(self, block: Block, tokens: dict[Value, int], level: int) -> list[int]:
        labels, numbers = self.side.labels[level], self.side.numbers
        found = []
        for node in block.nodes:
            read = tuple([tokens.get(value, -1) for _, value in self.side.facts[node].reads])
            inside = tuple([self._content(one, tokens, level) for one in node.blocks])
            up = numbers((labels[node], read, inside))
            found.append(up)
            for j, value in enumerate(node.outputs):
                tokens[value] = numbers(("out", up, j)) if j else up
            for value in node.writes:
                tokens[value] = numbers(("written", tokens.get(value, -1), up))
        return found

    def _content(self, block: Block, tokens: dict[Value, int], level: int) -> int:
        numbers = self.side.numbers
        inner = {**tokens, **{value: numbers(("turn", i)) for i, value in enumerate(block.inputs)}}
        if isinstance(block, SubGraph):
            inner = dict(tokens)
        ups = self._ups(block, inner, level)
        effects = tuple([up for up, node in zip(ups, block.nodes, strict=True) if not pure(node)])
        returned = tuple([inner.get(value, -1) for value in values_in(block.outputs)])
        return numbers(("block", returned, self.side.reader.operand(block.outputs), effects))

    def downs(self, level: int) -> list[int]:
        """Return for each node what identifies it with all that is computed from it."""
        labels, numbers = self.side.labels[level], self.side.numbers
        returned: dict[int, list[tuple[int, int]]] = {}
        for place, value in enumerate(self.ends):
            if value in self.made:
                i, j = self.made[value]
                returned.setdefault(i, []).append((place, j))
        found = [0] * len(self.block.nodes)
        for i in range(len(found) - 1, -1, -1):
            behind = sorted([(k, j, found[user]) for k, user, j in self.users[i]])
            found[i] = numbers((labels[self.block.nodes[i]], tuple(behind), tuple(returned.get(i, ()))))
        return found
