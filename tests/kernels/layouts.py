"""The ways in which NumPy can lay an array out in memory, each between bytes that nobody may read or write.

A *layout* takes an array and returns one of the same shape and type that lies otherwise. Most keep its values; a
broadcast or overlapping one cannot, and says so by `keeps_values`.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

__all__ = ["LAYOUTS", "Guarded", "Layout", "at_the_edge", "guarded"]

Array = Any
PAGE = mmap.PAGESIZE
PROT_NONE = 0
GUARD = 4096
"""Bytes in front of and behind an array: more than any kernel takes at once, for several rows ahead."""


class Guarded:
    """An array between guards; `check` says whether its memory is what it was."""

    def __init__(self, array: Array, arena: Array, owner: Any) -> None:
        self.array, self._arena, self._owner = array, arena, owner
        self._before = arena.tobytes()

    def check(self) -> bool:
        """Say whether neither the array nor what lies around it was written to."""
        return bool(self._arena.tobytes() == self._before)


def guarded(dtype: np.dtype[Any], size: int, odd: int = 0) -> tuple[Array, Array]:
    """Return `size` values of `dtype` and the bytes that hold them and their guards.

    The guards are what does most harm when it is read: NaN in floats, numbers far out of bounds in integers.
    """
    place = GUARD + odd
    arena = np.empty(place + size * dtype.itemsize + GUARD, np.uint8)
    arena[:] = 0xFF if dtype.kind in "fcV" else 0x7E  # all bits set is NaN in every type of floats
    return arena[place : place + size * dtype.itemsize].view(dtype), arena


_libc = ctypes.CDLL(None, use_errno=True)


def at_the_edge(array: Array, behind: bool = True) -> tuple[Array, Array]:
    """Return a copy of `array` that ends where a page begins (or begins where one ends) that nobody may touch."""
    bytes_ = max(array.nbytes, 1)
    pages = -(-bytes_ // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = whole.ctypes.data
    for closed in (start, start + (pages + 1) * PAGE):
        if _libc.mprotect(ctypes.c_void_p(closed), ctypes.c_size_t(PAGE), PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    arena = whole[PAGE : (pages + 1) * PAGE]
    arena[:] = 0xFF
    place = pages * PAGE - array.nbytes if behind else 0
    result = arena[place : place + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result, arena


@dataclass(frozen=True)
class Layout:
    """One way to lie in memory."""

    name: str
    make: Callable[[Array], tuple[Array, Array]]
    """Array to (array, the bytes that it and its guards lie in)."""
    keeps_values: bool = True

    def __call__(self, array: Array) -> Guarded:
        """Lay `array` out so."""
        made, arena = self.make(array)
        assert made.shape == array.shape and made.dtype == array.dtype, self.name
        return Guarded(made, arena, arena)


def _ordered(array: Array, order: tuple[int, ...]) -> tuple[Array, Array]:
    """Return a copy whose dims lie in memory from slow to fast as `order` says."""
    flat, arena = guarded(array.dtype, array.size)
    made = flat.reshape([array.shape[i] for i in order]).transpose(np.argsort(order))
    made[...] = array
    return made, arena


def _row_major(array: Array) -> tuple[Array, Array]:
    return _ordered(array, tuple(range(array.ndim)))


def _column_major(array: Array) -> tuple[Array, Array]:
    return _ordered(array, tuple(range(array.ndim))[::-1])


def _channels_last(array: Array) -> tuple[Array, Array]:
    dims = tuple(range(array.ndim))
    return _ordered(array, (*dims[:1], *dims[2:], *dims[1:2]))


def _last_two_swapped(array: Array) -> tuple[Array, Array]:
    dims = tuple(range(array.ndim))
    return _ordered(array, (*dims[:-2], *dims[-2:][::-1]))


def _stepped(array: Array, steps: Callable[[int], int]) -> tuple[Array, Array]:
    """Return a copy that lies in a larger array, `steps(dim)` apart; what lies between is guard."""
    by = [steps(i) for i in range(array.ndim)]
    large = [size * abs(step) + 1 for size, step in zip(array.shape, by, strict=True)]
    flat, arena = guarded(array.dtype, math.prod(large))
    flat.view(np.uint8)[:] = arena[0]
    made = flat.reshape(large)[
        tuple(slice(0, size * step, step) for size, step in zip(array.shape, map(abs, by), strict=True))
    ]
    made = made[tuple(slice(None, None, -1 if step < 0 else 1) for step in by)]
    if array.ndim == 0:
        made = flat[:1].reshape(())
    made[...] = array
    return made, arena


def _unaligned(array: Array) -> tuple[Array, Array]:
    flat, arena = guarded(array.dtype, array.size, odd=1)
    made = flat.reshape(array.shape)
    made[...] = array
    return made, arena


def _field(array: Array) -> tuple[Array, Array]:
    """Return a field of records whose size is no multiple of the value's: strides are no whole number of values."""
    record = np.dtype([("before", "u1"), ("value", array.dtype), ("behind", "u1", 2)])
    flat, arena = guarded(np.dtype(np.uint8), array.size * record.itemsize)
    made = flat.view(record)["value"].reshape(array.shape)
    made[...] = array
    return made, arena


