"""The one selection that all views and Python share: a graph node, an observer, points, a sample."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from workbench.base.listeners import Listeners

__all__ = ["Selected", "Selection", "selection"]


@dataclass(frozen=True)
class Selected:
    """What is selected at one moment; None and () mean nothing."""

    node: str | None = None
    """Identity of a graph node."""
    observer: str | None = None
    """Identity of an observer."""
    points: tuple[int, ...] = ()
    """Indices of points in the projector, the first picked first."""
    sample: int | None = None
    """Index of a sample of a batch."""


Listener = Callable[[Selected, str], None]


class Selection:
    """What is selected, readable and writable from Python and from every view.

    Listeners are called as ``listener(selected, source)`` in the thread that changed it; `source` is the
    identity of the view model that it came from, ``"python"`` for code.

    >>> chosen = Selection()
    >>> chosen.points = [3, 1]
    >>> chosen.points
    (3, 1)
    >>> chosen
    Selection(node=None, observer=None, points=(3, 1), sample=None)
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._now = Selected()
        self._listeners: Listeners[[Selected, str]] = Listeners()

    @property
    def now(self) -> Selected:
        """Everything that is selected, at one moment."""
        # Without the lock: it is replaced as a whole, so whoever reads it has one moment's.
        return self._now

    @property
    def node(self) -> str | None:
        """Identity of the selected graph node, or None."""
        return self._now.node

    @node.setter
    def node(self, identity: str | None) -> None:
        self.set(node=identity)

    @property
    def observer(self) -> str | None:
        """Identity of the selected observer, or None."""
        return self._now.observer

    @observer.setter
    def observer(self, identity: str | None) -> None:
        self.set(observer=identity)

    @property
    def points(self) -> tuple[int, ...]:
        """Indices of the selected points of the projector."""
        return self._now.points

    @points.setter
    def points(self, indices: Iterable[int]) -> None:
        self.set(points=indices)

    @property
    def sample(self) -> int | None:
        """Index of the selected sample, or None."""
        return self._now.sample

    @sample.setter
    def sample(self, index: int | None) -> None:
        self.set(sample=index)

    def set(self, *, source: str = "python", **parts: Any) -> None:
        """Select; parts that are not given stay as they are.

        Raises:
            TypeError: a part is not one of node, observer, points, sample, or has a wrong type.

        >>> chosen = Selection()
        >>> chosen.set(node="conv1", sample=2)
        >>> chosen.node, chosen.sample
        ('conv1', 2)
        """
        checked: dict[str, Any] = {name: _check(name, value) for name, value in parts.items()}
        with self._lock:
            after = replace(self._now, **checked)
            # What changes nothing is told to nobody. Views answer a selection with a selection, and this ends
            # it.
            if after == self._now:
                return
            self._now = after
        # Outside of the lock: a listener may select, or wait for a thread that does.
        self._listeners.tell(after, source)

    def clear(self) -> None:
        """Select nothing.

        >>> chosen = Selection()
        >>> chosen.node = "conv1"
        >>> chosen.clear()
        >>> chosen.node
        """
        self.set(node=None, observer=None, points=(), sample=None)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(selected, source)`` at every change; return a function that stops it."""
        return self._listeners.add(listener)

    def __repr__(self) -> str:
        return repr(self._now).replace("Selected", "Selection", 1)


def _check(name: str, value: object) -> object:
    if name in ("node", "observer"):
        if value is None or isinstance(value, str):
            return value
        raise TypeError(
            f"selection.{name} is a {name}'s identity as text, or None; got {type(value).__name__}"
        )
    if name == "points":
        return _check_points(value)
    if name == "sample":
        return None if value is None else _check_index(name, value)
    raise TypeError(f"a selection has no part {name!r}; it has node, observer, points and sample")


def _check_points(value: object) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"selection.points is a sequence of indices, e.g. [4, 7]; got {type(value).__name__}")
    return tuple(_check_index("points", entry) for entry in value)


def _check_index(name: str, value: Any) -> int:
    # By its protocol, so that NumPy's integers pass; True would be taken for 1.
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"selection.{name} takes whole numbers; got {type(value).__name__}")
    index = int(value.__index__())
    if index < 0:
        raise TypeError(f"selection.{name} takes indices from 0; got {index}")
    return index


selection = Selection()
"""The selection of this process."""
