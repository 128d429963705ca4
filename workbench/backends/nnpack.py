"""NNPACK: the workbench has none."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Say whether it is used: no."""
    return False
