"""Memory for what a graph computes: how long each value is needed, and where in one block of memory it lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

from workbench.base.dtypes import dtype_of
from workbench.base.size_expressions import Symbol, evaluate
from workbench.core.op import ops
from workbench.core.value import Abstract, new
from workbench.graph.binding import Binding
from workbench.graph.blocks import Node, SubGraph, Value, values_in
from workbench.graph.ir import Graph
from workbench.graph.types import TensorType
from workbench.graph.walk import reads

__all__ = ["Buffer", "MemoryPlan", "in_place", "placed", "plan_memory"]

ALIGNMENT = 64
"""Bytes: a line of a processor's memory, and its widest register."""


@dataclass(frozen=True)
class Buffer:
    """Memory that is needed from one node to another, both included, and by which values."""

    first: int
    last: int
    bytes: int
    values: tuple[Value, ...] = ()
    """Those that lie in it, one after the other or as views of one another."""
    offset: int = 0


@dataclass(frozen=True)
class MemoryPlan:
    """Where what a graph computes lies in one block of memory, for given sizes.

    What is returned, and shares memory with that, is not in it: it outlives the run. Nor is what only a run knows the
    size of.
    """

    bytes: int
    """How large the block is."""
    buffers: tuple[Buffer, ...]
    """In the order in which they are first needed."""
    apart: tuple[Value, ...]
    """Values that lie elsewhere: what is returned, what is made in blocks, what only a run knows the size of."""
    alignment: int = ALIGNMENT

    @property
    def sum(self) -> int:
        """How many bytes it were with memory of its own for each buffer."""
        return sum(_aligned(one.bytes, self.alignment) for one in self.buffers)

    @property
    def least(self) -> int:
        """How many bytes are needed at once, where most are: no plan takes less."""
        steps: Counter[int] = Counter()
        for one in self.buffers:
            steps[one.first] += _aligned(one.bytes, self.alignment)
            steps[one.last + 1] -= _aligned(one.bytes, self.alignment)
        return max(accumulate(steps[one] for one in sorted(steps)), default=0)

    def buffer(self, value: Value) -> Buffer | None:
        """Return where a value lies; None where that is not in the block."""
        return next((one for one in self.buffers if value in one.values), None)

    def shared(self) -> list[tuple[Value, ...]]:
        """Return the values that share a buffer: views, and results that took the place of an operand."""
        return [one.values for one in self.buffers if len(one.values) > 1]

    def __str__(self) -> str:
        lines = [f"{self.bytes} bytes, of {self.sum} in all; {self.least} are needed at once"]
        for one in self.buffers:
            names = ", ".join(value.name for value in one.values)
            lines.append(f"  {one.offset:>10} +{one.bytes:<10} {one.first:>5} to {one.last:<5} {names}")
        return "\n".join(lines)


InPlace = Callable[[Node], Iterable[Value]]


def in_place(node: Node) -> Iterator[Value]:
    """Yield the operands whose memory the first result of a node may take, each number for the one at its place.

    Elementwise ops and functions of the kind ``fused_elementwise``: they read a number before they write there.
    """
    whole = isinstance(node.callee, SubGraph) and node.callee.kind == "fused_elementwise"
    if whole or (node.op is not None and "elementwise" in node.op.properties and node.op is not ops.to):
        yield from node.values


