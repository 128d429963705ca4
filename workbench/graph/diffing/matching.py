"""Which node of one graph is which of another: by structure, and by no name that a graph has for its values.

First come nodes that are identified by all that they are computed from, or by all that is computed from them; then
what lies between those, in order, from the narrowest likeness to the widest; then neighbours of what is matched; last
what stands somewhere else. Numbers for keys make each of these steps a sort or a table: the cost is that of the keys,
and of the rows of one table of bits (`alignment.common`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from workbench.graph.blocks import Block, Node, SubGraph, Value, called
from workbench.graph.diffing.facts import Reader
from workbench.graph.diffing.pairing import Matching, Pair, grouped
from workbench.graph.diffing.sides import LEVELS, Numbers, Shape, Side
from workbench.graph.ir import Graph
from workbench.graph.walk import blocks, walk

__all__ = ["Matching", "matching"]

MOST_ALIKE = 64
"""With more functions that are left over, only those of one name are compared."""


def matching(before: Graph, after: Graph) -> Matching:
    """Match two graphs; which of them comes first makes no difference."""
    # Where several matches are as good, the choice depends on the order of the graphs: it is always the same one.
    if _later(before, after):
        return _Matcher(after, before).found.turned()
    return _Matcher(before, after).found


def _later(one: Graph, other: Graph) -> bool:
    """Say whether a graph comes behind another, in an order that knows no names."""
    if one is other:
        return False
    calls = [[(_callee(node), node.scope) for node in _all(graph)] for graph in (one, other)]
    # The cheaper question first: it is decided by that in all but a few cases.
    if calls[0] != calls[1]:
        return calls[1] < calls[0]
    # As many nodes: the first that differs says it.
    pairs = zip(_content(one), _content(other), strict=True)
    return next((b < a for a, b in pairs if a != b), False)


def _content(graph: Graph) -> Iterator[Any]:
    """Yield what orders two graphs: what is in them, node by node, without names."""
    reader = Reader(graph, dict.fromkeys(graph.functions.values(), "function"))
    held = {*graph.parameters, *graph.constants, *graph.seeds}
    for function in (*graph.functions.values(), graph):
        reader.enter(function)
        places: dict[Value, int] = {}
        for node, _ in walk(function):
            facts = reader.facts(node)
            reads = [
                (places.get(value, -1), reader.type(value.type) if value in held else "")
                for _, value in facts.reads
            ]
            yield facts.callee, facts.arguments, facts.types, node.scope, node.source, reads
            places.update(dict.fromkeys(node.outputs, len(places)))


class _Matcher:
    def __init__(self, before: Graph, after: Graph) -> None:
        names: dict[Any, str] = {}
        numbers = Numbers()
        sides = Side(before, names, numbers), Side(after, names, numbers)
        self._numbers = numbers
        self.found = Matching(*sides)
        self._functions(names)
        self._inputs(before, after, names)
        for side in sides:
            side.read(side.graph)
        for one, other in self.found.functions:
            self._inputs(one, other, names)
            self._blocks(one, other, self._tokens(()))
        ends = [list(graph.updates.values()) for graph in (before, after)]
        outer = [(sides[0].tokens(level), sides[1].tokens(level)) for level in range(LEVELS)]
        self._blocks(before, after, outer, ends)
        self._elsewhere()

    # ----------------------------------------------------------------------------- functions and what is given

    def _functions(self, names: dict[Any, str]) -> None:
        """Match the functions of the graphs: by what they compute, by name, then by the likeness of what they call."""
        sides = self.found.before, self.found.after
        rest: list[list[SubGraph]] = []
        contents: list[dict[SubGraph, int]] = []
        for side in sides:
            known: dict[SubGraph, int] = {}
            for function in _inner_first(side.graph):
                names.update({value: f"place {i}" for i, value in enumerate(function.inputs)})
                side.read(function)
                known[function] = side.content(function, LEVELS - 1)
                # Until they are matched: a call is of what the function computes.
                names[function] = f"@{known[function]}"
            contents.append(known)
            rest.append(list(side.graph.functions.values()))
        for alike in (lambda i, one: contents[i][one], lambda i, one: one.name):
            groups = [grouped((alike(i, one), one) for one in rest[i]) for i in (0, 1)]
            for key, ones in groups[0].items():
                self._pair(rest, zip(ones, groups[1].get(key, ()), strict=False))
        if max(map(len, rest)) <= MOST_ALIKE:
            scores = [
                (-_likeness(sides, one, other), i, j, one, other)
                for i, one in enumerate(rest[0])
                for j, other in enumerate(rest[1])
            ]
            for score, *_, one, other in sorted(scores, key=lambda found: found[:3]):
                if score <= -0.5 and one in rest[0] and other in rest[1]:
                    self._pair(rest, [(one, other)])
        # Called alike from now on, whatever is in them; and read again, since what they call has another name.
        for number, pair in enumerate(self.found.functions):
            for function in pair:
                names[function] = f"@{number}"
        for lone in (*rest[0], *rest[1]):
            names[lone] = f"@{lone.name}"
        for side in sides:
            for function in side.graph.functions.values():
                side.read(function)

    def _pair(self, rest: list[list[SubGraph]], pairs: Iterable[tuple[SubGraph, SubGraph]]) -> None:
        for one, other in pairs:
            self.found.functions.append((one, other))
            rest[0].remove(one)
            rest[1].remove(other)

    def _inputs(self, one: SubGraph, other: SubGraph, names: dict[Any, str]) -> None:
        """Match what two functions are given: by name and type, by either, and by place where as many are left."""
        rest = [list(one.inputs), list(other.inputs)]
        whole = len(rest[0]) == len(rest[1])
        keys = (
            lambda value: (value.name, str(value.type)),
            lambda value: value.name,
            lambda value: str(value.type),
        )
        for key in (*keys, *((lambda value: 0,) if whole else ())):
            groups = [grouped((key(value), value) for value in values) for values in rest]
            for kind, values in groups[0].items():
                others = groups[1].get(kind, ())
                # By the type alone only what cannot be confused.
                if len(values) == len(others):
                    self.found.given.update(zip(values, others, strict=True))
                    rest = [[v for v in rest[0] if v not in values], [v for v in rest[1] if v not in others]]
        for i, (value, twin) in enumerate(
            (v, self.found.given[v]) for v in one.inputs if v in self.found.given
        ):
            names[value] = names[twin] = f"input {i}"
        for side, values in zip(("before", "after"), rest, strict=True):
            names.update({value: f"{side} {i}" for i, value in enumerate(values)})

    def _tokens(
        self, pairs: Iterable[tuple[Value, Value]]
    ) -> list[tuple[dict[Value, int], dict[Value, int]]]:
        """Return what identifies values around a block, on each level: matched ones alike."""
        found: tuple[dict[Value, int], dict[Value, int]] = ({}, {})
        for i, pair in enumerate(pairs):
            for tokens, value in zip(found, pair, strict=True):
                tokens[value] = self._numbers(("around", i))
        return [found] * LEVELS

    # ---------------------------------------------------------------------------------------------- one block

    def _blocks(
        self,
        one: Block,
        other: Block,
        around: Sequence[tuple[dict[Value, int], dict[Value, int]]],
        ends: Sequence[Sequence[Value]] = ((), ()),
    ) -> None:
        """Match the nodes of two blocks, then those of the blocks in them."""
        self.found.given.update(
            zip(one.inputs, other.inputs, strict=False) if not isinstance(one, SubGraph) else ()
        )
        own = [(a, b) for a, b in self.found.given.items() if a in set(one.inputs)]
        tokens = [tuple(map(dict, level)) for level in around]
        for i, (a, b) in enumerate(own):
            for first, second in tokens:
                first.setdefault(a, self._numbers(("given here", i)))
                second.setdefault(b, self._numbers(("given here", i)))
        sides = self.found.before, self.found.after
        shapes = [Shape(side, block, end) for side, block, end in zip(sides, (one, other), ends, strict=True)]
        pair = Pair(shapes, tokens, self.found)
        pair.match()
        inner = [(a, b) for a, b in pair.matched() if a.blocks and len(a.blocks) == len(b.blocks)]
        if not inner:
            return
        values = [two for a, b in pair.matched() for two in zip(a.outputs, b.outputs, strict=False)]
        here = self._tokens([*values, *own])
        deeper = [({**o[0], **h[0]}, {**o[1], **h[1]}) for o, h in zip(tokens, here, strict=True)]
        for node, other_node in inner:
            for block, twin in zip(node.blocks, other_node.blocks, strict=True):
                self._blocks(block, twin, deeper)

    # ----------------------------------------------------------------------------------------------- elsewhere

    def _elsewhere(self) -> None:
        """Match what is left with the same call in another place: of one line, or of one module or weight."""
        found = self.found
        taken = set(found.nodes.values())
        rest = [_left(found.before.graph, found.nodes), _left(found.after.graph, taken)]
        for kind in (_of_line, _of_weight, _of_module):
            groups = [
                grouped((kind(side, node), node) for node in nodes)
                for side, nodes in zip((found.before, found.after), rest, strict=True)
            ]
            for one in groups:
                one.pop(None, None)
            for key, nodes in groups[0].items():
                others = groups[1].get(key, ())
                if len(nodes) == len(others):
                    found.nodes.update(zip(nodes, others, strict=True))
                    found.moved.update(nodes)
            taken = set(found.nodes.values())
            rest = [[n for n in rest[0] if n not in found.nodes], [n for n in rest[1] if n not in taken]]


def _of_line(side: Side, node: Node) -> Any:
    return side.labels[0][node] if node.source else None


def _of_weight(side: Side, node: Node) -> Any:
    """Return what a node is known by that reads a tensor with a name."""
    held = any(side.kinds.get(value) in ("parameter", "constant") for _, value in side.facts[node].reads)
    return side.labels[1][node] if held else None


def _of_module(side: Side, node: Node) -> Any:
    """Return the call without what it reads: in a function of the graph, weights are inputs."""
    facts = side.facts[node]
    return (facts.callee, facts.arguments, node.scope, node.source) if node.scope else None


def _left(graph: Graph, known: Iterable[Node]) -> list[Node]:
    taken = set(known)
    return [node for node in _all(graph) if node not in taken]


def _all(graph: Graph) -> Iterator[Node]:
    return (node for function in (*graph.functions.values(), graph) for node, _ in walk(function))


def _callee(node: Node) -> str:
    return "" if isinstance(node.callee, SubGraph) else called(node.callee)


def _inner_first(graph: Graph) -> list[SubGraph]:
    """Return the functions of a graph, each behind those that it calls."""
    found: dict[SubGraph, None] = {}
    entered: set[SubGraph] = set()

    def enter(function: SubGraph) -> None:
        if function in entered:
            return
        entered.add(function)
        for block in blocks(function):
            for node in block.nodes:
                if isinstance(node.callee, SubGraph):
                    enter(node.callee)
        found[function] = None

    for function in graph.functions.values():
        enter(function)
    return list(found)


def _likeness(sides: tuple[Side, Side], one: SubGraph, other: SubGraph) -> float:
    """Return the share of calls that two functions have in common."""
    counts = [
        Counter(side.facts[node].callee for node, _ in walk(function))
        for side, function in zip(sides, (one, other), strict=True)
    ]
    whole = (counts[0] | counts[1]).total()
    return (counts[0] & counts[1]).total() / whole if whole else 1.0
