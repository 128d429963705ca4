"""View models and channels that the tests of the live link share."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from workbench.live.messages import (
    PROTOCOL_VERSION,
    GraphNode,
    GraphState,
    Head,
    HistogramState,
    ModelFigures,
    SelectEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel

HEAD = Head("title", "source", 0.0, True)


class Observers(ViewModel):
    """Counts its snapshots; knows the observers ``a`` and ``b``."""

    view = "histogram"

    def __init__(self) -> None:
        super().__init__()
        self.selected: str | None = None
        self.snapshots = 0
        self.fault: Exception | None = None

    def snapshot(self) -> Snapshot:
        self.snapshots += 1
        if self.fault:
            raise self.fault
        figures = ModelFigures(float("nan"), 0.5, None, None, None)
        state = HistogramState(
            "histogram", HEAD, [], self.selected, None, figures, 0, 0, "", None, None, False, "", ""
        )
        return Snapshot(state, (b"\x00\x01",))

    def handle(self, event: object) -> None:
        if self.fault:
            raise self.fault
        if not isinstance(event, SelectEvent) or event.id not in ("a", "b", None):
            raise Refused("only a and b can be selected")
        self.selected = event.id
        self.changed()


class Nodes(ViewModel):
    """A graph with no nodes that takes any selection."""

    view = "graph"

    def __init__(self) -> None:
        super().__init__()
        self.selected: str | None = None
        self.nodes: list[GraphNode] = []
        self.buffers: tuple[bytes, ...] = ()

    def snapshot(self) -> Snapshot:
        state = GraphState("graph", HEAD, self.nodes, [], [], self.selected, None, "", 0)
        return Snapshot(state, self.buffers, lasting=("nodes",))

    def handle(self, event: object) -> None:
        assert isinstance(event, SelectEvent)
        self.selected = event.id


class Recorder:
    """A channel that keeps what is written to it."""

    def __init__(self, comm_id: str = "data") -> None:
        self.comm_id = comm_id
        self.sent: list[dict[str, Any]] = []
        self.buffers: list[list[bytes]] = []

    def send(self, data: dict[str, Any], *, buffers: Sequence[bytes] | None = None) -> None:
        self.sent.append(data)
        self.buffers.append(list(buffers or []))

    def take(self) -> list[dict[str, Any]]:
        sent, self.sent = self.sent, []
        return sent


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def gesture(model: str, event: dict[str, Any], number: int = 1, **changes: Any) -> dict[str, Any]:
    """A request of a page that has said nothing else, as plain data."""
    data = {"type": "event", "version": PROTOCOL_VERSION, "model": model, "event": event}
    return {**data, "sender": uuid.uuid4().hex, "number": number, "oldest": number, **changes}


def message(**data: object) -> dict[str, Any]:
    """What a page sends, as it arrives."""
    return {"content": {"data": {"version": PROTOCOL_VERSION, **data}}, "buffers": []}
