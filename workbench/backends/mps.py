"""Apple's GPUs: the workbench computes on none of them."""

from __future__ import annotations

from workbench.base.public import words
from workbench.core import backend

__all__ = ["is_available", "is_built", "is_macos13_or_newer"]


def is_available() -> bool:
    """Say whether there is a device ``mps``: one that an installed backend has brought."""
    return backend.is_available("mps")


def is_built() -> bool:
    """Say whether the device ``mps`` could be used at all."""
    return is_available()


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Say whether the system's version lets the device ``mps`` be used."""
    return is_available()


__getattr__, __dir__ = words(__name__, __all__)
