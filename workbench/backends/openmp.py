"""OpenMP, by which the compiled kernels run on several threads."""

from __future__ import annotations

from workbench.base.public import words
from workbench.kernels.threads import get_num_threads

__all__ = ["is_available"]


def is_available() -> bool:
    """Say whether work is done on more threads than one."""
    return get_num_threads() > 1


__getattr__, __dir__ = words(__name__, __all__)
