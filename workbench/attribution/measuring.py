"""How much memory a piece of work takes, and how that is said."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.kernels import most_bytes

__all__ = ["Cost", "measured", "memory_limit", "size_text"]

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class Cost:
    """What a run of so many rows took."""

    rows: int
    bytes: int
    """By how much memory rose above what was there before."""
    seconds: float


def measured(work: Callable[[], Any], rows: int) -> tuple[Any, Cost]:
    """Return what `work` returns, and what it took.

    Memory is what kernels take, and what Python's own book of allocations has; that is kept while `work` runs, which
    makes small calls slower. The two rise at different times: their sum is at most too much.
    """
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start(1)
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        taken = most_bytes(anew=True)[0]
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
        most = tracemalloc.get_traced_memory()[1] - before + most_bytes()[1] - taken
    finally:
        if not running:
            tracemalloc.stop()
    return result, Cost(rows, max(most, 1), seconds)


def memory_limit(memory: Any, method: str) -> int | None:
    """Return a limit in bytes, given as a number of bytes or as text such as ``"512 MB"``.

    Raises:
        TypeError: neither a number nor text.
        ValueError: not a positive amount of memory.

    >>> memory_limit("1.5 GB", "Saliency")
    1500000000
    """
    if memory is None:
        return None
    if isinstance(memory, str):
        text = memory.strip()
        number = text.rstrip("bBkKmMgGiI ")
        unit = text[len(number) :].strip().upper() or "B"
        if unit not in UNITS or not number.replace(".", "", 1).isdigit():
            raise ValueError(
                f"{method}: memory is an amount such as '512 MB' or '2 GiB', or a number of bytes; got {memory!r}"
            )
        memory = float(number) * UNITS[unit]
    if isinstance(memory, bool) or not isinstance(memory, int | float):
        raise TypeError(f"{method}: memory is a number of bytes or text such as '512 MB', got {memory!r}")
    if not memory >= 1:
        raise ValueError(f"{method}: memory is a limit of at least one byte, got {memory!r}")
    return int(memory)


def size_text(size: float) -> str:
    """Return a number of bytes as people read it.

    >>> size_text(12_345_678)
    '12.3 MB'
    """
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
