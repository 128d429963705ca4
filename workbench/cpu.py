"""The CPU in the words that PyTorch has for other devices: programs ask any device the same."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workbench import amp
from workbench.base.public import words

__all__ = [
    "amp", "current_device", "current_stream", "device_count", "is_available", "is_initialized", "set_device", "stream",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Say whether there is a CPU: yes."""
    return True


is_initialized = is_available


def device_count() -> int:
    """Return how many there are to choose from: 1."""
    return 1


def current_device() -> str:
    """Return which one is in use."""
    return "cpu"


def set_device(device: Any) -> None:
    """Use another one: there is one."""


def synchronize(device: Any = None) -> None:
    """Wait until all is done: every call has done its work when it returns."""


def current_stream(device: Any = None) -> None:
    """Return the order of work: None, calls are worked off as they come."""


def stream(stream: Any) -> AbstractContextManager[None]:
    """Work in another order within a block: there is one."""
    return nullcontext()


__getattr__, __dir__ = words(__name__, __all__)
