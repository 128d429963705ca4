"""XNNPACK: the workbench has none."""

from __future__ import annotations

from workbench.base.public import words

__all__ = ["is_available"]


def is_available() -> bool:
    """Say whether it is used: no."""
    return False


__getattr__, __dir__ = words(__name__, __all__)
