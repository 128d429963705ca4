"""oneDNN, which PyTorch calls by its older name: the compiled kernels use it where they could be built."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench import kernels
from workbench.base.public import words

__all__ = ["allow_tf32", "deterministic", "enabled", "flags", "is_available"]

enabled = True
"""Kept, and changes nothing: the environment's ``WORKBENCH_KERNELS=off`` switches the kernels off."""
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Say whether the compiled kernels are here, which use oneDNN."""
    return kernels.available()


@contextmanager
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
    """Set all of these within a block."""
    own = globals()
    given = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
    before = {name: own[name] for name in given}
    own.update(given)
    try:
        yield
    finally:
        own.update(before)


__getattr__, __dir__ = words(__name__, __all__)
