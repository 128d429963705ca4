"""A graph with its gradients as two graphs: what a call computes, and what its gradient does, with what the one saves.

What the second reads of the first is saved, or computed again: a view costs nothing, and of what is made by a few
cheap elementwise ops on the way to something else, nothing would be written down but for the gradient.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.core.op import ops
from workbench.graph.blocks import GraphError, Node, Value, filled, values_in
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.types import TensorType

__all__ = ["Halves", "halved", "leading_to"]

_CHEAP = frozenset({
    ops.add, ops.sub, ops.mul, ops.neg, ops.relu, ops.hardtanh, ops.abs, ops.where, ops.clone, ops.eq, ops.ne, ops.lt,
    ops.le, ops.gt, ops.ge, ops.logical_not, ops.logical_and, ops.logical_or, ops.maximum, ops.minimum,
})  # fmt: skip
"""Elementwise ops that cost less than bringing their result from memory."""
_SAME_NUMBERS = frozenset({
    ops.reshape, ops.flatten, ops.unflatten, ops.squeeze, ops.unsqueeze, ops.permute, ops.rename, ops.detach,
    ops.expand,
})  # fmt: skip
"""Views of no more numbers than there are."""


@dataclass
class Halves:
    """What a call computes, and what its gradient does."""

    forward: Graph
    """Returns ``(result, what updates put into parameters, what is saved)``."""
    backward: Graph
    """Takes the inputs, of which it may read only sizes, the gradients that arrive, and behind them what is saved;
    returns the gradients of what is asked for, None where nothing goes there."""
    saved: tuple[str, ...]
    """Names in the forward graph of the values that are made there and kept."""
    again: tuple[str, ...]
    """Names of the values that the backward graph computes again."""


def halved(joint: Graph, saved: Iterable[str] | None = None, early: Iterable[str] = ()) -> Halves:
    """Part a graph that returns ``(result, {name: gradient})``.

    With `saved` that is what is kept, by the names in the graph. Values called `early` are computed with the result,
    though it is the gradients that read them. Raises `GraphError` where that does not suffice.

    >>> import workbench as wb
    >>> from workbench.graph.passes.differentiate import joined
    >>> graph = wb.graph.trace(lambda x: ((x * 2).exp() + 1).sin().flatten().tanh(), wb.ones(3, 2))
    >>> found = halved(joined(graph, ["x"]).graph)
    >>> found.saved, found.again
    (('exp', 'tanh'), ('add',))
    """
    result, gradients = joint.outputs
    givens = set(joint.given())
    names = set(early)
    kept = [
        *values_in(result),
        *joint.updates.values(),
        *[one for one in joint.values() if one.name in names],
    ]
    forward = leading_to(kept, givens)
    choice = _Choice(joint, forward, set(values_in(result)))
    if saved is None:
        choice.choose(list(values_in(gradients)))
    else:
        choice.take(list(values_in(gradients)), set(saved))
    return Halves(
        _forward(joint, choice.saved), _backward(joint, choice.saved), tuple(one.name for one in choice.saved),
        tuple(one.name for one in choice.again),
    )  # fmt: skip


def leading_to(values: Iterable[Value], known: set[Value]) -> set[Node]:
    """Return the nodes that values are computed by."""
    found: set[Node] = set()
    waiting = list(values)
    while waiting:
        node = waiting.pop().node
        if node is not None and node not in found:
            found.add(node)
            waiting += [one for one in node.values if one not in known]
    return found


class _Choice:
    """What is kept of the forward half."""

    def __init__(self, joint: Graph, forward: set[Node], returned: set[Value]) -> None:
        self.joint, self.forward, self.returned = joint, forward, returned
        self.readers = joint.users()
        self.saved: list[Value] = []
        self.again: list[Value] = []

    def _read(self, ends: list[Value], again: set[Value]) -> list[Value]:
        """Return what the backward half reads of the forward half, in order."""
        found: dict[Value, None] = {}
        done: set[Node] = set()
        waiting = list(ends)
        while waiting:
            value = waiting.pop()
            node = value.node
            if node is None:
                continue
            if node in self.forward and value not in again:
                found[value] = None
            elif node not in done:
                done.add(node)
                waiting += node.values
        order = {value: i for i, value in enumerate(self.joint.values())}
        return sorted(found, key=order.__getitem__)

    def choose(self, ends: list[Value]) -> None:
        """Keep as little as is sensible."""
        again: set[Value] = set()
        changed = True
        while changed:
            read = self._read(ends, again)
            there = set(read)
            more = {one for one in read if self._is_view(one) or self._is_cheap(one, there | again)}
            again |= more
            changed = bool(more)
        self._settle(ends, again)

    def take(self, ends: list[Value], names: set[str]) -> None:
        """Keep what is named, and compute again whatever else is read."""
        again: set[Value] = set()
        while more := {one for one in self._read(ends, again) if one.name not in names}:
            again |= more
            if any(one.node is None for one in more):
                raise GraphError("what is kept does not suffice for these gradients")
        self._settle(ends, again)

    def _settle(self, ends: list[Value], again: set[Value]) -> None:
        self.saved = self._read(ends, again)
        order = {value: i for i, value in enumerate(self.joint.values())}
        self.again = sorted(again, key=order.__getitem__)

    def _is_view(self, value: Value) -> bool:
        node = value.node
        # A result is kept by whoever has it.
        if node is None or value in self.returned:
            return False
        # What is given is there in both halves: a part of it costs nothing either.
        return node.op in _SAME_NUMBERS or (node.op is ops.index and node.values[0].node is None)

    def _is_cheap(self, value: Value, there: set[Value]) -> bool:
        """Say whether a value is sooner computed again than kept: nothing else would have it written down."""
        node = value.node
        if node is None or node.op not in _CHEAP or value in self.returned:
            return False
        if any(one.node is not None and one not in there for one in node.values):
            return False
        readers = [one for one in self.readers[value] if one in self.forward]
        return all(one.op is not None and "elementwise" in one.op.properties for one in readers)


def _forward(joint: Graph, saved: list[Value]) -> Graph:
    graph = joint.copy()
    twins = {value.name: value for value in graph.values()}
    updates = tuple(graph.updates.values())
    graph.outputs = (graph.outputs[0], updates, tuple(twins[one.name] for one in saved))
    # They are among the outputs, and whoever runs it puts them where they belong.
    graph.updates = {}
    graph.single = False
    made = dead_code(graph)
    made.updates = {}
    return made


def _backward(joint: Graph, saved: list[Value]) -> Graph:
    graph = joint.copy()
    twins = {value.name: value for value in graph.values()}
    given = {twins[one.name]: Value(graph.fresh(one.name), one.type) for one in saved}

    def other(value: Value) -> Value:
        return given.get(value, value)

    for node in graph.nodes:
        node.inputs, node.params = filled(node.inputs, other), filled(node.params, other)
    gradients: dict[str, Any] = filled(graph.outputs[1], other)
    graph.inputs += list(given.values())
    graph.outputs, graph.updates, graph.single = tuple(gradients.values()), {}, False
    graph.guards = []  # asked by whoever ran the forward half
    return dead_code(graph)


def bytes_of(values: Iterable[Value], size: Any) -> int:
    """Return how many bytes values take, where `size` says what sizes are."""
    total = 0
    for value in values:
        if isinstance(value.type, TensorType):
            count = 1
            for one in value.type.sizes:
                count *= size(one)
            total += count * value.type.dtype.itemsize
    return total
