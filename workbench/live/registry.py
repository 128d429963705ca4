"""Which view models there are: those shown in the panel, and those that only a widget in a cell shows."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Literal, TypeVar

from workbench.base.listeners import Listeners
from workbench.live.messages import VIEWS
from workbench.live.model import ViewModel

__all__ = ["MAXIMUM_SHOWN", "Registry", "models", "registry", "withdraw"]

MAXIMUM_SHOWN = 12
"""How many view models of one view the panel offers; showing another lets the oldest go."""

Change = Literal["shown", "changed", "gone"]
Listener = Callable[[Change, ViewModel], None]
Model = TypeVar("Model", bound=ViewModel)


class Registry:
    """The view models of this process, by identity.

    Those that are *shown* are kept alive, up to `MAXIMUM_SHOWN` a view, the latest last. Those that are only
    *known*, because a widget draws them, live as long as somebody else holds them.

    Listeners are called as ``listener(change, model)`` in the thread where it happens.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: weakref.WeakValueDictionary[str, ViewModel] = weakref.WeakValueDictionary()
        self._shown: dict[str, tuple[int, ViewModel, Callable[[], None]]] = {}
        self._order = itertools.count(1)
        self._listeners: Listeners[[Change, ViewModel]] = Listeners()

    def know(self, model: ViewModel) -> None:
        """Let events reach `model` as long as somebody holds it, without a place in the panel."""
        _check_model(model)
        with self._lock:
            self._known[model.id] = model

    def show(self, model: Model) -> Model:
        """Give `model` a place in the panel, as the latest of its view; return it."""
        self.know(model)
        with self._lock:
            old = self._shown.pop(model.id, None)
            # Shown again, it moves to the end with the listener that it has: two would tell everything twice.
            stop = old[2] if old else model.listen(self._tell_changed)
            self._shown[model.id] = (next(self._order), model, stop)
            same = [entry for _, entry, _ in self._shown.values() if entry.view == model.view]
        # Outside of the lock, as withdrawing tells listeners, who may ask the registry.
        for oldest in same[:-MAXIMUM_SHOWN]:
            self.withdraw(oldest)
        self._tell("shown", model)
        return model

    def withdraw(self, model: ViewModel) -> None:
        """Take `model` out of the panel; nothing happens if it is not there."""
        with self._lock:
            entry = self._shown.pop(model.id, None)
        if entry:
            # No longer listened to before it is told: nothing comes after "gone".
            entry[2]()
            self._tell("gone", model)

    def models(self, view: str | None = None) -> tuple[ViewModel, ...]:
        """Return the view models that are shown, of one view or of all, the latest last."""
        if view is not None and view not in VIEWS:
            raise ValueError(f"there is no view {view!r}; the views are {', '.join(VIEWS)}")
        with self._lock:
            return tuple(model for _, model, _ in self._shown.values() if view in (None, model.view))

    def known(self) -> tuple[ViewModel, ...]:
        """Return all view models that events can reach: those shown and those that widgets draw."""
        with self._lock:
            return tuple(self._known.values())

    def order(self, identity: str) -> int | None:
        """Return when the model was shown, as a number that grows; None if it is not shown."""
        with self._lock:
            entry = self._shown.get(identity)
            return entry[0] if entry else None

    def find(self, identity: str) -> ViewModel | None:
        """Return the view model of that identity, shown or known; None if there is none."""
        with self._lock:
            return self._known.get(identity)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(change, model)`` at every change; return a function that stops it."""
        return self._listeners.add(listener)

    def _tell_changed(self, model: ViewModel) -> None:
        self._tell("changed", model)

    def _tell(self, change: Change, model: ViewModel) -> None:
        self._listeners.tell(change, model)


def _check_model(model: object) -> None:
    if not isinstance(model, ViewModel):
        raise TypeError(
            f"only a ViewModel can be shown, not {type(model).__name__}; "
            "the classes in workbench.widgets make one, e.g. TensorModel(x)"
        )
    if model.view not in VIEWS:
        raise TypeError(f"{type(model).__name__}.view is {model.view!r}; the views are {', '.join(VIEWS)}")


registry = Registry()
"""The view models of this process."""


def withdraw(model: ViewModel) -> None:
    """Take `model` out of the panel; nothing happens if it is not there."""
    registry.withdraw(model)


def models(view: str | None = None) -> tuple[ViewModel, ...]:
    """Return the view models that the panel shows, of one view or of all, the latest last.

    >>> for model in models("graph"):
    ...     withdraw(model)
    >>> models("graph")
    ()

    Raises:
        ValueError: there is no such view.
    """
    return registry.models(view)
