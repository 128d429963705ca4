"""NVIDIA's cuDNN, which the workbench does not use: settings are kept, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.base.public import words

__all__ = [
    "allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_acceptable", "is_available",
    "version",
]  # fmt: skip

enabled = True
"""Whether cuDNN would be used, if there were one."""
benchmark = False
"""Whether cuDNN would try which of its algorithms is the fastest."""
benchmark_limit: int | None = None
"""How many of them it would try."""
deterministic = False
"""Whether only algorithms that repeat their results may be used: here all do."""
allow_tf32 = True
"""Whether products may be computed in 19 bits, which the CPU does not have."""


def is_available() -> bool:
    """Say whether cuDNN is used: no."""
    return False


def version() -> int | None:
    """Return the version of cuDNN: None, there is none."""
    return None


def is_acceptable(tensor: object) -> bool:
    """Say whether cuDNN could compute with a tensor: no."""
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set all of these within a block."""
    own = globals()
    given = {
        "enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
        "deterministic": deterministic, "allow_tf32": allow_tf32,
    }  # fmt: skip
    before = {name: own[name] for name in given}
    own.update(given)
    try:
        yield
    finally:
        own.update(before)


__getattr__, __dir__ = words(__name__, __all__)
