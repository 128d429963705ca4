"""Publish and subscribe: how the workbench says that something changed, without knowing who looks.

Publishers (observers, trainers, graphs) announce the *object* that changed, not a rendering of it:
whoever listens decides when, and how often, a picture of that object is worth its price. With no
subscriber a publication costs one dictionary test, so a training loop can announce every step.

Who listens says to what type of source: publishers know of no pictures, and name none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["listening", "publish", "subscribe"]

Listener = Callable[[object], None]

_listeners: dict[type, tuple[Listener, ...]] = {}
_lock = threading.Lock()


def publish(source: object) -> None:
    """Tell everybody who listens to the type of `source`, or to a base of it, that it has changed.

    Subscribers run in the publishing thread, those of the nearest type first, in the order in which they
    subscribed, each once, and must return quickly. An exception raised by a subscriber reaches the publisher: a
    listener that may fail guards itself.

    >>> class Observer: ...
    >>> seen = []
    >>> stop = subscribe(Observer, seen.append)
    >>> one = Observer()
    >>> publish(one)
    >>> stop()
    >>> publish(one)
    >>> seen == [one]
    True
    """
    if _listeners:
        for listener in _heard_by(type(source)):
            listener(source)


def listening(source: object) -> bool:
    """Say whether anybody listens to `source`; publishers test this before any costly preparation.

    >>> listening("a text to which nobody listens")
    False
    """
    return bool(_listeners) and bool(_heard_by(type(source)))


def _heard_by(kind: type) -> list[Listener]:
    # One who listens to a type and to a base of it hears a source once.
    return list(dict.fromkeys(listener for base in kind.__mro__ for listener in _listeners.get(base, ())))


def subscribe(kind: type, listener: Listener) -> Callable[[], None]:
    """Call ``listener(source)`` at every publication of a `kind`; return a function that stops it.

    >>> class Observer: ...
    >>> stop = subscribe(Observer, print)
    >>> listening(Observer())
    True
    >>> stop(); listening(Observer())
    False
    """
    with _lock:
        # Tuples are replaced, never changed: publishers read them without the lock.
        _listeners[kind] = (*_listeners.get(kind, ()), listener)

    def stop() -> None:
        with _lock:
            rest = tuple(one for one in _listeners.get(kind, ()) if one is not listener)
            if rest:
                _listeners[kind] = rest
            else:
                _listeners.pop(kind, None)

    return stop
