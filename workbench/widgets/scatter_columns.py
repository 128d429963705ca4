"""Columns of metadata as they travel to a page: categories as places, numbers as they are, texts as bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.embedding.columns import Column
from workbench.live.messages import ScatterColumn

__all__ = ["LONGEST", "MOST_BYTES", "Travelling"]

Array = np.ndarray[Any, Any]

LONGEST = 200
"""Most characters of a text that travel."""

MOST_LABELS = 65_535
"""The most distinct labels that a number of two bytes tells apart."""

MOST_BYTES = 24 * 1024 * 1024
"""Most bytes of all columns together that travel."""


class Travelling:
    """Columns as messages, and the buffers that their numbers point into, from `first` on."""

    def __init__(self, first: int) -> None:
        self.messages: list[ScatterColumn] = []
        self.buffers: list[bytes] = []
        self._first = first
        self._size = 0

    def add(self, column: Column, count: int, note: str = "", *, computed: bool = False) -> None:
        """Add the first `count` values of a column; one that does not fit any more is told of."""
        name = column.name[:LONGEST]
        buffers: tuple[Array, ...]
        if column.kind == "number":
            buffers = (_narrow(np.asarray(column.values[:count])),)
            told = ScatterColumn(name, "number", note, [], 0, None)
        elif column.codes is not None and len(column.categories) <= MOST_LABELS:
            values = [value[:LONGEST] for value in column.categories]
            buffers = (column.codes[:count].astype(np.dtype("<u2")),)
            told = ScatterColumn(name, "category", note, values, 0, None)
        else:
            buffers = _texts(column.texts[:count])
            told = ScatterColumn(name, "text", note, [], 0, 1)
        size = sum(one.nbytes for one in buffers)
        if self._size + size > MOST_BYTES and not computed:
            said = f"{size / 1e6:.0f} MB: more than the columns of one picture have room for; Python has it"
            self.messages.append(ScatterColumn(name, "away", said, [], None, None))
            return
        self._size += size
        place = self._first + len(self.buffers)
        self.buffers += [one.tobytes() for one in buffers]
        ends = None if told.ends_buffer is None else place + 1
        self.messages.append(dataclasses.replace(told, buffer=place, ends_buffer=ends))

    def leave(self, name: str, note: str) -> None:
        """Tell of a column that does not travel, and why."""
        self.messages.append(ScatterColumn(name[:LONGEST], "away", note, [], None, None))

    def offer(self, name: str, note: str) -> None:
        """Add a column that is computed when somebody asks for it."""
        self.messages.append(ScatterColumn(name, "offered", note, [], None, None))


def _narrow(values: Array) -> Array:
    """Return numbers as float32, or float64 where that is needed to tell them apart."""
    wide = values.astype(np.dtype("<f8"))
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.dtype("<f4"))
    same = np.array_equal(narrow.astype(np.float64), wide, equal_nan=True)
    return narrow if same else wide


def _texts(texts: Sequence[str]) -> tuple[Array, ...]:
    pieces = [one[:LONGEST].encode() for one in texts]
    ends = np.cumsum([len(one) for one in pieces]).astype(np.dtype("<u4"))
    return np.frombuffer(b"".join(pieces), np.uint8), ends
