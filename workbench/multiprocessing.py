"""Python's `multiprocessing` under PyTorch's name.

A tensor travels to another process as a copy of its numbers; one of `Tensor.share_memory_` stays the same memory there.
"""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403  all that Python offers there
from typing import Any

from workbench.base.public import words

__all__ = [
    *_python.__all__,
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]


def get_sharing_strategy() -> str:
    """Return how memory is shared: by maps that have no name."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Say how memory is shared: taken, and there is one way only."""


def get_all_sharing_strategies() -> set[str]:
    """Return how memory can be shared."""
    return {"file_descriptor"}


def spawn(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run ``fn(i, *args)`` in `nprocs` processes, i from 0; wait for them if `join`, else return the processes.

    Raises RuntimeError where one of them ends with an error, once all have ended.
    """
    context = _python.get_context(start_method)
    started = [
        context.Process(target=fn, args=(i, *args), daemon=daemon)  # type: ignore[attr-defined]
        for i in range(nprocs)
    ]
    for process in started:
        process.start()
    if not join:
        return started
    for process in started:
        process.join()
    failed = {i: one.exitcode for i, one in enumerate(started) if one.exitcode}
    if failed:
        told = ", ".join(f"process {i} ended with {code}" for i, code in failed.items())
        raise RuntimeError(f"multiprocessing.spawn: {told}; what they raised is printed above")
    return None


__getattr__, __dir__ = words(__name__, __all__)
