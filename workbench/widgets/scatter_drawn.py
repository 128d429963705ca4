"""What of an embedding stays the same while points are picked: places, columns and thumbnails as they travel."""

from __future__ import annotations

import time

from workbench.embedding import Embedding, Projection
from workbench.embedding.thumbnails import lay_out
from workbench.live.messages import Sprite
from workbench.widgets.scatter_columns import Travelling
from workbench.widgets.scatter_computed import Computed
from workbench.widgets.scatter_places import encode_places

__all__ = ["MOST_POINTS", "Drawn"]

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
        if embedding.labels is not None:
            travelling.add(embedding.label_name, embedding.labels[: self.count], label=True)
        for name, values in embedding.metadata.items():
            travelling.add(name, values[: self.count])
        for name, column in computed.items():
            travelling.add(name, column.values[: self.count], column.note, computed=True)
        for name, note in offered.items():
            if name not in computed:
                travelling.offer(name, note)
        self.columns = travelling.messages
        self.buffers = (*buffers, *travelling.buffers)
