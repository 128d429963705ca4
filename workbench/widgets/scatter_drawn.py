"""What of an embedding stays the same while points are picked: places, columns and thumbnails as they travel."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from workbench.embedding import Embedding, Projection
from workbench.embedding.columns import Column
from workbench.embedding.thumbnails import lay_out
from workbench.live.messages import LookCloserEvent, ScatterWindow, Sprite
from workbench.widgets.scatter_columns import Travelling
from workbench.widgets.scatter_computed import Computed
from workbench.widgets.scatter_density import Part, bounds_of, part_bounds, part_of
from workbench.widgets.scatter_places import encode_places

__all__ = ["MOST_POINTS", "NAME", "Drawn", "columns_of", "label_of"]

Array = np.ndarray[Any, Any]

NAME = "name"
"""The column of what points are called."""

MOST_POINTS = 1_000_000
"""Of more points how densely they lie travels to a page, and the points of a part that a person looks at closer."""

ALL_TOGETHER = "many points are drawn as one: look closer, where single points are drawn"


class Drawn:
    """One projection of `embedding`, with the columns `computed` beside those that it came with."""

    def __init__(
        self,
        embedding: Embedding,
        projection: Projection,
        computed: dict[str, Computed],
        offered: dict[str, str],
        look: LookCloserEvent | None = None,
    ) -> None:
        self.projection = projection
        self.computed = computed
        self.made = time.time()
        self.look = look
        self.sprite: Sprite | None = None
        self.window: ScatterWindow | None = None
        self.buffers: tuple[bytes, ...] = ()
        part: Part | None = None
        positions, tiles = projection.positions, embedding.thumbnails
        columns = columns_of(embedding)
        given: list[Column | str] = [*columns]
        if len(embedding) > MOST_POINTS:
            label = next((one for one in columns if one.codes is not None), None)
            part = self._part(positions, label, look)
            positions = part.positions
            tiles = None if tiles is None or part.numbers is None else tiles[part.numbers]
            given = [_within(column, part, label) for column in columns]
        self.count = len(positions)
        self.places = encode_places(positions)
        self.positions_buffer = self._add(self.places.data)
        if tiles is not None and len(tiles):
            sheet = lay_out(tiles)
            channels = 1 if sheet.image.ndim == 2 else 3
            self.sprite = Sprite(
                self._add(sheet.image), channels, sheet.height, sheet.width, sheet.columns, sheet.rows
            )
        travelling = Travelling(len(self.buffers))
        for column in given:
            if isinstance(column, str):
                travelling.leave(column, ALL_TOGETHER)
            else:
                travelling.add(column, self.count)
        taken = {column if isinstance(column, str) else column.name for column in given}
        for name, one in computed.items():
            if name not in taken and part is not None:
                within = _within(one.column, part, None)
                if isinstance(within, str):
                    travelling.leave(within, ALL_TOGETHER)
                else:
                    travelling.add(within, self.count, one.note, computed=True)
            elif name not in taken:
                travelling.add(one.column, self.count, one.note, computed=True)
        for name, note in offered.items():
            if name not in computed and name not in taken:
                travelling.offer(name, note)
        self.columns = travelling.messages
        self.buffers += tuple(travelling.buffers)

    def _part(self, positions: Array, label: Column | None, look: LookCloserEvent | None) -> Part:
        """Return the part that is drawn of a cloud that is too large, and tell of it."""
        whole = bounds_of(positions)
        bounds = whole if look is None else part_bounds(look, *whole)
        codes, labels = (None, 0) if label is None else (label.codes, len(label.categories))
        part = part_of(positions, codes, labels, *bounds, MOST_POINTS)
        self.window = ScatterWindow(
            part.low,
            part.high,
            *whole,
            part.inside,
            None if part.weights is None else self._add(part.weights.astype("<u4")),
            part.cell,
            None if part.numbers is None else self._add(part.numbers.astype("<u4")),
        )
        return part

    def _add(self, buffer: bytes | Array) -> int:
        """Put a buffer beside the others, and return its place among them."""
        self.buffers += (buffer if isinstance(buffer, bytes) else buffer.tobytes(),)
        return len(self.buffers) - 1


def _within(column: Column, part: Part, label: Column | None) -> Column | str:
    """Return a column of what is drawn; its name where many points stand together and have many values."""
    numbers = part.numbers
    if numbers is not None and column.codes is not None:
        values = [column.values[int(one)] for one in numbers]
        return Column(column.name, column.kind, values, column.categories, column.codes[numbers])
    if numbers is not None:
        return column.take(numbers)
    if column is label and part.codes is not None:
        values = [column.categories[int(code)] for code in part.codes]
        return Column(column.name, "category", values, column.categories, part.codes)
    return column.name


def columns_of(embedding: Embedding) -> list[Column]:
    """Return what is known of the points: their labels, their names where these are others, and all columns."""
    columns = list(embedding.columns.values())
    known = {column.name for column in columns}
    names = embedding.names
    own = names != embedding.labels and (len(names) < 2 or names[1] != "1")
    if own and NAME not in known:
        columns.insert(0, Column(NAME, "text", names))
    if embedding.labels is not None and embedding.label_name not in known:
        columns.insert(0, embedding.column(embedding.label_name))
    return columns


def label_of(embedding: Embedding) -> str:
    """Return the column that points are named by: their labels, or their names."""
    if embedding.labels is not None:
        return embedding.label_name
    return NAME if any(column.name == NAME for column in columns_of(embedding)) else ""
