"""Memory that ops hand on to each other instead of asking the system for it every time.

Results of kernels come from a pool, and so do NumPy's arrays of a megabyte and more, by a handler in the sense of
NEP 49 (in the context that imports this package and in what runs in copies of it; a thread of its own starts with
NumPy's). Smaller ones come from malloc, which is told at import to keep large blocks as well. A chain of elementwise
ops on megabytes then runs several times as fast, because its pages do not have to be mapped and cleared at each op.
"""

from __future__ import annotations

import os
from typing import Any

from workbench.kernels._arrays import is_large
from workbench.kernels.loader import native

__all__ = ["filled", "most_bytes", "pooled_bytes", "release_memory"]

KEPT_BY_MALLOC = 256 << 20
"""Free bytes that malloc may keep; blocks above 32 MB are never among them."""

_OF_THE_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES")


def pooled_bytes() -> int:
    """Return how many bytes the pool keeps free for the next op; 512 MB at most."""
    return 0 if native is None else int(native.pool_state()["kept_bytes"])


def most_bytes(anew: bool = False) -> tuple[int, int]:
    """Return how many bytes of the pool are in use, and the most that were since that was last counted `anew`.

    Both are 0 without the compiled kernels: NumPy's own memory is in Python's book of allocations (`tracemalloc`).
    """
    if native is None:
        return 0, 0
    if anew:
        native.count_most_anew()
    state = native.pool_state()
    return int(state["in_use_bytes"]), int(state["most_in_use_bytes"])


def filled(array: Any, number: Any) -> bool:
    """Set all of an array to a number (an array without dims), and say so; leave to NumPy what it does as well."""
    if native is None or not is_large(array) or number.dtype.kind not in "biuf" or not array.flags.carray:
        return False
    native.fill(array, float(number))
    return True


def release_memory() -> None:
    """Give free memory back to the system: the pool's, and what malloc keeps."""
    if native is not None:
        native.give_back_free_memory()


# Who has set malloc up has reasons, and measures what malloc does.
if native is not None and not any(name in os.environ for name in _OF_THE_USER):
    native.keep_large_blocks(KEPT_BY_MALLOC)
    native.pool_numpy_arrays()
