"""What of the database of modules does not pass, declared with its reason.

Whatever fails and does not stand here fails the tests, and so does what stands here and passes.
"""

from __future__ import annotations

__all__ = ["KNOWN"]

KNOWN: dict[str, str] = {}
"""By the name of the module: why it does not pass."""
