"""The package opt_einsum, which looks for the best order of products: `wb.einsum` finds its own."""

from __future__ import annotations

from workbench.base.public import words

__all__ = ["enabled", "is_available", "strategy"]

enabled = False
"""Whether the package is used."""
strategy: str | None = None
"""How it would look for an order."""


def is_available() -> bool:
    """Say whether the package is used: no."""
    return False


__getattr__, __dir__ = words(__name__, __all__)
