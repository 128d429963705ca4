"""Publish and subscribe: how the workbench says that something changed, without knowing who looks.

Publishers (observers, trainers, graphs) announce the *object* that changed, not a rendering of it:
whoever listens decides when, and how often, a picture of that object is worth its price. With no
subscriber a publication costs one dictionary test, so a training loop can announce every step.

Topics are the names of the views: ``"histogram"``, ``"graph"``, ``"heatmap"``, ``"scatter"``,
``"shapes"`` and ``"training"``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["listening", "publish", "subscribe"]

Listener = Callable[[str, object], None]

_listeners: dict[str, tuple[Listener, ...]] = {}
_lock = threading.Lock()


def publish(topic: str, source: object) -> None:
    """Tell every subscriber of `topic` that `source` has changed.

    Subscribers run in the publishing thread, in the order in which they subscribed, and must return
    quickly. An exception raised by a subscriber reaches the publisher: a listener that may fail
    guards itself.

    >>> seen = []
    >>> stop = subscribe("doctest", lambda topic, source: seen.append((topic, source)))
    >>> publish("doctest", "observer 1")
    >>> stop()
    >>> publish("doctest", "observer 2")
    >>> seen
    [('doctest', 'observer 1')]
    """
    if not _listeners:
        return
    for listener in _listeners.get(topic, ()):
        listener(topic, source)


def listening(topic: str) -> bool:
    """Say whether anybody listens to `topic`; publishers test this before any costly preparation.

    >>> listening("nobody listens to this")
    False
    """
    return topic in _listeners


def subscribe(topic: str, listener: Listener) -> Callable[[], None]:
    """Call ``listener(topic, source)`` at every publication on `topic`; return a function that stops it.

    >>> stop = subscribe("doctest", print)
    >>> listening("doctest")
    True
    >>> stop(); listening("doctest")
    False
    """
    with _lock:
        _listeners[topic] = (*_listeners.get(topic, ()), listener)

    def stop() -> None:
        with _lock:
            rest = tuple(one for one in _listeners.get(topic, ()) if one is not listener)
            if rest:
                _listeners[topic] = rest
            else:
                _listeners.pop(topic, None)

    return stop
