"""Memory that a loader shares with its workers: slots, each for one batch, used again and again.

A slot is memory without a name (`base.shared_memory`). A worker lets its slot grow where a batch is too
large, and maps it anew; so does the loader when it reads how large the slot has become.

A batch that travels is pickled without its arrays. Where an array stands in it, the pickle has the array's place in the
slot, its shape, type and the names of its dims; the loader makes arrays of that which lie in the slot itself.
"""

from __future__ import annotations

import io
import math
import mmap
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.shared_memory import anonymous_memory
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["Slot", "SlotWriter", "pack", "unpack"]

ALIGNMENT = 64
PAGE = mmap.PAGESIZE
INLINE = 4096
"""Structures of batches that are longer than this, such as long lists of texts, travel in the slot as well."""


def _mapped(descriptor: int, size: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(mmap.mmap(descriptor, size), np.uint8)


def _address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


class SlotWriter:
    """A worker's side of a slot: arrays are made in it, or copied into it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._memory = np.empty(0, np.uint8)
        self._start = 0
        self.used = 0

    @property
    def size(self) -> int:
        """Bytes that the slot has."""
        return self._memory.size

    def begin(self) -> None:
        """Begin a batch: what the slot had is forgotten."""
        self.used = 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array in the slot, or elsewhere if it has no more room, the values of which are not set."""
        dtype = np.dtype(dtype)
        begin, end = self._room(math.prod(shape) * dtype.itemsize)
        if end > self._memory.size:
            # Not grown here: arrays of this batch may lie in the slot already, and would stay in the old
            # mapping.
            return np.empty(shape, dtype)
        self.used = end
        return np.ndarray(shape, dtype, self._memory.data, begin)

    def place(self, array: np.ndarray[Any, Any]) -> int:
        """Return where in the slot an array is; it is copied there unless it was made there."""
        offset = _address(array) - self._start
        if 0 <= offset and offset + array.nbytes <= self._memory.size and array.flags.c_contiguous:
            return offset
        begin, end = self._room(array.nbytes)
        self._grow(end)
        self.used = end
        np.copyto(np.ndarray(array.shape, array.dtype, self._memory.data, begin), array)
        return begin

    def place_bytes(self, content: bytes) -> int:
        """Copy bytes into the slot and return where they are."""
        return self.place(np.frombuffer(content, np.uint8))

    def _room(self, size: int) -> tuple[int, int]:
        begin = -(-self.used // ALIGNMENT) * ALIGNMENT
        return begin, begin + size

    def _grow(self, size: int) -> None:
        if size <= self._memory.size:
            return
        # An eighth more than is needed: the next batch may be a little larger, and growing maps the slot
        # anew.
        size = -(-(size + size // 8) // PAGE) * PAGE
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._descriptor, 0, size)  # now, where a lack of memory is an error
            else:
                os.truncate(self._descriptor, size)
        except OSError as error:
            raise MemoryError(
                f"there is no shared memory for a batch of {size} bytes ({error.strerror}): use fewer workers, a "
                "smaller prefetch_factor or smaller batches"
            ) from None
        self._memory = _mapped(self._descriptor, size)
        self._start = _address(self._memory)


class Slot:
    """The loader's side of a slot."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.descriptor = anonymous_memory()
        self._memory = np.empty(0, np.uint8)
        self._start = 0

    def lend(self, size: int, free: Callable[[int], Any]) -> np.ndarray[Any, Any]:
        """Return the slot's bytes; `free` is called with its number when the last array in them is gone."""
        self._map(size)
        # np.asarray keeps what offers the interface alive, and so does every array in the one it returns.
        return np.asarray(_Lease(self._memory, self._start, self.number, free))

    def copy(self, size: int, used: int) -> np.ndarray[Any, Any]:
        """Return a copy of the bytes that are in use."""
        self._map(size)
        return self._memory[:used].copy()

    def _map(self, size: int) -> None:
        if size > self._memory.size:
            self._memory = _mapped(self.descriptor, size)
            self._start = _address(self._memory)

    def close(self) -> None:
        """Give the descriptor back; the memory stays while arrays lie in it."""
        os.close(self.descriptor)


class _Lease:
    """Memory of a slot, and who is told when nobody has it any more."""

    __slots__ = ("__array_interface__", "_free", "_memory", "_number")

    def __init__(self, memory: Any, start: int, number: int, free: Callable[[int], Any]) -> None:
        self._memory, self._number, self._free = memory, number, free
        self.__array_interface__ = {
            "data": (start, False),
            "shape": (memory.size,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        self._free(self._number)


class _Packer(pickle.Pickler):
    """Pickles a batch without its arrays."""

    def __init__(self, stream: io.BytesIO, slot: SlotWriter) -> None:
        super().__init__(stream, 5)
        self._slot = slot

    def persistent_id(self, value: Any) -> Any:
        """Return where a tensor's or an array's values are, and what they are; None for everything else."""
        kind = type(value)
        if kind is Tensor:
            array = value.payload
            if type(array) is not np.ndarray or value._requires_grad or value._grad_fn is not None:
                return None
            # A tensor with a history, or one that learns, is not just its values.
            return self._placed(array, value._names or ())
        # By the very type: classes of somebody's own have more to them than values.
        if kind is np.ndarray or kind is np.memmap:
            return None if value.dtype.hasobject else self._placed(value, None)
        return None

    def _placed(self, array: Any, names: Any) -> Any:
        dtype = array.dtype
        # The usual types by their name; bfloat16 and records have none that NumPy would read again.
        return self._slot.place(array), array.shape, dtype.str if dtype.isbuiltin == 1 else dtype, names


class _Unpacker(pickle.Unpickler):
    """Puts the arrays back into a batch."""

    def __init__(self, stream: io.BytesIO, memory: Any) -> None:
        super().__init__(stream)
        self._memory = memory

    def persistent_load(self, place: Any) -> Any:
        """Return the tensor or array of a place."""
        offset, shape, dtype, names = place
        array: Any = np.ndarray(shape, dtype, self._memory, offset)
        return array if names is None else new(array, names or None)


def pack(batch: Any, slot: SlotWriter) -> bytes:
    """Put a batch's arrays into a slot, and return the rest, pickled."""
    stream = io.BytesIO()
    _Packer(stream, slot).dump(batch)
    return stream.getvalue()


def unpack(body: bytes, memory: np.ndarray[Any, Any]) -> Any:
    """Return the batch that `pack` made `body` of; its arrays lie in `memory`."""
    return _Unpacker(io.BytesIO(body), memory).load()
