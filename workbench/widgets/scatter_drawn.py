"""What of an embedding stays the same while points are picked: places, columns and thumbnails as they travel."""

from __future__ import annotations

import time

from workbench.embedding import Embedding, Projection
from workbench.embedding.columns import Column
from workbench.embedding.thumbnails import lay_out
from workbench.live.messages import Sprite
from workbench.widgets.scatter_columns import Travelling
from workbench.widgets.scatter_computed import Computed
from workbench.widgets.scatter_places import encode_places

__all__ = ["MOST_POINTS", "NAME", "Drawn", "columns_of", "label_of"]

NAME = "name"
"""The column of what points are called."""

MOST_POINTS = 1_000_000
"""Most points that travel to a page, the first ones; the view says how many there are."""


class Drawn:
    """One projection of `embedding`, with the columns `computed` beside those that it came with."""

    def __init__(
        self,
        embedding: Embedding,
        projection: Projection,
        computed: dict[str, Computed],
        offered: dict[str, str],
    ) -> None:
        self.projection = projection
        self.computed = computed
        self.made = time.time()
        self.count = min(len(embedding), MOST_POINTS)
        self.places = encode_places(projection.positions[: self.count])
        self.sprite: Sprite | None = None
        buffers: list[bytes] = [self.places.data]
        if embedding.thumbnails is not None:
            sheet = lay_out(embedding.thumbnails[: self.count])
            self.sprite = Sprite(1, sheet.height, sheet.width, sheet.columns, sheet.rows)
            buffers.append(sheet.image.tobytes())
        travelling = Travelling(len(buffers))
        given = columns_of(embedding)
        for column in given:
            travelling.add(column, self.count)
        taken = {column.name for column in given}
        for name, one in computed.items():
            if name not in taken:
                travelling.add(one.column, self.count, one.note, computed=True)
        for name, note in offered.items():
            if name not in computed and name not in taken:
                travelling.offer(name, note)
        self.columns = travelling.messages
        self.buffers = (*buffers, *travelling.buffers)


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
