"""How much memory of a GPU is in use: what CuPy's pool says, and nothing at all without a GPU."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from workbench.base.errors import UnavailableError
from workbench.cuda.devices import CUPY, index_of, is_available, need

__all__ = [
    "OutOfMemoryError", "empty_cache", "ipc_collect", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_summary", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats",
]  # fmt: skip


class OutOfMemoryError(UnavailableError):
    """Programs name it to catch it. CuPy raises one of its own."""


def empty_cache() -> None:
    """Give memory that nobody uses back to the GPU; nothing without one."""
    if is_available():
        CUPY.get_default_memory_pool().free_all_blocks()


def ipc_collect() -> None:
    """Give back memory that other processes had: there is none, since no memory of a GPU is shared here."""


def memory_allocated(device: Any = None) -> int:
    """Return the bytes of a GPU that arrays have, 0 without one."""
    return int(CUPY.get_default_memory_pool().used_bytes()) if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Return the bytes of a GPU that the pool holds, in use or not; 0 without one."""
    return int(CUPY.get_default_memory_pool().total_bytes()) if is_available() else 0


memory_cached = memory_reserved


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that arrays had: nobody counts on a GPU, so that is what they have now, 0 without one."""
    return memory_allocated(device)


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that the pool held: nobody counts on a GPU, so that is what it holds now, 0 without one."""
    return memory_reserved(device)


max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin counting anew: nobody counts here."""


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Return figures of the pool by PyTorch's names for them; none without a GPU."""
    if not is_available():
        return OrderedDict()
    return OrderedDict(
        {
            "allocated_bytes.all.current": memory_allocated(),
            "reserved_bytes.all.current": memory_reserved(),
        }
    )


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a line on memory in use. Raises UnavailableError without a GPU."""
    need("memory_summary")
    return f"{memory_allocated()} bytes in use of {memory_reserved()} that the pool holds"


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes that are free on a GPU, and those that it has. Raises UnavailableError without one."""
    need("mem_get_info")
    with CUPY.cuda.Device(index_of(device)):
        free, total = CUPY.cuda.runtime.memGetInfo()
    return int(free), int(total)
