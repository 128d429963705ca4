"""Which module is being called: a path that tracers and analysers ask for, and that costs nothing otherwise.

Calls of modules say where they are only while somebody tracks them. `active` is then not zero, and that one
attribute is all that a call tests when nobody does. Hooks of all modules raise it too, by `watch`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

__all__ = ["current", "entered", "module", "tracking", "unwatch", "watch"]

active: int = 0
"""How many look on, in any thread: trackers, and hooks of all modules. Zero: a call asks no further."""

_lock = threading.Lock()


class _Place(NamedTuple):
    """Where the calls of modules are: the path, the module called, and the paths of all modules tracked."""

    path: tuple[str, ...]
    module: Any
    paths: dict[int, tuple[str, ...]]


_place: contextvars.ContextVar[_Place | None] = contextvars.ContextVar("workbench_scope", default=None)


def current() -> tuple[str, ...]:
    """Return the path of the module being called, from the tracked one: ``("features", "0")``; empty outside."""
    place = _place.get()
    return () if place is None else place.path


def module() -> Any:
    """Return the module being called; None outside `tracking`."""
    place = _place.get()
    return None if place is None else place.module


def watch() -> None:
    """Have all calls of modules look for who wants to know of them, until `unwatch`."""
    global active
    with _lock:
        active += 1


def unwatch() -> None:
    """End one `watch`."""
    global active
    with _lock:
        active -= 1


@contextmanager
def tracking(root: Any) -> Iterator[None]:
    """Have the modules of `root` (anything with ``named_modules()``) say when they are called, in this thread.

    >>> from workbench import nn, zeros
    >>> from workbench.core import scope
    >>> model = nn.Sequential(nn.Sequential(nn.ReLU()))
    >>> stop = model[0][0].register_forward_hook(lambda module, inputs, output: print(scope.current()))
    >>> with scope.tracking(model):
    ...     y = model(zeros(1))
    ('0', '0')
    """
    # By identity: a module may compare as it likes, and `root` keeps all of them alive.
    paths = {id(one): tuple(name.split(".")) if name else () for name, one in root.named_modules()}
    watch()
    token = _place.set(_Place((), None, paths))
    try:
        yield
    finally:
        _place.reset(token)
        unwatch()


@contextmanager
def entered(called: Any) -> Iterator[None]:
    """Be inside a call of `called` for this block; nothing happens where nobody tracks.

    A module that the tracked one does not hold, such as one made during the call, is named by its type.
    """
    place = _place.get()
    if place is None:
        yield
        return
    path = place.paths.get(id(called))
    if path is None:
        path = (*place.path, type(called).__name__)
    token = _place.set(_Place(path, called, place.paths))
    try:
        yield
    finally:
        _place.reset(token)
