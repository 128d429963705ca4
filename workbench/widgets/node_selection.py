"""What views of nodes share: one of them can be picked, here or in any other view of the same graph."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Container

from workbench.live.messages import SelectEvent
from workbench.live.model import Refused, ViewModel

__all__ = ["NodeSelectionModel"]


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
