"""Brings the rooms that every script needs, in one go, while Python's collector of cycles rests.

Nearly everything that an import makes stays. To look through it again and again for what may go takes a quarter of
the time, and finds nothing.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Iterator

__all__: list[str] = []

_ROOMS = ("ops", "autograd", "nn", "optim")


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                # All that is here becomes old, without a look: the first object that comes next would bring one.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


with _collector_at_rest():
    for _room in _ROOMS:
        importlib.import_module(f"workbench.{_room}")
