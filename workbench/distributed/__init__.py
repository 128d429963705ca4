"""The guards of programs for many processes: here is one, and `is_available` says so.

What programs import at their top and call only in a group of processes is there, and refuses to be called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.base.absent import refusing
from workbench.base.public import words

__all__ = [
    "ReduceOp", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather",
    "get_backend", "get_default_backend_for_device", "get_rank", "get_world_size", "init_process_group", "irecv",
    "is_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "isend", "monitored_barrier", "new_group", "recv", "reduce", "reduce_op",
    "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
]  # fmt: skip

_REASON = (
    "there is one process here, and no group of them: ask distributed.is_available() and is_initialized() first, and "
    "run the program for one device"
)


def is_available() -> bool:
    """Say whether processes can work together: not here.

    >>> import workbench as wb
    >>> rank = wb.distributed.get_rank() if wb.distributed.is_initialized() else 0
    """
    return False


def get_default_backend_for_device(device: Any) -> str:
    """Return by what processes with this device would talk: ``gloo`` for the CPU, as in PyTorch."""
    return "nccl" if str(device).startswith("cuda") else "gloo"


is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = is_torchelastic_launched = (
    is_available
)


class ReduceOp:
    """How numbers of several processes become one: words for calls that are refused here."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "avg", "product", "min", "max"
    BAND, BOR, BXOR = "band", "bor", "bxor"


reduce_op = ReduceOp


def _refusing(word: str) -> Callable[..., Any]:
    return refusing(f"distributed.{word}", _REASON)


init_process_group = _refusing("init_process_group")
destroy_process_group = _refusing("destroy_process_group")
new_group = _refusing("new_group")
get_rank = _refusing("get_rank")
get_world_size = _refusing("get_world_size")
get_backend = _refusing("get_backend")
barrier = _refusing("barrier")
monitored_barrier = _refusing("monitored_barrier")
broadcast = _refusing("broadcast")
broadcast_object_list = _refusing("broadcast_object_list")
all_reduce = _refusing("all_reduce")
reduce = _refusing("reduce")
all_gather = _refusing("all_gather")
all_gather_into_tensor = _refusing("all_gather_into_tensor")
all_gather_object = _refusing("all_gather_object")
gather = _refusing("gather")
scatter = _refusing("scatter")
reduce_scatter = _refusing("reduce_scatter")
reduce_scatter_tensor = _refusing("reduce_scatter_tensor")
all_to_all = _refusing("all_to_all")
all_to_all_single = _refusing("all_to_all_single")
send = _refusing("send")
recv = _refusing("recv")
isend = _refusing("isend")
irecv = _refusing("irecv")

PYTORCH_FILES = ("distributed_c10d",)
"""Files that PyTorch has here."""

_LATER_HERE = "processes that work together are not here yet; run the program for one device"

__getattr__, __dir__ = words(
    __name__,
    __all__,
    files=PYTORCH_FILES,
    elsewhere=dict.fromkeys(
        (
            "algorithms",
            "checkpoint",
            "device_mesh",
            "elastic",
            "fsdp",
            "optim",
            "pipelining",
            "rpc",
            "tensor",
        ),
        _LATER_HERE,
    ),
)
