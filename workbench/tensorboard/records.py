"""The records of an event file: found, checked, and given as places in blocks of bytes, many at a time.

A file is one record after the other: the length of the data as eight bytes, a checksum of these, the data, and a
checksum of that, numbers with the low byte first (TensorFlow's ``TFRecord``). Checksums are CRC-32C, masked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.tensorboard.checksum import masked

__all__ = ["FOOTER", "HEADER", "MAXIMUM_RECORD", "Block", "blocks"]

Array = np.ndarray[Any, Any]

HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")
MAXIMUM_RECORD = 256 << 20
"""Largest record, in bytes, that is believed."""
BLOCK = 32 << 20
"""Bytes that are read at a time."""


@dataclass
class Block:
    """Whole records that were read at once."""

    data: Array
    """uint8: the bytes."""
    starts: Array
    """int64 [records]: where the data of each that is right begins in `data`."""
    sizes: Array
    """int64 [records]: how long it is."""
    offset: int
    """Where in the file `data` begins."""
    end: int
    """Where in the file reading goes on."""
    problems: list[str]
    """One sentence for each part that could not be read, with its place."""
    waiting: str = ""
    """What is wrong with the end of the file, which a program that still writes may put right."""
    lost: bool = False
    """Whether nothing behind `end` can be found."""


def blocks(path: Path, start: int = 0) -> Iterator[Block]:
    """Yield the records of a file from byte `start` on, up to the first whose length is damaged.

    Raises OSError where the file cannot be read.
    """
    with path.open("rb") as stream:
        stream.seek(start)
        rest = b""
        while True:
            size = path.stat().st_size
            # A record longer than a block is read whole, if it is believed and there.
            wanted = max(BLOCK, _wanted(rest) - len(rest))
            read = stream.read(wanted)
            data = rest + read
            if not data:
                return
            block = _block(path, data, start, size, last=len(read) < wanted)
            yield block
            start, rest = block.end, data[block.end - start :]
            if len(read) < wanted or block.lost:
                return


_LOST = "the rest of the file cannot be found"


def _wanted(rest: bytes) -> int:
    """Return how many bytes the record takes whose first are `rest`; 0 where its head is not there or not believed."""
    if len(rest) < HEADER.size:
        return 0
    length = int(HEADER.unpack_from(rest)[0])
    return HEADER.size + length + FOOTER.size if length <= MAXIMUM_RECORD else 0


def _block(path: Path, data: bytes, offset: int, size: int, last: bool) -> Block:
    """Find the records in `data`, the bytes of a file from `offset` on; `last` if the file has no more."""
    found: list[int] = []
    lengths: list[int] = []
    at, there = 0, len(data)
    unpack, head, foot = HEADER.unpack_from, HEADER.size, FOOTER.size
    checks: list[int] = []
    while at + head <= there:
        length, check = unpack(data, at)
        behind = at + head + length + foot
        # Its checksum is looked at below, for all heads at once; one that is damaged mostly leads out of the file.
        if length > MAXIMUM_RECORD or behind > there:
            break
        found.append(at)
        lengths.append(length)
        checks.append(check)
        at = behind
    block = np.frombuffer(data, np.uint8)
    starts, sizes = np.asarray(found, np.int64), np.asarray(lengths, np.int64)
    heads = np.array(checks, np.uint32) == masked(block, starts, np.full(len(starts), 8))
    waiting, lost = "", False
    if not heads.all():
        first = int(np.argmin(heads))
        at = found[first]
        starts, sizes = starts[:first], sizes[:first]
        waiting, lost = _damaged_head(path, offset + at, size), True
    elif at < there:
        waiting, lost = _unfinished(path, data[at : at + head], offset + at, size, last)
    bodies = starts + head
    stored = _words(block, bodies + sizes)
    right = masked(block, bodies, sizes) == stored
    # Their lengths were right, so reading goes on behind them.
    problems = [
        f"{path}, byte {offset + place} of {size}: this record is damaged (checksum), it is left out"
        for place in starts[~right].tolist()
    ]
    if lost:
        problems, waiting = [*problems, waiting], ""
    return Block(block, bodies[right], sizes[right], offset, offset + at, problems, waiting, lost)


def _damaged_head(path: Path, place: int, size: int) -> str:
    return f"{path}, byte {place} of {size}: the length of this record is damaged, {_LOST}"


def _unfinished(path: Path, head: bytes, place: int, size: int, last: bool) -> tuple[str, bool]:
    """Return what is wrong with a record that is not whole in what was read, and whether it leads nowhere."""
    where = f"{path}, byte {place} of {size}"
    if len(head) < HEADER.size:
        return (f"{where}: the file ends within the head of a record" if last else ""), False
    length, check = HEADER.unpack(head)
    if masked(np.frombuffer(head, np.uint8), np.zeros(1, np.int64), np.full(1, 8))[0] != check:
        return _damaged_head(path, place, size), True
    needed, left = length + FOOTER.size, size - place - HEADER.size
    missing = f"{where}: this record takes {needed} bytes more and the file has {left} left"
    if length > MAXIMUM_RECORD:
        return missing, True
    return (missing if last else ""), False


def _words(block: Array, places: Array) -> Array:
    """Return the four bytes at each place as one number."""
    word = np.zeros(len(places), np.uint32)
    for i in range(FOOTER.size):
        word |= block[places + i].astype(np.uint32) << np.uint32(8 * i)
    return word
