"""What is different about nodes that belong together, in words."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

from workbench.core.op import Op
from workbench.graph.blocks import Node, SubGraph, Value, called, values_in
from workbench.graph.diffing.facts import SLOT
from workbench.graph.diffing.matching import Matching
from workbench.graph.diffing.sides import Side
from workbench.graph.ir import Graph
from workbench.graph.types import Type
from workbench.graph.walk import walk

__all__ = ["Comparison"]

LONGEST = 120
"""Most characters of an operand."""


class Comparison:
    """Compares matched nodes."""

    def __init__(self, found: Matching) -> None:
        self._found = found
        self._back = {after: before for before, after in found.nodes.items()}
        self._given_back = {after: before for before, after in found.given.items()}
        self._holders = found.before.graph.held(), found.after.graph.held()
        shared = {function for pair in found.functions for function in pair}
        self._passed = {
            **_passed(found.before.graph, shared),
            **_passed(found.after.graph, shared),
        }

    def own(self, before: Node, after: Node) -> list[str]:
        """Return what is different about a node itself: what it is called with, what it reads, what it gives."""
        one, other = self._found.before.facts[before], self._found.after.facts[after]
        # Most nodes are the same, and have nothing to be looked for.
        alike = (one.callee, one.arguments, one.types) == (other.callee, other.arguments, other.types)
        if alike and len(one.reads) == len(other.reads):
            pairs = zip(one.reads, other.reads, strict=True)
            if all(self._twin(a) is b for (_, a), (_, b) in pairs):
                return []
        return [
            *self._called(before, after),
            *self._arguments(before, after),
            # What stands somewhere else reads something else: that is said by its having moved.
            *(() if before in self._found.moved else self.sources(before, after)),
            *(() if self.follows(before, after) else self.types(before, after)),
        ]

    def types(self, before: Node, after: Node) -> list[str]:
        """Return what is different about the types of what a node gives."""
        pairs = zip(
            self._found.before.facts[before].types, self._found.after.facts[after].types, strict=False
        )
        values = zip(before.outputs, after.outputs, strict=False)
        found = [
            f"gives {_types(one.type, other.type, mine, theirs)}"
            for (mine, theirs), (one, other) in zip(pairs, values, strict=False)
            if mine != theirs
        ]
        if len(before.outputs) != len(after.outputs):
            found.append(f"gives {len(before.outputs)} → {len(after.outputs)} values")
        return found

    def follows(self, before: Node, after: Node) -> bool:
        """Say whether a node gives something of another type because it reads something of another type."""
        one, other = self._found.before.facts[before], self._found.after.facts[after]
        if one.types == other.types or one.arguments != other.arguments:
            return False
        pairs = zip(one.reads, other.reads, strict=False)
        return bool(before.blocks) or any(self._retyped(a, b) for (_, a), (_, b) in pairs)

    def _retyped(self, one: Value, other: Value) -> bool:
        if one in self._holders[0] or other in self._holders[1]:
            return False
        return self._type(self._found.before, one) != self._type(self._found.after, other)

    def _type(self, side: Side, value: Value) -> str:
        if value.node is None:
            return side.given_types.get(value, "")
        return side.facts[value.node].types[value.node.outputs.index(value)]

    # ------------------------------------------------------------------------------------- what it is called with

    def _called(self, before: Node, after: Node) -> Iterator[str]:
        # Modules and functions that were matched by what stands around them may be called otherwise.
        one, other = self._found.before.facts[before].callee, self._found.after.facts[after].callee
        if one != other:
            words = (
                called(node.callee) if isinstance(node.callee, SubGraph) else text
                for node, text in ((before, one), (after, other))
            )
            yield f"calls {' → '.join(words)}"
        elif before.blocks and len(before.blocks) != len(after.blocks):
            yield f"has {len(before.blocks)} → {len(after.blocks)} blocks"

    def _arguments(self, before: Node, after: Node) -> Iterator[str]:
        one, other = (
            dict(side.facts[node].arguments)
            for side, node in ((self._found.before, before), (self._found.after, after))
        )
        for key in dict.fromkeys((*one, *other)):
            mine, theirs = one.get(key), other.get(key)
            if mine != theirs:
                texts = (
                    "nothing" if text is None else self._filled(text, node, key, side)
                    for text, node, side in (
                        (mine, before, self._found.before),
                        (theirs, after, self._found.after),
                    )
                )
                yield f"{_operand(before, key)}: {' → '.join(texts)}"

    def _filled(self, text: str, node: Node, key: str, side: Side) -> str:
        """Return an operand with the values in it by their names, where that is the whole of it."""
        if text != SLOT:
            return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
        return self._shown(side, next(value for where, value in side.facts[node].reads if where == key))

    def _shown(self, side: Side, value: Value) -> str:
        kind = side.kinds.get(value)
        return f"%{value.name} {value.type}" if kind is None else f"{kind} {value.name} {value.type}"

    # ----------------------------------------------------------------------------------------------- what it reads

    def sources(self, before: Node, after: Node) -> Iterator[str]:
        """Yield what a node reads in the place of something else."""
        one, other = self._found.before.facts[before], self._found.after.facts[after]
        if [key for key, _ in one.reads] != [key for key, _ in other.reads]:
            # Another number of values in an operand is another text of it, and has been said.
            others = dict(other.reads)
            pairs = [(key, value, others[key]) for key, value in one.reads if key in others]
        else:
            pairs = [(key, a, b) for (key, a), (_, b) in zip(one.reads, other.reads, strict=True)]
        for key, inside, other_inside in pairs:
            # Of a node that was taken out into a function: what that is called with, and not its name in there.
            a, b = self._outside(inside), self._outside(other_inside)
            compared = self._held if self._is_held(a) or self._is_held(b) else self._wired
            said = compared(before, key, a, b)
            if said:
                yield said

    def _outside(self, value: Value) -> Value:
        while value in self._passed:
            value = self._passed[value]
        return value

    def _is_held(self, value: Value) -> bool:
        return value in self._found.before.kinds or value in self._found.after.kinds

    def _held(self, node: Node, key: str, one: Value, other: Value) -> str:
        """Return what is different about a tensor that is read: its type, or that it is another kind of thing."""
        sides = self._found.before, self._found.after
        kinds = sides[0].kinds.get(one), sides[1].kinds.get(other)
        types = [side.held_types.get(value, "") for side, value in zip(sides, (one, other), strict=True)]
        if None in kinds:
            return f"{_operand(node, key)}: {self._shown(sides[0], one)} → {self._shown(sides[1], other)}"
        if types[0] != types[1]:
            return f"{one.name}: {_types(one.type, other.type, *types)}"
        if kinds[0] != kinds[1] and not self._same_tensor(one, other):
            return f"{one.name}: {kinds[0]} → {kinds[1]} {other.name}"
        return ""

    def _same_tensor(self, one: Value, other: Value) -> bool:
        """Say whether a tensor is merely held as something else, as a frozen graph does it."""
        return one.name == other.name

    def _wired(self, node: Node, key: str, one: Value, other: Value) -> str:
        """Return what is read in the place of something else, unless that is said by what came and went between."""
        if self._meet(one, other):
            return ""
        return f"{_operand(node, key)}: reads %{one.name} → %{other.name}"

    def _meet(self, one: Value, other: Value) -> bool:
        if self._twin(one) is other:
            return True
        gone, new = not self._stays(one), not self._comes(other)
        if gone and new:
            return True
        if gone:
            back = self._twin_back(other)
            return back is not None and back in self._behind(one, self._stays)
        if new:
            twin = self._twin(one)
            return twin is not None and twin in self._behind(other, self._comes)
        return False

    def meet(self, one: Any, other: Any) -> bool:
        """Say whether two operands, of the graph before and the one after, are the same but for what came and went."""
        values = [*values_in(one)], [*values_in(other)]
        if len(values[0]) != len(values[1]):
            return False
        return all(
            (a in self._found.before.kinds and b in self._found.after.kinds) or self._meet(a, b)
            for a, b in zip(*values, strict=True)
        )

    def behind(self, node: Node) -> set[Value]:
        """Return the values, as those of the graph after, from which a node that only one graph has is computed."""
        if node in self._found.before.facts:
            old = {one for value in node.values for one in self._behind(value, self._stays)}
            return {twin for twin in map(self._twin, old) if twin is not None}
        return {one for value in node.values for one in self._behind(value, self._comes)}

    def _twin(self, value: Value) -> Value | None:
        """Return the value after that is this one of before."""
        return _partner(value, self._found.nodes, self._found.given)

    def _twin_back(self, value: Value) -> Value | None:
        return _partner(value, self._back, self._given_back)

    def _stays(self, value: Value) -> bool:
        moved = value.node is not None and value.node in self._found.moved
        return self._twin(value) is not None and not moved

    def _comes(self, value: Value) -> bool:
        back = self._back.get(value.node) if value.node is not None else None
        return self._twin_back(value) is not None and back not in self._found.moved

    def _behind(self, value: Value, stays: Any) -> set[Value]:
        """Return the values that stay and from which one that does not is computed, through others that do not."""
        found: set[Value] = set()
        queue, seen = [value], {value}
        while queue:
            one = self._outside(queue.pop())
            if stays(one):
                found.add(one)
            elif one.node is not None:
                queue += [v for v in one.node.values if v not in seen]
                seen.update(one.node.values)
        return found


def _passed(graph: Graph, shared: set[SubGraph]) -> dict[Value, Value]:
    """Return for what functions are given, which only this graph has and calls once, what that call gives them."""
    calls: dict[SubGraph, list[Node]] = {}
    for function in (*graph.functions.values(), graph) if graph.functions else ():
        for node, _ in walk(function):
            if isinstance(node.callee, SubGraph) and node.callee not in shared:
                calls.setdefault(node.callee, []).append(node)
    return {
        value: operand
        for function, nodes in calls.items()
        if len(nodes) == 1
        for value, operand in zip(function.inputs, nodes[0].inputs, strict=False)
        if isinstance(operand, Value)
    }


def _partner(value: Value, nodes: dict[Node, Node], given: dict[Value, Value]) -> Value | None:
    if value.node is None:
        return given.get(value)
    twin = nodes.get(value.node)
    place = value.node.outputs.index(value)
    return twin.outputs[place] if twin is not None and place < len(twin.outputs) else None


def _operand(node: Node, key: str) -> str:
    """Return what an operand is called: by the op's own word where it has one, else by its place."""
    if not key.isdigit():
        return key
    names = _names(node.op) if node.op is not None else ()
    return names[int(key)] if int(key) < len(names) else f"operand {int(key) + 1}"


@functools.cache
def _names(op: Op) -> tuple[str, ...]:
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(name for name, one in inspect.signature(op.forward).parameters.items() if one.kind in places)


def _types(one: Type, other: Type, text: str, other_text: str) -> str:
    """Return two types: at the sizes of their traces, or where those are equal as what they are in every run."""
    return f"{one} → {other}" if str(one) != str(other) else f"{text} → {other_text}"
