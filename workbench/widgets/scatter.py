"""Embeddings as a live view: a cloud of points to turn, search and pick from."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

from workbench.embedding import Embedding, Projection
from workbench.embedding.neighbours import METRICS, Metric, neighbours
from workbench.embedding.thumbnails import lay_out
from workbench.live.messages import (
    Head,
    Neighbour,
    Refusal,
    ScatterState,
    SelectPointsEvent,
    SetMetricEvent,
    Sprite,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets.base import ViewWidget
from workbench.widgets.scatter_places import encode_places

__all__ = ["ScatterModel", "ScatterWidget", "projector", "scatter"]

MOST_POINTS = 1_000_000
"""Most points that travel to a page, the first ones; the view says how many there are."""

MOST_CATEGORIES = 65_536
"""More labels than a number of two bytes can tell apart are not coloured."""

MOST_ROWS = 200
"""Of so many selected points the columns are shown."""

NEIGHBOURS = 12
"""How many neighbours of a picked point are shown."""

LONGEST = 200
"""Most characters of a text that travel."""


class ScatterModel(ViewModel):
    """Draws `embedding`, projected by its principal components if it was not projected yet.

    Points picked in the view are ``embedding.selected``, and points selected in Python are selected in the view; both
    are the selection that all views share.

    Raises:
        ValueError: the embedding cannot be projected.
    """

    view = "scatter"

    def __init__(self, embedding: Embedding, source: str = "") -> None:
        super().__init__()
        if embedding.projection is None:
            embedding.project()
        self._lock = threading.Lock()
        self._embedding = embedding
        self._source = source
        self._metric: Metric = "cosine"
        self._drawn: _Drawn | None = None
        self._near: tuple[object, list[Neighbour], Refusal | None] = (None, [], None)
        # What this view has told the others last.
        self._selected = embedding.selected
        reference = weakref.ref(self)

        def follow(changed: Embedding) -> None:
            model = reference()
            if model is not None:
                model._follow()

        # The embedding must not keep alive who draws it.
        weakref.finalize(self, embedding.listen(follow))

    @property
    def embedding(self) -> Embedding:
        """What is drawn."""
        return self._embedding

    @property
    def metric(self) -> Metric:
        """How the distance of neighbours is measured."""
        return self._metric

    def snapshot(self) -> Snapshot:
        """Return all points, what is selected, and the neighbours of the first selected point."""
        embedding = self._embedding
        projection = embedding.projection
        assert projection is not None  # the constructor projects
        with self._lock:
            if self._drawn is None or self._drawn.projection is not projection:
                self._drawn = _Drawn(embedding, projection)
            drawn, selected, metric = self._drawn, embedding.selected, self._metric
            near, refusal = self._neighbours(selected, metric, drawn.count)
        state = ScatterState(
            kind="scatter",
            head=Head(embedding.title[:LONGEST], self._source, drawn.made, False, drawn.code),
            method=projection.method,
            count=drawn.count,
            total=len(embedding),
            dims=projection.positions.shape[1],
            positions_buffer=0,
            positions_coding=drawn.places.coding,
            low=drawn.places.low,
            high=drawn.places.high,
            explained=list(projection.explained),
            categories=drawn.categories,
            category_buffer=1 if drawn.categories else None,
            label_name=embedding.label_name[:LONGEST] if drawn.categories else "",
            sprite=drawn.sprite,
            columns=[name[:LONGEST] for name in drawn.columns],
            rows=[
                [values[index][:LONGEST] for values in drawn.columns.values()]
                for index in selected[:MOST_ROWS]
            ],
            selected=list(selected),
            metric=metric,
            neighbours=near,
            refusal=refusal,
        )
        return Snapshot(state, drawn.buffers)

    def _neighbours(
        self, selected: tuple[int, ...], metric: Metric, count: int
    ) -> tuple[list[Neighbour], Refusal | None]:
        """Return the neighbours of the first selected point among those drawn, or why there are none."""
        key = (selected[:1], metric, count)
        if self._near[0] != key:
            found: list[Neighbour] = []
            refusal = None
            # The others are not drawn, and have no neighbours that are.
            if selected and selected[0] < count:
                try:
                    near = neighbours(self._embedding.vectors[:count], selected[0], NEIGHBOURS, metric)
                # A point that is zero, or not finite, is near nothing.
                except ValueError as error:
                    refusal = Refusal("select_points", str(error))
                else:
                    pairs = zip(near.indices.tolist(), near.distances.tolist(), strict=True)
                    found = [Neighbour(index, distance) for index, distance in pairs]
            self._near = (key, found, refusal)
        return self._near[1], self._near[2]

    def handle(self, event: object) -> None:
        """Select points, or measure distances in another way."""
        if isinstance(event, SelectPointsEvent):
            try:
                self._embedding.selected = event.indices
            except IndexError as error:
                raise Refused(str(error)) from None
        elif isinstance(event, SetMetricEvent):
            if event.metric not in METRICS:
                raise Refused(f"there is no metric {event.metric!r}; there are {', '.join(METRICS)}")
            with self._lock:
                self._metric = event.metric
            self.changed()
        else:
            raise Refused("in a cloud of points one selects points, or another metric, and nothing else")

    def sample_of(self, event: object) -> int | None:
        """Return the first point that was picked."""
        return event.indices[0] if isinstance(event, SelectPointsEvent) and event.indices else None

    def show_sample(self, index: int) -> None:
        """Select the point of a sample that was chosen elsewhere, unless it leads a selection already."""
        if self._embedding.selected[:1] != (index,):
            self.handle(SelectPointsEvent("select_points", [index]))

    def _follow(self) -> None:
        """Take over what changed in the embedding."""
        chosen = self._embedding.selected
        if chosen != self._selected:
            self._selected = chosen
            # A point of an embedding is a sample of what was embedded.
            sample = {"sample": chosen[0]} if chosen else {}
            selection.set(source=self.id, points=chosen, **sample)
        self.changed()


class _Drawn:
    """What of an embedding stays the same while points are selected."""

    def __init__(self, embedding: Embedding, projection: Projection) -> None:
        self.projection = projection
        self.made = time.time()
        self.count = min(len(embedding), MOST_POINTS)
        dims = projection.positions.shape[1]
        self.code = f"embedding.project({projection.method.lower()!r}, dims={dims})"
        self.places = encode_places(projection.positions[: self.count])
        self.buffers: tuple[bytes, ...] = (self.places.data,)
        self.columns = dict(embedding.metadata)
        self.categories: list[str] = []
        self.sprite: Sprite | None = None
        if embedding.codes is not None and len(embedding.categories) <= MOST_CATEGORIES:
            self.categories = [label[:LONGEST] for label in embedding.categories]
            self.buffers += (embedding.codes[: self.count].astype("<u2").tobytes(),)
        # Labels that are too many for colours can still be read as a column.
        elif embedding.labels is not None:
            self.columns = {embedding.label_name: embedding.labels, **self.columns}
        if embedding.thumbnails is not None:
            sheet = lay_out(embedding.thumbnails[: self.count])
            self.sprite = Sprite(len(self.buffers), sheet.height, sheet.width, sheet.columns, sheet.rows)
            self.buffers += (sheet.image.tobytes(),)


class ScatterWidget(ViewWidget):
    """An embedding in a cell."""

    def __init__(self, embedding: Embedding, source: str = "", **traits: Any) -> None:
        super().__init__(
            ScatterModel(embedding, source) if source else renderers.model_of(embedding), **traits
        )


def projector(embedding: Embedding) -> ScatterWidget:
    """Show `embedding` in this cell."""
    return ScatterWidget(embedding)


scatter = projector
"""The same by what it draws."""


renderers.register(Embedding, ScatterModel)
