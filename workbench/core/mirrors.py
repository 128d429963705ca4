"""Views that cannot share memory, because what they show lies nowhere: the conjugate of complex numbers.

Such a view has memory of its own, which is kept equal to what it views: when either is changed, the other follows.
Whatever shares the memory of either (a view of it, a detached value) takes part without knowing.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from workbench.core.op import Op
from workbench.core.views import remember

__all__ = ["Mirrors", "is_mirrored", "mirror"]


class Mirrors:
    """The mirrored views of one value's memory, in the order in which they were made."""

    def __init__(self) -> None:
        self._links: list[tuple[weakref.ref[Any], Any, Op, dict[str, Any]]] = []

    def add(self, own: Any, source: Any, op: Op, params: dict[str, Any]) -> None:
        """Keep `own` equal to ``op(source)``, both arrays, for as long as somebody has `own`."""
        # Nobody says when a mirroring view is gone: its link is dropped when the next one comes.
        self._links = [link for link in self._links if link[0]() is not None]
        self._links.append((weakref.ref(own), source, op, params))

    def changed(self, array: Any) -> None:
        """Let all others follow a change of `array`, or of what it shares memory with."""
        # Held while they are written, so that none of them disappears in between.
        alive = [(own(), *link) for own, *link in self._links]
        # Up to the memory that is mirrored, which may itself mirror other memory: those were made before.
        for own, source, op, params in reversed(alive):
            if own is not None and np.may_share_memory(own, array):
                into = source.view()
                into.setflags(write=True)  # what was stretched is marked as read-only
                np.copyto(into, op.forward(own, **params))
                # What changed further back is this source, which may itself be a mirror.
                array = source
        # Then forwards, in the order in which they were made: a mirror of a mirror finds that one up to date.
        for own, source, op, params in alive:
            if own is not None:
                np.copyto(own, op.forward(source, **params))


def mirror(op: Op, viewed: Any, params: dict[str, Any], view: Any) -> None:
    """Make the output of `op`, which is its own inverse, a view of `viewed` although its memory is another."""
    remember(op, viewed, params, view)
    if type(view.payload) is np.ndarray and view.payload.size:
        owner = view._owner
        if owner._mirrors is None:
            owner._mirrors = Mirrors()
        owner._mirrors.add(view.payload, viewed.payload, op, params)


def is_mirrored(value: Any) -> bool:
    """Say whether a value shows what lies nowhere but in the copy that it has."""
    mirrored = False
    while value._view is not None:
        # Each mirror is its own inverse: two of them show the numbers as they lie.
        mirrored ^= value._view[1].mirror
        value = value._view[0]
    return mirrored