def plan_memory(
    graph: Graph,
    sizes: Mapping[str, Sequence[int]] | None = None,
    *,
    alignment: int = ALIGNMENT,
    in_place: InPlace = in_place,
) -> MemoryPlan:
    """Return where the results of the nodes of a graph lie in one block of memory, for given sizes of its inputs.

    `sizes` has them by name; others are those of the trace. A value is in memory from the node that makes it to the
    last that reads it, or a view of it. Views lie where what they are views of lies, and what `in_place` allows takes
    the place of an operand that nothing reads any more. Buffers are placed largest first, each into the smallest gap
    that is free as long as it is needed.

    Raises `DimensionError` for sizes that the graph is not made for.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: ((x @ x) @ x).exp().t() @ x, wb.ones(16, 16))
    >>> print(plan_memory(graph))
    2048 bytes, of 2048 in all; 2048 are needed at once
               0 +1024           0 to 1     matmul
            1024 +1024           1 to 4     matmul_1, exp, permute
    >>> plan_memory(graph, {"x": (100, 100)}).bytes
    80000
    """
    known = _bound(graph, sizes or {})
    lying = _Lying(graph, known, in_place)
    buffers = placed(lying.buffers(), alignment)
    inside = {value for one in buffers for value in one.values}
    made = (value for node, _ in graph.walk() for value in node.outputs)
    size = max((one.offset + _aligned(one.bytes, alignment) for one in buffers), default=0)
    return MemoryPlan(size, tuple(buffers), tuple(value for value in made if value not in inside), alignment)


def placed(buffers: Iterable[Buffer], alignment: int = ALIGNMENT) -> list[Buffer]:
    """Return buffers with places: those that are needed at one time lie beside each other.

    >>> [one.offset for one in placed([Buffer(0, 1, 64), Buffer(1, 2, 128), Buffer(2, 3, 64)])]
    [128, 0, 128]
    """
    found: dict[int, Buffer] = {}
    given = list(buffers)
    # The largest first: small ones fit into what those leave.
    for i in sorted(range(len(given)), key=lambda i: (-given[i].bytes, given[i].first, i)):
        one = given[i]
        others = [two for two in found.values() if two.first <= one.last and one.first <= two.last]
        offset = _gap(_aligned(one.bytes, alignment), others, alignment)
        found[i] = Buffer(one.first, one.last, one.bytes, one.values, offset)
    return [found[i] for i in range(len(given))]


def _gap(size: int, others: list[Buffer], alignment: int) -> int:
    """Return where the smallest gap between others begins that is large enough; behind them where there is none."""
    best, least, end = -1, 0, 0
    for one in sorted(others, key=lambda one: one.offset):
        free = one.offset - end
        if free >= size and (best < 0 or free < least):
            best, least = end, free
        end = max(end, one.offset + _aligned(one.bytes, alignment))
    return end if best < 0 else best


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _bound(graph: Graph, sizes: Mapping[str, Sequence[int]]) -> Mapping[Symbol, Any]:
    """Return what the sizes of the inputs are, by their symbols; refuse those that the guards refuse."""
    known = {value.name: value for value in graph.inputs}
    for name in sizes:
        if name not in known or not isinstance(known[name].type, TensorType):
            raise ValueError(f"{graph.name} has no tensor {name!r} among its inputs {list(known)}")
    given: list[Any] = []
    for value in graph.inputs:
        if not isinstance(value.type, TensorType):
            given.append(None)
            continue
        shape = tuple(sizes.get(value.name, value.type.dims.sizes))
        if len(shape) != len(value.type.dims.sizes) or not all(
            type(one) is int and one >= 0 for one in shape
        ):
            raise ValueError(
                f"{value.name} has {len(value.type.dims.sizes)} dims {value.type}, not {list(shape)}"
            )
        names = value.type.dims.names
        given.append(new(Abstract(shape, value.type.dtype), names if any(names) else None))
    binding = Binding(graph, dict(zip(graph.inputs, given, strict=True)))
    binding.begin(given)
    return binding.sizes


_SHARE = (ops.rename, ops.detach, ops.squeeze, ops.unsqueeze)
_SHARE_ROWS = (ops.reshape, ops.flatten, ops.unflatten)
"""Views of what lies row by row; of anything else they are copies."""


