"""What is different between two graphs, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from workbench.base import renderer_lookup
from workbench.core.dispatch import numbers
from workbench.graph.blocks import LeafModule, Node, called
from workbench.graph.ir import Graph

__all__ = ["SIGNS", "GraphDiff", "NodeDiff", "Status"]

Status = Literal["same", "follows", "changed", "moved", "added", "removed"]

SIGNS: dict[Status, str] = {
    "same": " ", "follows": ".", "changed": "~", "moved": ">", "added": "+", "removed": "-",
}  # fmt: skip
"""What stands in front of a line of each kind."""

MOST_LINES = 60
"""Lines of a text; `GraphDiff.text` can be asked for all."""

WORDS: dict[Status, str] = {
    "changed": "changed", "follows": "of another type, because of what they read", "moved": "moved",
    "added": "added", "removed": "removed", "same": "the same",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class NodeDiff:
    """A node of one graph or of both, and what is different about it."""

    status: Status
    """``changed``: what it is called with, what it reads, or what it gives; ``follows``: it gives another type, only
    because what it reads is of another; ``moved``: the same call at another place."""
    before: Node | None
    after: Node | None
    place: tuple[str, ...]
    """Where it stands: the function that has it if that is not the graph, its module, and the blocks around it."""
    what: tuple[str, ...] = ()
    """What is different, a line each."""
    instead: Node | None = None
    """Of a node that was added or removed: the one that was removed or added in its place."""

    @property
    def node(self) -> Node:
        """The node, as it is after; of one that was removed, as it was."""
        found = self.after if self.after is not None else self.before
        assert found is not None  # nothing else is ever made
        return found

    @property
    def op(self) -> str:
        """What it calls."""
        callee = self.node.callee
        return callee.path if isinstance(callee, LeafModule) else called(callee)

    @property
    def source(self) -> str:
        """The line of the program that made it."""
        return self.node.source

    def __str__(self) -> str:
        parts = [f"{SIGNS[self.status]} {self.op}", ".".join(self.place), self.name, self.source]
        return "\n    ".join(["  ".join(filter(None, parts)), *self.what])

    @property
    def name(self) -> str:
        """What the graphs call it: both names where they differ."""
        names = dict.fromkeys(f"%{node.name}" for node in (self.before, self.after) if node is not None)
        return " → ".join(names)


@dataclass(frozen=True, eq=False)
class GraphDiff:
    """What is different between two graphs; made by `workbench.graph.diff`.

    `print` shows it as a list by place; a notebook draws it.
    """

    before: Graph
    after: Graph
    nodes: tuple[NodeDiff, ...]
    """Every node of both, in the order of a reader: that of the graph after, with what was removed where it stood."""
    notes: tuple[str, ...] = ()
    """What is different besides nodes: inputs, outputs, guards, what is updated, modules that have another path."""

    def of(self, status: Status) -> list[NodeDiff]:
        """Return the nodes of one status."""
        return [one for one in self.nodes if one.status == status]

    @property
    def added(self) -> list[NodeDiff]:
        """Nodes that only the graph after has."""
        return self.of("added")

    @property
    def removed(self) -> list[NodeDiff]:
        """Nodes that only the graph before has."""
        return self.of("removed")

    @property
    def changed(self) -> list[NodeDiff]:
        """Nodes of both, of which something is different that is their own."""
        return self.of("changed")

    @property
    def moved(self) -> list[NodeDiff]:
        """Nodes of both that stand somewhere else."""
        return self.of("moved")

    @property
    def same(self) -> list[NodeDiff]:
        """Nodes of both of which nothing is different, or only the type that follows from what they read."""
        return [one for one in self.nodes if one.status in ("same", "follows")]

    @property
    def empty(self) -> bool:
        """True if there is no difference at all."""
        return not self.notes and all(one.status == "same" for one in self.nodes)

    @property
    def counts(self) -> dict[Status, int]:
        """How many nodes there are of each status, those that there are."""
        found = Counter(one.status for one in self.nodes)
        order: tuple[Status, ...] = ("changed", "moved", "added", "removed", "follows", "same")
        return {status: found[status] for status in order if found[status]}

    @cached_property
    def numbers(self) -> tuple[tuple[str, str], ...]:
        """Pairs of tensors, by their names, that nodes of both read at the same place: of one type, and other numbers.

        They are compared when this is asked for the first time.
        """
        held = self.before.held(), self.after.held()
        found: dict[tuple[str, str], bool] = {}
        for one in self.nodes:
            if one.before is None or one.after is None:
                continue
            for mine, theirs in zip(one.before.values, one.after.values, strict=False):
                if mine in held[0] and theirs in held[1]:
                    pair = mine.name, theirs.name
                    if pair not in found:
                        found[pair] = _differ(held[0][mine], held[1][theirs])
        return tuple(pair for pair, differ in found.items() if differ)

    def summary(self) -> str:
        """Return what is different in one line.

        >>> import workbench as wb
        >>> graph = wb.graph.trace(lambda x: x.exp().relu(), wb.ones(2))
        >>> wb.graph.diff(graph, graph).summary()
        'no difference: 2 nodes are the same'
        """
        counts = self.counts
        if self.empty:
            same = counts.get("same", 0)
            return f"no difference: {same:,} node{' is' if same == 1 else 's are'} the same"
        parts = [f"{count:,} {WORDS[status]}" for status, count in counts.items()]
        if self.notes:
            parts.append(f"{len(self.notes)} other difference{'' if len(self.notes) == 1 else 's'}")
        return " · ".join(parts)

    def text(self, most: int | None = MOST_LINES) -> str:
        """Return what is different as a list by place, of at most so many lines; None for all of them."""
        lines = [
            f"{self.before.name} → {self.after.name}: {self.summary()}",
            *(f"* {one}" for one in self.notes),
        ]
        lines += [line for one in self._told() for line in str(one).splitlines()]
        if most is not None and len(lines) > most:
            left = len(lines) - most
            lines = [*lines[:most], f"… {left:,} more lines: print(diff.text(None))"]
        return "\n".join(lines)

    def _told(self) -> Iterator[NodeDiff]:
        """Yield the differences, with what came in the place of something right behind that."""
        added = {one.after: one for one in self.nodes if one.status == "added"}
        for one in self.nodes:
            if one.status == "removed" or (one.instead is None and one.status not in ("same", "follows")):
                yield one
                if one.instead is not None:
                    yield added[one.instead]

    def records(self) -> list[dict[str, Any]]:
        """Return the differences as plain data, one dict a node: for JSON, or for a table."""
        return [
            {
                "status": one.status,
                "op": one.op,
                "before": None if one.before is None else one.before.name,
                "after": None if one.after is None else one.after.name,
                "place": ".".join(one.place),
                "source": one.source,
                "what": list(one.what),
            }
            for one in self.nodes
            if one.status != "same"
        ]

    def __bool__(self) -> bool:
        """True if there is a difference."""
        return not self.empty

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<diff of {self.before.name} and {self.after.name}: {self.summary()}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)


def _differ(one: Any, other: Any) -> bool:
    if one is other:
        return False
    mine, theirs = numbers(one), numbers(other)
    return mine.shape != theirs.shape or not np.array_equal(mine, theirs, equal_nan=mine.dtype.kind in "fc")
