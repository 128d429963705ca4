"""Streams and events: orders of work on a GPU. The workbench computes call by call, so there are none."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workbench.base.absent import refusing
from workbench.cuda.devices import need

__all__ = [
    "CUDAGraph", "Event", "Stream", "current_stream", "default_stream", "is_current_stream_capturing", "stream",
]  # fmt: skip

_REASON = "the workbench computes call by call, without streams of its own; time.perf_counter() takes times"


class Stream:
    """An order of work on a GPU. Raises UnavailableError: there is none but the GPU's own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refusing("cuda.Stream", _REASON)()


class Event:
    """A mark in a stream. Raises UnavailableError: there are no streams."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refusing("cuda.Event", _REASON)()


class CUDAGraph:
    """Work of a GPU to be repeated. Raises UnavailableError: `wb.graph` traces functions and runs them again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refusing("cuda.CUDAGraph", "wb.graph.trace makes a graph of a function, which runs again")()


def current_stream(device: Any = None) -> Any:
    """Return the stream in use. Raises UnavailableError."""
    need("current_stream")
    return Stream()


def default_stream(device: Any = None) -> Any:
    """Return a GPU's own stream. Raises UnavailableError."""
    need("default_stream")
    return Stream()


def stream(stream: Any) -> AbstractContextManager[None]:
    """Work in a stream within a block; None, which is all that there is here, changes nothing."""
    return nullcontext()


def is_current_stream_capturing() -> bool:
    """Say whether work is being recorded for a `CUDAGraph`: never."""
    return False