class _Lying:
    """Which values share memory, and from when to when it is needed."""

    def __init__(self, graph: Graph, known: Mapping[Symbol, Any], in_place: InPlace) -> None:
        self.graph = graph
        self.known = known
        self.in_place = in_place
        self.last: dict[Value, int] = {}
        """The number of the last node that reads a value."""
        for i, node in enumerate(graph.nodes):
            self.last.update(dict.fromkeys(reads(node), i))
        self.group: dict[Value, list[Value]] = {}
        """Values that share memory; the first has it."""
        self.size: dict[Value, int] = {}
        self.first: dict[Value, int] = {}
        self.in_rows: set[Value] = set()
        """Values that lie row by row and fill their buffer."""
        for i, node in enumerate(graph.nodes):
            self._node(i, node)

    def buffers(self) -> list[Buffer]:
        """Return all memory that is needed for the run alone."""
        kept = set(self.graph.returned())
        groups = {id(one): one for one in self.group.values()}.values()
        found = []
        for group in groups:
            head = group[0]
            if head in self.size and not kept.intersection(group):
                found.append(Buffer(self.first[head], self._end(group), self.size[head], tuple(group)))
        return found

    def _end(self, group: Sequence[Value]) -> int:
        return max(self.last.get(one, self.first[one]) for one in group)

    def _node(self, i: int, node: Node) -> None:
        if node.op is None and not _makes_its_own(node.callee):
            self._unknown(i, node)
            return
        source = self._source(node)
        for place, value in enumerate(node.outputs):
            self.first[value] = i
            if source is not None:
                self._join(value, source)
                if source in self.in_rows and node.op in (*_SHARE, *_SHARE_ROWS):
                    self.in_rows.add(value)
                continue
            self.in_rows.add(value)
            taken = None if place else next(self._free(i, node), None)
            if taken is not None:
                self._join(value, taken)
            else:
                self.group[value] = [value]
                size = self._bytes(value)
                if size is not None:
                    self.size[value] = size

    def _unknown(self, i: int, node: Node) -> None:
        """Take in a call that may give what it is given, or views of it: all of that stays where it is to the end."""
        for value in (*reads(node), *node.outputs):
            self.first.setdefault(value, i)
            self.size.pop(self.group.setdefault(value, [value])[0], None)

    def _source(self, node: Node) -> Value | None:
        """Return the value that the result of a node is a view of; None for what has memory of its own."""
        if node.op is None or not node.op.view:
            return None
        first = node.inputs[0]
        if not isinstance(first, Value) or (
            node.op in _SHARE_ROWS and first in self.group and first not in self.in_rows
        ):
            return None
        return first

    def _join(self, value: Value, other: Value) -> None:
        """Note that two values share memory. What the graph holds or is given has none of its own here."""
        group = self.group.setdefault(other, [other])
        self.first.setdefault(other, -1)
        group.append(value)
        self.group[value] = group

    def _free(self, i: int, node: Node) -> Iterator[Value]:
        """Yield operands that nothing reads behind a node, and whose memory its result fills."""
        result = node.outputs[0]
        kept = set(self.graph.returned())
        for value in self.in_place(node):
            group = self.group.get(value, [])
            if value not in self.in_rows or not group or self.size.get(group[0]) != self._bytes(result):
                continue
            # Another view of it may lie otherwise: its numbers would be written over before they are read.
            alone = all(one is value or one not in group for one in node.values)
            as_many = self._sizes(value) == self._sizes(result) is not None
            if alone and as_many and not kept.intersection(group) and self._end(group) == i:
                yield value

    def _sizes(self, value: Value) -> list[int] | None:
        """Return the sizes of a value; None where only a run knows them, and for what is no tensor."""
        if not isinstance(value.type, TensorType):
            return None
        try:
            return [evaluate(one, self.known) for one in value.type.sizes]
        except KeyError:
            return None

    def _bytes(self, value: Value) -> int | None:
        sizes = self._sizes(value)
        return None if sizes is None else prod(sizes) * int(dtype_of(value.tensor).itemsize)


def _makes_its_own(callee: Any) -> bool:
    """Say whether what a function gives is never what it was given, or a view of that."""
    if not isinstance(callee, SubGraph):
        return False
    # From the end on, through views, to what made the memory.
    for value in values_in(callee.outputs):
        while value.node is not None and value.node.op is not None and value.node.op.view:
            if not isinstance(value.node.inputs[0], Value):
                return False
            value = value.node.inputs[0]
        if value.node is None or value.node.op is None:
            return False
    return True
