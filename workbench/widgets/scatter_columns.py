"""Columns of metadata as they travel to a page: categories as places, numbers as they are, texts as bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.live.messages import ScatterColumn

__all__ = ["LONGEST", "MOST_TEXT", "Travelling"]

Array = np.ndarray[Any, Any]

LONGEST = 200
"""Most characters of a text that travel."""

MOST_CATEGORIES = 5_000
"""Columns with more distinct values than this are texts: nobody hides and shows so many by hand."""

FEW = 20
"""So many distinct values are categories however few points there are; more of them must come twice on average."""

MOST_LABELS = 65_535
"""The most distinct labels that a number of two bytes tells apart."""

MOST_TEXT = 24 * 1024 * 1024
"""Most bytes of all columns together that travel."""


class Travelling:
    """Columns as messages, and the buffers that their numbers point into, from `first` on."""

    def __init__(self, first: int) -> None:
        self.messages: list[ScatterColumn] = []
        self.buffers: list[bytes] = []
        self._first = first
        self._size = 0

    def add(
        self,
        name: str,
        values: Sequence[Any] | Array,
        note: str = "",
        *,
        computed: bool = False,
        label: bool = False,
    ) -> None:
        """Add a column of as many values as there are points; one that does not fit any more is told of.

        A `label` is a category, if only it has not more distinct values than can be told apart.
        """
        array = None if label else _numbers(values)
        if array is not None:
            buffers, column = (array,), ScatterColumn(name[:LONGEST], "number", note, [], 0, None)
        else:
            texts = [str(one)[:LONGEST] for one in values]
            buffers, column = _texts(name[:LONGEST], texts, note, label)
        size = sum(one.nbytes for one in buffers)
        if self._size + size > MOST_TEXT and not computed:
            size_mb = size / 1e6
            said = (
                f"{size_mb:.0f} MB: more than the columns of one picture; Python has it in embedding.metadata"
            )
            self.messages.append(ScatterColumn(name[:LONGEST], "away", said, [], None, None))
            return
        self._size += size
        place = self._first + len(self.buffers)
        self.buffers += [one.tobytes() for one in buffers]
        ends = None if column.ends_buffer is None else place + 1
        self.messages.append(ScatterColumn(column.name, column.kind, note, column.values, place, ends))

    def offer(self, name: str, note: str) -> None:
        """Add a column that is computed when somebody asks for it."""
        self.messages.append(ScatterColumn(name, "offered", note, [], None, None))


def _numbers(values: Sequence[Any] | Array) -> Array | None:
    """Return values as float32, or float64 where that is needed to tell them apart; None if they are no numbers."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None:
        if not all(isinstance(one, int | float | np.number) and not isinstance(one, bool) for one in values):
            return None
        array = np.asarray(values, np.float64)
    if array.dtype.kind not in "fiu":
        return None
    wide = array.astype(np.dtype("<f8"))
    narrow = wide.astype(np.dtype("<f4"))
    same = np.array_equal(narrow.astype(np.float64), wide, equal_nan=True)
    return narrow if same else wide


def _texts(name: str, texts: list[str], note: str, label: bool) -> tuple[tuple[Array, ...], ScatterColumn]:
    distinct = sorted(set(texts), key=_order)
    few = len(distinct) <= MOST_CATEGORIES and len(distinct) <= max(FEW, len(texts) // 2)
    if few or (label and len(distinct) <= MOST_LABELS):
        place = {value: code for code, value in enumerate(distinct)}
        codes = np.array([place[one] for one in texts], np.dtype("<u2"))
        return (codes,), ScatterColumn(name, "category", note, distinct, 0, None)
    pieces = [one.encode() for one in texts]
    ends = np.cumsum([len(one) for one in pieces]).astype(np.dtype("<u4"))
    return (np.frombuffer(b"".join(pieces), np.uint8), ends), ScatterColumn(name, "text", note, [], 0, 1)


def _order(text: str) -> tuple[bool, float, str]:
    """Return what values are sorted by: numbers by their size, before texts."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return (False, number, text) if math.isfinite(number) else (True, 0.0, text)
