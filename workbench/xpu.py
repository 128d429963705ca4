"""Intel's GPUs in PyTorch's words: there are none here, and what asks for nothing does nothing."""

from __future__ import annotations

from workbench.base.absent import refusing
from workbench.base.public import words
from workbench.core import backend

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]

_REASON = "the workbench computes on no GPU of Intel's: ask xpu.is_available() first, and compute on 'cpu'"

synchronize = refusing("xpu.synchronize", _REASON)


def is_available() -> bool:
    """Say whether there is a device ``xpu``: one that an installed backend has brought."""
    return backend.is_available("xpu")


def device_count() -> int:
    """Return how many there are."""
    return int(is_available())


def manual_seed(seed: int) -> None:
    """Seed it: `wb.manual_seed` seeds all there is."""


def manual_seed_all(seed: int) -> None:
    """Seed all of them: `wb.manual_seed` seeds all there is."""


def empty_cache() -> None:
    """Give its memory back: there is none."""


__getattr__, __dir__ = words(__name__, __all__)
