"""Apple's GPUs in PyTorch's words: there are none here, and what asks for nothing does nothing."""

from __future__ import annotations

from workbench.backends.mps import is_available
from workbench.base.absent import refusing
from workbench.base.public import words

__all__ = [
    "current_allocated_memory",
    "device_count",
    "empty_cache",
    "is_available",
    "manual_seed",
    "seed",
    "synchronize",
]

_REASON = "the workbench computes on no GPU of Apple's: ask mps.is_available() first, and compute on 'cpu'"

synchronize = refusing("mps.synchronize", _REASON)


def device_count() -> int:
    """Return how many there are."""
    return int(is_available())


def manual_seed(seed: int) -> None:
    """Seed it: `wb.manual_seed` seeds all there is."""


def seed() -> None:
    """Seed it with something that nobody knows: `wb.seed` does so for all there is."""


def empty_cache() -> None:
    """Give its memory back: there is none."""


def current_allocated_memory() -> int:
    """Return the bytes in use: none."""
    return 0


__getattr__, __dir__ = words(__name__, __all__)
