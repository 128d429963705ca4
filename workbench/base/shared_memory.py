"""Memory that processes share: it has no name, and is gone with the last process that has it, however that ends."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from workbench.base.lazy import Lazy

__all__ = ["Handle", "SharedMemory", "anonymous_memory", "shared_memory_of"]

reduction = Lazy("multiprocessing.reduction")
tempfile = Lazy("tempfile")


def anonymous_memory() -> int:
    """Return the descriptor of new memory without a name, of no size yet."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("workbench", os.MFD_CLOEXEC)
    descriptor: int
    descriptor, path = tempfile.mkstemp(prefix="workbench-")
    os.unlink(path)
    return descriptor


class Handle:
    """A file descriptor that travels to a process when that is started, by whatever method."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self.descriptor),)


def _received(duplicate: Any) -> Handle:
    return Handle(duplicate.detach())


class SharedMemory(mmap.mmap):
    """Memory that is mapped into this process, with the descriptor by which another can map it, too."""

    descriptor: int = -1

    @classmethod
    def of_size(cls, size: int) -> SharedMemory:
        """Return new memory of `size` bytes."""
        descriptor = anonymous_memory()
        os.truncate(descriptor, max(size, 1))
        return cls.mapped(descriptor)

    @classmethod
    def mapped(cls, descriptor: int) -> SharedMemory:
        """Return the memory that a descriptor stands for, which is closed with it."""
        memory = cls(descriptor, 0)
        memory.descriptor = descriptor
        return memory

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


def shared_memory_of(array: np.ndarray[Any, Any]) -> SharedMemory | None:
    """Return the memory that an array lies in, if processes can share it.

    >>> memory = SharedMemory.of_size(8)
    >>> shared_memory_of(np.frombuffer(memory, np.float32)[1:]) is memory
    True
    """
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, SharedMemory) else None
