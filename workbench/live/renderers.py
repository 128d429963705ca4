"""From what was published to how it is drawn: the rules that turn a source into a view model.

An observer says ``publish(self)`` and knows nothing of pictures. The widgets room registers, for each type of source,
the function that makes a view model of it. Only while a page looks is anybody subscribed.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

from workbench.base import events
from workbench.live.messages import VIEWS
from workbench.live.model import ViewModel
from workbench.live.registry import MAXIMUM_SHOWN, Registry, registry

__all__ = ["Renderers", "renderers", "show"]

logger = logging.getLogger(__name__)

Factory = Callable[[Any], ViewModel]


class Renderers:
    """The rules by type of source, and the view models made by them.

    >>> renderers = Renderers(Registry())
    >>> renderers.find([1, 2]) is None
    True
    """

    def __init__(self, shown: Registry) -> None:
        self._registry = shown
        self._lock = threading.RLock()
        self._factories: dict[type, Factory] = {}
        self._made: dict[int, tuple[Callable[[], object], weakref.ref[ViewModel]]] = {}
        self._stops: list[Callable[[], None]] | None = None

    def register(self, source: type, make: Factory) -> None:
        """Draw sources of type `source` with the view model ``make(source)``.

        `make` must be cheap (it is called in the publishing thread, once for each source); it may return a
        view model that it has returned before. A later rule for the same type replaces the earlier.
        """
        with self._lock:
            # A type that has a rule is subscribed to already; that finds the newest rule itself.
            new = source not in self._factories
            self._factories[source] = make
            if new and self._stops is not None:
                self._stops.append(events.subscribe(source, self._published))

    def find(self, source: object) -> Factory | None:
        """Return the rule for `source`, that of the nearest base class; None if there is none."""
        return next((self._factories[base] for base in type(source).__mro__ if base in self._factories), None)

    def show(self, thing: object) -> ViewModel:
        """Show `thing` in the panel: a view model, or anything that some rule can make one of.

        Raises:
            TypeError: no rule fits.
        """
        if isinstance(thing, ViewModel):
            return self._registry.show(thing)
        if self.find(thing) is not None:
            return self._registry.show(self.model_of(thing))
        known = sorted(kind.__name__ for kind in self._factories)
        raise TypeError(
            f"live.show takes a view model, or one of {', '.join(known) or 'nothing yet'}; "
            f"got {type(thing).__name__}"
        )

    def model_of(self, source: object, make: Factory | None = None) -> ViewModel:
        """Return the view model of `source`: the same one in cells and at the side, as long as somebody draws it.

        One that is not there yet is made by `make`, or by the rule for the type of `source`.

        Raises:
            TypeError: no rule fits.
        """
        model = self.drawn(source)
        if model is None:
            make = make or self.find(source)
            if make is None:
                raise TypeError(f"there is no rule for a {type(source).__name__}")
            model = make(source)
            self._remember(source, model)
        return model

    def drawn(self, source: object) -> ViewModel | None:
        """Return the view model by which somebody draws `source` already; None if nobody does."""
        with self._lock:
            held = self._made.get(id(source))
            # An `id` is given again once its object is gone, so the object itself is compared.
            if held is None or held[0]() is not source:
                return None
            return held[1]()

    def start(self) -> None:
        """Listen to everything that can be drawn."""
        with self._lock:
            if self._stops is None:
                self._stops = [events.subscribe(kind, self._published) for kind in self._factories]

    def stop(self) -> None:
        """Listen no longer: publishing then costs nothing again."""
        with self._lock:
            # Taken under the lock and called outside of it: who unsubscribes may be waiting for a publisher
            # that waits for us.
            stops, self._stops = self._stops or [], None
        for stop in stops:
            stop()

    def _published(self, source: object) -> None:
        """Find or make the view model of `source` and say that it changed; faults stop here."""
        model = self.drawn(source)
        # Of one that was withdrawn, or stood in a cell only, the model gets a place (again).
        if model is None or self._registry.order(model.id) is None:
            if self.find(source) is None:
                return
            try:
                model = self._registry.show(self.model_of(source))
            # Whoever published has work of its own, which is not to fail for a picture.
            except Exception:
                logger.exception("a %s that was published cannot be drawn", type(source).__name__)
                return
        model.changed()

    def _remember(self, source: object, model: ViewModel) -> None:
        reference: Callable[[], object]
        try:
            reference = weakref.ref(source)
        except TypeError:  # lists, tuples and the like take no weak references

            def reference() -> object:
                return source

        with self._lock:
            # The model weakly: whoever draws it decides how long it lives.
            self._made[id(source)] = (reference, weakref.ref(model))
            if len(self._made) > MAXIMUM_SHOWN * len(VIEWS):
                self._made = {key: held for key, held in self._made.items() if held[1]() is not None}


renderers = Renderers(registry)
"""The rules of this process."""


def show(thing: object) -> ViewModel:
    """Show `thing` in the Workbench panel, as the latest of its view, and return its view model.

    `thing` is a `ViewModel`, or anything that a rule of `renderers` can make one of: a tensor, a graph. Works
    without a front end, too: a page that connects later draws it. At most `MAXIMUM_SHOWN` view models of one
    view are kept; beyond that the oldest is withdrawn.

    Raises:
        TypeError: nothing draws `thing`.
    """
    return renderers.show(thing)
