"""Dims flowing through the ops of a graph, one row an op: what enters, what ends there, what comes out."""

from __future__ import annotations

import threading
import time
from typing import Any

from workbench.base.dtypes import dtype_of
from workbench.graph import Graph, Node, Type, Value
from workbench.live.messages import Dim, FlowOperand, FlowRow, FlowState, Head, SelectEvent
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.selection import selection
from workbench.widgets.base import ViewWidget

__all__ = ["MOST_ROWS", "FlowModel", "FlowWidget", "flow"]

MOST_ROWS = 500
"""A longer graph is drawn up to here."""


def _operand(value: Value, node: Node | None) -> FlowOperand:
    """One tensor of a row. A named dim that the output lacks ends in the op, unless the op only moves values."""
    kind: Type = value.type
    names, sizes = kind.dims.names, kind.dims.sizes
    ends: list[int] = []
    stretched: list[int] = []
    if node is not None and "view" not in node.op.properties:
        out = node.outputs[0].type.dims
        ends = [i for i, name in enumerate(names) if name is not None and name not in out.names]
        by_name = dict(zip(out.names, out.sizes, strict=True))
        stretched = [
            i for i, (name, size) in enumerate(zip(names, sizes, strict=True))
            if name is not None and size == 1 and by_name.get(name, 1) != 1
        ]  # fmt: skip
    joint = node is not None and len(node.values) > 1
    return FlowOperand(
        label=value.name,
        dtype=dtype_of(kind).short,
        dims=[Dim(name, size) for name, size in zip(names, sizes, strict=True)],
        contracted=ends if joint else [],
        reduced=[] if joint else ends,
        broadcast=stretched,
    )


def _row(node: Node) -> FlowRow:
    return FlowRow(
        node=node.name,
        op=node.op.name,
        scope=".".join(node.scope),
        source=node.source,
        inputs=[_operand(value, node) for value in node.values],
        output=_operand(node.outputs[0], None),
    )


class FlowModel(ViewModel):
    """Draws how dims flow through `graph`; a picked row is the selection that all views share."""

    view = "shapes"

    def __init__(self, graph: Graph, title: str = "") -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._title = title or graph.name
        self._rows = [_row(node) for node in graph.nodes[:MOST_ROWS]]
        self._selected: str | None = None
        self._stop = selection.listen(self._follow)

    def snapshot(self) -> Snapshot:
        """Return every row, and which is selected."""
        with self._lock:
            selected = self._selected
        return Snapshot(FlowState("flow", Head(self._title, "", time.time(), False), self._rows, selected))

    def handle(self, event: object) -> None:
        """Select a row, or nothing."""
        if not isinstance(event, SelectEvent):
            raise Refused("the flow of dims has rows to select, and no sliders")
        if event.id is not None and all(row.node != event.id for row in self._rows):
            raise Refused(f"there is no row {event.id!r}")
        self._select(event.id)
        selection.set(source=self.id, node=event.id)

    def _select(self, node: str | None) -> None:
        with self._lock:
            if node == self._selected:
                return
            self._selected = node
        self.changed()

    def _follow(self, selected: Any, source: str) -> None:
        known = selected.node is None or any(row.node == selected.node for row in self._rows)
        if source != self.id and known:
            self._select(selected.node)


class FlowWidget(ViewWidget):
    """The flow of dims through a graph, in a cell."""

    def __init__(self, graph: Graph, title: str = "", **traits: Any) -> None:
        super().__init__(FlowModel(graph, title), **traits)


def flow(graph: Graph, title: str = "") -> FlowWidget:
    """Show how dims flow through `graph` in this cell."""
    return FlowWidget(graph, title)
