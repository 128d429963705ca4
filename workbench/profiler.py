"""The guards of PyTorch's profiler: blocks that measure nothing, so that programs with them run.

`wb.utils.benchmark` measures.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from enum import Enum
from typing import Any

from workbench.base.absent import refusing
from workbench.base.public import words

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "tensorboard_trace_handler",
]  # fmt: skip

_REASON = "the workbench records no times of ops: wb.utils.benchmark measures, and Python's cProfile says where it goes"


class ProfilerActivity(Enum):
    """What would be recorded."""

    CPU = 0
    XPU = 1
    CUDA = 3


class ProfilerAction(Enum):
    """What a schedule would ask for."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class record_function(ContextDecorator):
    """Name a part of a program for a profile: taken, and nobody records it.

    >>> with record_function("attention"):
    ...     pass
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass


def _refusing(word: str) -> Callable[..., Any]:
    return refusing(f"profiler.{word}", _REASON)


profile = _refusing("profile")
schedule = _refusing("schedule")
tensorboard_trace_handler = _refusing("tensorboard_trace_handler")

__getattr__, __dir__ = words(__name__, __all__)
