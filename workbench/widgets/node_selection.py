"""What views of nodes share: one of them can be picked, here or in any other view of the same graph."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Container, Iterable

from workbench.graph import Node
from workbench.live.messages import SelectEvent
from workbench.live.model import Refused, ViewModel

__all__ = ["NodeSelectionModel", "node_at", "node_places"]


class NodeSelectionModel(ViewModel):
    """A view model whose only event is that a node is picked, or nothing.

    The live room offers what was picked elsewhere to every view model that is known to it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._selected: str | None = None

    @property
    def selected(self) -> str | None:
        """Identity of the picked node."""
        with self._lock:
            return self._selected

    @abstractmethod
    def _known(self) -> Container[str]:
        """Return the identities that can be picked."""

    def handle(self, event: object) -> None:
        """Pick a node, or nothing."""
        if not isinstance(event, SelectEvent):
            raise Refused(f"in this view nodes can be picked, and nothing else ({type(event).__name__})")
        if event.id is not None and event.id not in self._known():
            raise Refused(f"there is no node {event.id!r} in this picture")
        with self._lock:
            # Without a change there is nothing to tell: two views that follow each other come to rest here.
            if event.id == self._selected:
                return
            self._selected = event.id
        self.changed()


def node_places(nodes: Iterable[Node], identity: str) -> tuple[str, ...]:
    """Return the name of a node, and the paths of the modules that it lies in, the innermost first."""
    scope = next((node.scope for node in nodes if node.name == identity), ())
    return identity, *(".".join(scope[:length]) for length in range(len(scope), 0, -1))


def node_at(nodes: Iterable[Node], places: tuple[str, ...]) -> str:
    """Return the node that lies at one of `places`: the one of that name, else the last of that module.

    Raises `Refused` where none does.
    """
    known = list(nodes)
    for place in places:
        inside = [
            node.name
            for node in known
            if node.name == place or f"{'.'.join(node.scope)}.".startswith(f"{place}.")
        ]
        if inside:
            return place if place in inside else inside[-1]
    raise Refused(f"no node lies at {' or '.join(places)}")
