"""What is different between two graphs as a live view: their nodes beside each other, and what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from typing import Any

from workbench.graph import Graph, GraphDiff, Node, NodeDiff
from workbench.graph import diff as compared
from workbench.graph.passes import Step
from workbench.graph.tracing import Example
from workbench.live.messages import DiffNode, DiffRow, DiffState, Head, SelectEvent
from workbench.live.model import Snapshot
from workbench.live.renderers import renderers
from workbench.widgets.base import ViewWidget
from workbench.widgets.graph import graph_of
from workbench.widgets.graph_types import LONGEST, dims_of_type, short_name
from workbench.widgets.node_selection import NodeSelectionModel, node_at, node_places

__all__ = ["MOST_ROWS", "DiffModel", "DiffWidget", "diff", "graph_diff"]

MOST_ROWS = 12_000
"""Of more, stretches of what is the same travel as their number; what is still more is cut, and the view says so."""

AROUND = 3
"""So many nodes that are the same stay on both sides of a difference."""

MOST_LINES = 20
"""Most lines of what is different about one node, and most notes are ten times as many."""


class DiffModel(NodeSelectionModel):
    """Draws the difference `found` under the name `title`."""

    view = "diff"

    def __init__(self, found: GraphDiff, title: str = "") -> None:
        super().__init__()
        self.diff = found
        self._title = title
        self._made = time.time()
        rows = list(_rows(found))
        kept = rows if len(rows) <= MOST_ROWS else list(_shortened(rows))
        self._rows = kept[:MOST_ROWS]
        self._missing = len(kept) - len(self._rows)
        self._ids = frozenset(row.after.id for row in self._rows if row.after is not None)

    def snapshot(self) -> Snapshot:
        """Return all rows, and which node is picked."""
        found = self.diff
        before, after = found.before.name[:LONGEST], found.after.name[:LONGEST]
        title = self._title or (before if before == after else f"{before} → {after}")
        with self._lock:
            selected = self._selected
        return Snapshot(
            DiffState(
                "diff",
                Head(title[:LONGEST], "", self._made, live=False),
                before,
                after,
                [[status, str(count)] for status, count in found.counts.items()],
                [note[:LONGEST] for note in found.notes[: 10 * MOST_LINES]],
                self._rows,
                selected,
                self._missing,
            ),
            lasting=("rows",),
        )

    def places_of(self, identity: str) -> tuple[str, ...]:
        """Return the name of a node, and the paths of the modules that it lies in, the innermost first."""
        return node_places(self._after(), identity)

    def show_place(self, places: tuple[str, ...]) -> None:
        """Pick a node of the graph after that lies at one of `places`."""
        self.handle(SelectEvent("select", node_at(self._after(), places)))

    def _after(self) -> Iterator[Node]:
        """Yield the nodes of the graph after that have a row."""
        return (one.after for one in self.diff.nodes if one.after is not None and one.after.name in self._ids)

    def _known(self) -> Container[str]:
        return self._ids


def _rows(found: GraphDiff) -> Iterator[DiffRow]:
    """Yield a row for each node; one that came in the place of another shares its row."""
    removed = {one.before: one for one in found.nodes if one.status == "removed"}
    for one in found.nodes:
        if one.status == "removed" and one.instead is not None:
            continue
        if one.status == "added" and one.instead is not None:
            yield DiffRow("replaced", _node(removed[one.instead], one.instead), _node(one, one.after), [], 0)
        else:
            before, after = _node(one, one.before), _node(one, one.after)
            what = [line[:LONGEST] for line in one.what[:MOST_LINES]]
            yield DiffRow(one.status, None if _alike(before, after) else before, after, what, 0)


def _alike(before: DiffNode | None, after: DiffNode | None) -> bool:
    if before is None or after is None:
        return False
    return (before.op, before.place, before.dtype, before.dims) == (
        after.op,
        after.place,
        after.dtype,
        after.dims,
    )


def _node(one: NodeDiff, node: Node | None) -> DiffNode | None:
    if node is None:
        return None
    kind = node.outputs[0].type
    # Of what has moved: where it stood is where its module is, or the graph.
    place = node.scope if node is one.before and one.status == "moved" else one.place
    return DiffNode(
        node.name[:LONGEST],
        one.op[:LONGEST],
        ".".join(place)[:LONGEST],
        node.source[:LONGEST],
        short_name(kind),
        dims_of_type(kind),
    )


def _shortened(rows: list[DiffRow]) -> Iterator[DiffRow]:
    """Yield rows without those in the middle of what is the same."""
    start = 0
    for i in range(len(rows) + 1):
        if i < len(rows) and rows[i].status == "same":
            continue
        same = rows[start:i]
        head, tail = (0 if start == 0 else AROUND), (0 if i == len(rows) else AROUND)
        if len(same) > head + tail + 1:
            yield from same[:head]
            yield DiffRow("same", None, None, [], len(same) - head - tail)
            yield from same[len(same) - tail :]
        else:
            yield from same
        if i < len(rows):
            yield rows[i]
        start = i + 1


def _of_step(step: Step) -> DiffModel:
    return DiffModel(step.diff, f"{step.before.name}: {step.name}")


class DiffWidget(ViewWidget):
    """What is different between two graphs, in a cell."""

    def __init__(self, found: GraphDiff | Step, title: str = "", **traits: Any) -> None:
        plain = found.diff if isinstance(found, Step) else found
        super().__init__(DiffModel(plain, title) if title else renderers.model_of(found), **traits)


def graph_diff(
    before: Graph | GraphDiff | Step | Callable[..., Any],
    after: Graph | Callable[..., Any] | None = None,
    *examples: Example,
    title: str = "",
) -> DiffWidget:
    """Show in this cell what is different between two graphs, or two modules or functions traced for `examples`.

    A difference that is there already is taken alone, ``graph_diff(wb.graph.diff(a, b))``, and so is what a pass did.

    Raises:
        TypeError: there are no two graphs, or nothing to trace something with.
    """
    if isinstance(before, GraphDiff | Step):
        if after is not None or examples:
            raise TypeError("this is a difference already, which is drawn as it is: leave the rest out")
        return DiffWidget(before, title)
    if after is None:
        raise TypeError(
            "a difference is that of two graphs: wb.widgets.graph_diff(before, after), or of two models with an "
            "example of their inputs: wb.widgets.graph_diff(before, after, batch)"
        )
    graphs = (graph_of(one, () if isinstance(one, Graph) else examples) for one in (before, after))
    return DiffWidget(compared(*graphs), title)


diff = graph_diff
"""By the panel's own word."""

renderers.register(GraphDiff, DiffModel)
renderers.register(Step, _of_step)
