"""Tensors whose memory processes share: what one of them writes, all of them see."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import numpy as np

from workbench.base.errors import DTypeError
from workbench.base.lazy import Lazy
from workbench.base.shared_memory import Handle, SharedMemory, shared_memory_of
from workbench.core.lending import lend
from workbench.core.value import Value, new
from workbench.tensor.copying import parts, rebuild, reduced
from workbench.tensor.gradients import set_data

__all__ = ["is_shared", "share_memory_"]

Own = TypeVar("Own", bound=Value)
reduction = Lazy("multiprocessing.reduction")


def share_memory_(self: Own) -> Own:
    """Move the numbers to memory that processes share, in place; nothing where they are there already.

    A process that is forked afterwards, or is given the tensor when it is started or by a queue of `multiprocessing`,
    writes to the same numbers. Gradients are each process's own. Raises DTypeError for a tensor that has no array
    in this computer's memory, AutogradError for a view, whose owner is to be shared.

    >>> import workbench as wb
    >>> wb.ones(2).share_memory_().is_shared()
    True
    """
    if is_shared(self):
        return self
    array = self.payload
    if type(array) is not np.ndarray:
        raise DTypeError(
            f"share_memory_: only plain numbers on the CPU are shared, this is {type(array).__name__}: call it on "
            "x.detach().cpu()"
        )
    set_data(self, new(_in_shared_memory(array), self._names))  # type: ignore[arg-type]
    lend(self)
    # How a queue, or a process that is started anew, is given such a tensor; others go as copies of their numbers.
    reduction.ForkingPickler.register(type(self), _reduced)
    return self


def is_shared(self: Value) -> bool:
    """Say whether the numbers lie in memory that processes share."""
    return isinstance(self.payload, np.ndarray) and shared_memory_of(self.payload) is not None


def _in_shared_memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = SharedMemory.of_size(array.nbytes)
    shared = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    shared[...] = array
    return shared


def _reduced(tensor: Value) -> tuple[Any, ...]:
    memory = shared_memory_of(tensor.payload) if isinstance(tensor.payload, np.ndarray) else None
    if memory is None:
        return reduced(tensor, 4)
    array = tensor.payload
    start = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - start
    place = (offset, array.shape, array.strides, array.dtype)
    return _received, (Handle(memory.descriptor), place, *parts(tensor))


def _received(handle: Handle, place: tuple[Any, ...], cls: Any, *rest: Any) -> Any:
    offset, shape, strides, dtype = place
    memory = SharedMemory.mapped(os.dup(handle.descriptor))
    os.close(handle.descriptor)
    reduction.ForkingPickler.register(cls, _reduced)
    return rebuild(cls, np.ndarray(shape, dtype, memory, offset, strides), *rest)
