"""Functions that are told of changes of one object, from whichever thread makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

__all__ = ["Listeners"]

P = ParamSpec("P")


class Listeners(Generic[P]):
    """Functions that are called, in the order in which they came, whenever there is something to tell.

    >>> heard = []
    >>> listeners = Listeners()
    >>> stop = listeners.add(heard.append)
    >>> listeners.tell("changed")
    >>> stop()
    >>> listeners.tell("changed again")
    >>> heard, bool(listeners)
    (['changed'], False)
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        # Without a lock: a dict puts in, takes out and copies as a whole, and `stop` may come from a finalizer, which
        # runs in whichever thread collects garbage, amid whatever that thread does.
        self._entries: dict[object, Callable[P, object]] = {}

    def add(self, listener: Callable[P, object]) -> Callable[[], None]:
        """Call `listener` from now on; return a function that stops it."""
        entry = object()  # one that listens twice is told twice, and stops once for each time
        self._entries[entry] = listener

        def stop() -> None:
            self._entries.pop(entry, None)

        return stop

    def tell(self, *told: P.args, **more: P.kwargs) -> None:
        """Call every listener, in this thread. An exception that one raises reaches the caller."""
        # A copy: listeners may stop, and others come, while they are told.
        for listener in self._entries.copy().values():
            listener(*told, **more)

    def __bool__(self) -> bool:
        return bool(self._entries)
