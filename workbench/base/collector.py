"""Python's collector of cycles rests while something large is built, of which nearly everything stays.

To look through it again and again for what may go takes a quarter of the time and more, and finds nothing: a graph of
ten thousand nodes is half a million objects.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["MANY", "collector_at_rest"]

MANY = 20_000
"""Of so many new objects or fewer the collector is left to find out by itself which stay."""


@contextlib.contextmanager
def collector_at_rest() -> Iterator[None]:
    """Let nothing be looked through meanwhile.

    Whoever is inside in another thread, or further out, keeps the collector at rest no longer than the first who has
    stopped it: it is never left off.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if gc.get_count()[0] > MANY and not gc.get_freeze_count():
                # All that is here becomes old, without a look: the first object that comes next would bring one.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
