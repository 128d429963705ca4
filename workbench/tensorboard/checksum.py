"""CRC-32C of many pieces of bytes at once, as event files have it: masked.

A CRC is linear over bits, so pieces of one length are gone through side by side, a byte of all at a time; a long
piece is cut into short ones, whose checksums are joined.

Source: Castagnoli et al.: Optimization of cyclic redundancy-check codes with 24 and 32 parity bits (1993); RFC 3720.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

__all__ = ["masked"]

Array = np.ndarray[Any, Any]

POLYNOMIAL = 0x82F63B78
"""Castagnoli's, the lowest bit first."""
MASK = 0xA282EAD8
"""What is added to a checksum that is kept beside the data: a checksum of what has checksums in it would be weak."""
LONG = 512
"""Pieces longer than this are cut."""
AT_ONCE = 1 << 16
"""Pieces that are gone through together: their bytes stay in the cache."""


def masked(data: Array, starts: Array, sizes: Array) -> Array:
    """Return the masked checksums, uint32 [pieces], of the pieces of `data`, uint8, at `starts` of `sizes` bytes.

    >>> digits = np.frombuffer(b"123456789", np.uint8)
    >>> whole = int(masked(digits, np.array([0]), np.array([9]))[0]) - MASK & 0xFFFFFFFF
    >>> hex((whole << 15 | whole >> 17) & 0xFFFFFFFF)
    '0xe3069283'
    """
    result = np.zeros(len(starts), np.uint32)
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    ends = np.flatnonzero(np.diff(ordered, append=-1)) + 1
    begin = 0
    for end in ends:
        size = int(ordered[begin])
        for low in range(begin, int(end), AT_ONCE):
            chosen = order[low : min(low + AT_ONCE, int(end))]
            result[chosen] = _same_size(data, starts[chosen], size)
        begin = int(end)
    crc = ~result
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(MASK)


def _same_size(data: Array, starts: Array, size: int) -> Array:
    """Return the states after pieces of one size."""
    state = np.full(len(starts), 0xFFFFFFFF, np.uint32)
    if size <= LONG:
        return _through(state, _columns(data, starts, size))
    # Each piece alone, cut into rows of one length: few pieces are long.
    for i, start in enumerate(starts):
        state[i] = _long(data[start : start + size])
    return state


def _columns(data: Array, starts: Array, size: int) -> Array:
    """Return the bytes [size, pieces], the first of all pieces first."""
    rows = data[starts[:, None] + np.arange(size)]
    return np.ascontiguousarray(rows.T)


def _through(state: Array, columns: Array) -> Array:
    table = _table()
    for column in columns:
        state = table[(state ^ column) & np.uint32(0xFF)] ^ (state >> np.uint32(8))
    return state


def _long(piece: Array) -> int:
    # The row length whose two loops, over bytes and over rows, are about as long.
    length = 1 << max(8, (len(piece).bit_length() + 1) // 2)
    rest = len(piece) % length
    state = np.full(1, 0xFFFFFFFF, np.uint32)
    state = _through(state, piece[:rest].reshape(rest, 1))
    rows = piece[rest:].reshape(-1, length)
    found = _through(np.zeros(len(rows), np.uint32), np.ascontiguousarray(rows.T))
    # A state before a row acts on what comes out as if the row were zeros, beside what the row makes of no state.
    first, second, third, fourth = _over_zeros(length)
    now = int(state[0])
    for one in found.tolist():
        now = first[now & 255] ^ second[now >> 8 & 255] ^ third[now >> 16 & 255] ^ fourth[now >> 24] ^ one
    return now


@cache
def _table() -> Array:
    """Return what each byte makes of the lowest one of a state."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> np.uint32(1)) ^ np.uint32(POLYNOMIAL), table >> np.uint32(1))
    return table.astype(np.uint32)


@cache
def _over_zeros(length: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return what `length` zeros make of a state: a table for each of its four bytes."""
    states = np.concatenate([np.arange(256, dtype=np.uint32) << np.uint32(8 * i) for i in range(4)])
    columns = np.zeros((1, len(states)), np.uint8)
    for _ in range(length):
        states = _through(states, columns)
    first, second, third, fourth = states.reshape(4, 256).tolist()
    return first, second, third, fourth
