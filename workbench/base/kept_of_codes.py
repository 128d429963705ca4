"""What integer layers keep of codes, such as packed weights, and which of it a change in place makes useless."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

__all__ = ["Kept", "changed"]


class Kept(dict[Any, Any]):
    """What is kept of the codes in some memory, by what it is; `stale` once they were changed in place."""

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        super().__init__()
        self.low, self.high = np.lib.array_utils.byte_bounds(memory)
        self.stale = False
        _alive[id(self)] = self


_alive: WeakValueDictionary[int, Kept] = WeakValueDictionary()


def changed(memory: np.ndarray[Any, Any]) -> None:
    """Say that values in some memory were changed: what is kept of codes there is stale.

    By where they lie, as two arrays may share memory and know nothing of each other.

    >>> codes = np.zeros(4, np.uint8)
    >>> own, other = Kept(codes[:2]), Kept(codes[2:])
    >>> changed(codes[3:])
    >>> own.stale, other.stale
    (False, True)
    """
    low, high = np.lib.array_utils.byte_bounds(memory)
    for reference in _alive.valuerefs():
        kept = reference()
        if kept is not None and kept.low < high and low < kept.high:
            kept.stale = True
