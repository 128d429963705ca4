"""NVIDIA's GPUs in PyTorch's words: there are those that CuPy sees, and where it sees none, `is_available` is False.

What asks for nothing (`manual_seed_all`, `empty_cache`, `memory_allocated`) does nothing without a GPU, as in PyTorch;
what needs one is refused in words.
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.cuda import amp
from workbench.cuda.devices import (
    current_device,
    device,
    device_count,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    set_device,
    synchronize,
)
from workbench.cuda.memory import (
    OutOfMemoryError,
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
)
from workbench.cuda.seeds import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from workbench.cuda.streams import (
    CUDAGraph,
    Event,
    Stream,
    current_stream,
    default_stream,
    is_current_stream_capturing,
    stream,
)

__all__ = [
    "CUDAGraph", "Event", "OutOfMemoryError", "Stream", "amp", "current_device", "current_stream", "default_stream",
    "device", "device_count", "device_of", "empty_cache", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init", "initial_seed",
    "ipc_collect", "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized",
    "is_tf32_supported", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_summary", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "seed",
    "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "stream", "synchronize",
]  # fmt: skip

PYTORCH_FILES = ("memory", "random", "streams")
"""Files that PyTorch has here."""

_TENSORS = ("Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")

__getattr__, __dir__ = words(
    __name__,
    __all__,
    files=PYTORCH_FILES,
    elsewhere={
        f"{kind}Tensor": f"wb.tensor(…, device='cuda') makes one, and wb.{kind.lower()} is the type"
        for kind in _TENSORS
    },
)