def _read_only(array: Array) -> tuple[Array, Array]:
    made, arena = _row_major(array)
    made.flags.writeable = False
    return made, arena


def _broadcast(dim: int) -> Callable[[Array], tuple[Array, Array]]:
    def make(array: Array) -> tuple[Array, Array]:
        if not array.size or not -array.ndim <= dim < array.ndim:
            return _row_major(array)
        one, arena = _row_major(array.take([0], axis=dim))
        return np.broadcast_to(one, array.shape), arena

    return make


def _one_value(array: Array) -> tuple[Array, Array]:
    if not array.size:
        return _row_major(array)
    one, arena = _row_major(array.reshape(-1)[:1].reshape(()))
    return np.broadcast_to(one, array.shape), arena


def _overlapping(array: Array) -> tuple[Array, Array]:
    """Return windows over one run of values: all strides are one value."""
    if not array.size:
        return _row_major(array)
    run = sum(size - 1 for size in array.shape) + 1
    flat, arena = guarded(array.dtype, run)
    flat[...] = np.resize(array.reshape(-1), run)
    return as_strided(flat, array.shape, (array.itemsize,) * array.ndim), arena


def _sliding(array: Array) -> tuple[Array, Array]:
    """Return rows that begin one value after each other; what is in front of them lies as usual."""
    if array.ndim < 2 or not array.size:
        return _row_major(array)
    *outer, rows, columns = array.shape
    flat, arena = guarded(array.dtype, math.prod(outer) * (rows + columns - 1))
    flat[...] = np.resize(array.reshape(-1), flat.size)
    base = flat.reshape([*outer, rows + columns - 1])
    return as_strided(base, array.shape, (*base.strides[:-1], array.itemsize, array.itemsize)), arena


LAYOUTS = (
    Layout("row major", _row_major),
    Layout("column major", _column_major),
    Layout("channels last", _channels_last),
    Layout("last two swapped", _last_two_swapped),
    Layout("every second", lambda array: _stepped(array, lambda dim: 2)),
    Layout("every third of the first", lambda array: _stepped(array, lambda dim: 3 if dim == 0 else 1)),
    Layout("part of wider rows", lambda array: _stepped(array, lambda dim: 1)),
    Layout("backwards", lambda array: _stepped(array, lambda dim: -1)),
    Layout("backwards by twos", lambda array: _stepped(array, lambda dim: -2 if dim % 2 else 1)),
    Layout("unaligned", _unaligned),
    Layout("field of records", _field),
    Layout("read-only", _read_only),
    Layout("up to a closed page", at_the_edge),
    Layout("from a closed page on", lambda array: at_the_edge(array, behind=False)),
    Layout("first dim broadcast", _broadcast(0), keeps_values=False),
    Layout("second dim broadcast", _broadcast(1), keeps_values=False),
    Layout("last dim broadcast", _broadcast(-1), keeps_values=False),
    Layout("one value", _one_value, keeps_values=False),
    Layout("overlapping", _overlapping, keeps_values=False),
    Layout("sliding rows", _sliding, keeps_values=False),
)
"""All of them; mixed among several operands by those who use them."""

assert ml_dtypes.bfloat16  # NumPy learns its kind "V" from it
