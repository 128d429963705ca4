"""Embeddings as a live view: a cloud of points to turn, search and pick from, and what is asked of it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.embedding import Embedding, Projection
from workbench.embedding.bookmarks import State
from workbench.embedding.columns import Column
from workbench.live.messages import (
    CompareWithEvent,
    ComputeColumnEvent,
    Head,
    LookCloserEvent,
    PlayEvent,
    ProjectEvent,
    PublishEvent,
    Refusal,
    RemoveBookmarkEvent,
    ResumeEvent,
    SaveBookmarkEvent,
    ScatterArrangement,
    ScatterBookmark,
    ScatterClip,
    ScatterQuality,
    ScatterState,
    SelectPointsEvent,
    SetNeighboursEvent,
    ShowProjectionEvent,
    StopEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets.base import ViewWidget
from workbench.widgets.scatter_bookmark_states import bookmarks_of, state_of
from workbench.widgets.scatter_bookmarks import check_arrangement, kept, without
from workbench.widgets.scatter_columns import LONGEST
from workbench.widgets.scatter_compared import KEPT, Compared
from workbench.widgets.scatter_computed import (
    CLUSTER,
    DISTANCE,
    OFFERED,
    TRUST,
    Computed,
    clusters,
    distance,
    trust,
)
from workbench.widgets.scatter_density import part_bounds
from workbench.widgets.scatter_drawn import Drawn, label_of
from workbench.widgets.scatter_methods import asked_of, offered, project, work_of
from workbench.widgets.scatter_near import Nearest
from workbench.widgets.scatter_page import free_name, page
from workbench.widgets.scatter_sounds import Sounds
from workbench.widgets.scatter_tasks import Tasks
from workbench.widgets.scatter_words import CHOSEN, facts_of, frames_of

__all__ = ["ScatterModel", "ScatterWidget", "projector", "scatter"]

Array = np.ndarray[Any, Any]


class ScatterModel(ViewModel):
    """Draws `embedding`, projected by its principal components if it was not projected yet.

    Points picked in the view are ``embedding.selected``, and points selected in Python are selected in the view; both
    are the selection that all views share. `beside` are other embeddings of the same points, by name: the view says
    which neighbours they lose and gain.

    Raises:
        ValueError: the embedding cannot be projected, or an embedding beside it is of other points.
    """

    view = "scatter"

    def __init__(
        self,
        embedding: Embedding,
        source: str = "",
        beside: Mapping[str, Embedding] | None = None,
        sounds: Sounds | None = None,
    ) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._embedding = embedding
        self._source = source
        self._beside = _checked(embedding, beside or {})
        if embedding.projection is None:
            embedding.project()
        self._kept: tuple[tuple[State, ...], list[ScatterBookmark]] | None = None
        self._near = Nearest()
        self._tasks = Tasks(self.changed)
        self._computed: dict[str, Computed] = {}
        self._quality: ScatterQuality | None = None
        self._compared: tuple[str, Compared] | None = None
        self._published = ""
        self._sounds = sounds
        self._clip: tuple[int, bytes] | None = None
        self._drawn: Drawn | None = None
        self._look: LookCloserEvent | None = None
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
    def bookmarks(self) -> list[ScatterBookmark]:
        """Arrangements that were kept, by name: those of the embedding, which a log takes along."""
        states = self._embedding.bookmarks
        if self._kept is None or self._kept[0] is not states:
            self._kept = states, bookmarks_of(states, len(self._embedding))
        return self._kept[1]

    @property
    def embedding(self) -> Embedding:
        """What is drawn."""
        return self._embedding

    @property
    def metric(self) -> str:
        """How the distance of neighbours is measured."""
        return self._near.metric

    # ------------------------------------------------------------------------------------------- what is drawn

    def snapshot(self) -> Snapshot:
        """Return all points, what is known of them, what is selected, and the neighbours of the first selected one."""
        embedding = self._embedding
        projection = embedding.projection
        assert projection is not None  # the constructor projects
        with self._lock:
            drawn = self._drawn_now(projection)
            selected = embedding.selected
            near, refusal = self._near.of(embedding, selected, len(embedding))
            compared, clip = self._compared, self._clip
        failure = self._tasks.failure or embedding.failure
        if failure:
            refusal = Refusal("project", failure)
        work = self._tasks.now or work_of(embedding, projection)
        state = ScatterState(
            kind="scatter",
            head=Head(
                embedding.title[:LONGEST], self._source, drawn.made, work is not None, projection.settings
            ),
            method=projection.method,
            count=drawn.count,
            total=len(embedding),
            dims=projection.positions.shape[1],
            positions_buffer=drawn.positions_buffer,
            positions_coding=drawn.places.coding,
            low=drawn.places.low,
            high=drawn.places.high,
            window=drawn.window,
            explained=[] if projection.method == CHOSEN else list(projection.explained),
            facts=facts_of(projection),
            quality=self._quality,
            label_name=label_of(embedding)[:LONGEST],
            columns=drawn.columns,
            sprite=drawn.sprite,
            selected=list(selected),
            metric=self._near.metric,
            k=self._near.k,
            neighbours=near,
            projections=[name[:LONGEST] for name in embedding.projections],
            projection=projection.name[:LONGEST],
            frames=frames_of(embedding),
            methods=offered(projection),
            asked=asked_of(projection),
            work=work,
            resumes=not embedding.running and projection.iteration < projection.of,
            others=[name[:LONGEST] for name in self._others()],
            comparison=None if compared is None else compared[1].message(compared[0], selected),
            bookmarks=list(self.bookmarks),
            arrangement=None,
            published=self._published,
            sounds=self._sounds is not None,
            clip=None if clip is None else ScatterClip(clip[0], len(drawn.buffers)),
            refusal=refusal,
        )
        buffers = drawn.buffers if clip is None else (*drawn.buffers, clip[1])
        return Snapshot(state, buffers, ("columns",))

    def _drawn_now(self, projection: Projection) -> Drawn:
        drawn = self._drawn
        if (
            drawn is None
            or drawn.projection is not projection
            or drawn.computed is not self._computed
            or drawn.look is not self._look
        ):
            if drawn is not None and drawn.projection is not projection:
                # What was said of the last picture is not said of this one.
                self._quality = None
                self._look = None
                self._computed = {name: one for name, one in self._computed.items() if name != TRUST}
            drawn = self._drawn = Drawn(self._embedding, projection, self._computed, OFFERED, self._look)
        return drawn

    def _others(self) -> dict[str, Array]:
        """Return what neighbourhoods can be compared with: embeddings beside this one, and its other pictures."""
        drawn = self._embedding.projection
        return {name: one.vectors for name, one in self._beside.items()} | {
            name: one.positions
            for name, one in self._embedding.projections.items()
            if one is not drawn and not one.running and not len(one.missing)
        }

    # ------------------------------------------------------------------------------------- what a person does

    def handle(self, event: object) -> None:
        """Do what a person asks of the picture."""
        handler = _HANDLERS.get(type(event))
        if handler is None:
            raise Refused("in a cloud of points one selects, projects, compares and keeps, and nothing else")
        handler(self, event)

    def _select(self, event: SelectPointsEvent) -> None:
        try:
            self._embedding.selected = event.indices
        except IndexError as error:
            raise Refused(str(error)) from None

    def _look_closer(self, event: LookCloserEvent) -> None:
        with self._lock:
            window = None if self._drawn is None else self._drawn.window
            if window is None:
                raise Refused("all points of this cloud are drawn already: there is no closer look at it")
            # Refused here and not when the picture is made, for then nobody would hear of it.
            part_bounds(event, window.whole_low, window.whole_high)
            self._look = event
        self.changed()

    def _set_neighbours(self, event: SetNeighboursEvent) -> None:
        with self._lock:
            self._near.ask(event.metric, event.k)
        self.changed()

    def _project(self, event: ProjectEvent) -> None:
        if self._tasks.now is not None:
            raise Refused(f"{self._tasks.now.what} is being computed; wait until it is done")
        project(self._embedding, event)

    def _show(self, event: ShowProjectionEvent) -> None:
        try:
            self._embedding.show(event.name)
        except KeyError as error:
            raise Refused(str(error.args[0])) from None

    def _stop(self, event: StopEvent) -> None:
        if self._tasks.now is None and self._embedding.running:
            self._embedding.stop()
        else:
            self._tasks.stop()

    def _resume(self, event: ResumeEvent) -> None:
        try:
            self._embedding.resume(background=True)
        except RuntimeError as error:
            raise Refused(str(error)) from None
        self.changed()

    def _compute(self, event: ComputeColumnEvent) -> None:
        projection = self._embedding.projection
        assert projection is not None
        if event.name == DISTANCE:
            self._take({DISTANCE: distance(self._embedding, self._near.metric)})
        elif event.name == CLUSTER:
            self._tasks.begin("clusters", "points", lambda: self._take({CLUSTER: clusters(self._embedding)}))
        elif event.name == TRUST:
            self._tasks.begin("trustworthiness", "points", lambda: self._judge(projection))
        else:
            raise Refused(f"there is no column {event.name!r} to compute; there are {', '.join(OFFERED)}")

    def _judge(self, projection: Projection) -> None:
        column, judged = trust(projection)
        with self._lock:
            # Another may be drawn by now, of which this says nothing.
            if self._embedding.projection is not projection:
                return
            self._quality = judged
        self._take({TRUST: column})

    def _take(self, columns: dict[str, Computed]) -> None:
        with self._lock:
            self._computed = {**self._computed, **columns}
        self.changed()

    def _compare(self, event: CompareWithEvent) -> None:
        if event.name == "":
            with self._lock:
                self._compared = None
                self._computed = {name: one for name, one in self._computed.items() if name != KEPT}
            self.changed()
            return
        others = self._others()
        if event.name not in others:
            raise Refused(
                f"{event.name!r} is nothing to compare with; there are {', '.join(others) or 'none'}"
            )
        other = others[event.name]
        projection = self._embedding.projection
        assert projection is not None
        # A picture is compared with the picture that is drawn, an embedding with the space.
        own = self._embedding.vectors if event.name in self._beside else projection.positions

        def work() -> None:
            compared = Compared(own, other)
            with self._lock:
                self._compared = (event.name, compared)
            note = f"the share of each point's {compared.k} nearest that {event.name} has, too"
            self._take({KEPT: Computed(Column(KEPT, "number", compared.change.kept), note)})

        self._tasks.begin(f"comparison with {event.name}", "points", work)

    def _play(self, event: PlayEvent) -> None:
        if self._sounds is None:
            raise Refused("these points have no sounds: projector(embedding, sounds=clips, rate=16_000)")
        self._clip = (event.point, self._sounds.clip(event.point))
        self.changed()

    def _keep(self, event: SaveBookmarkEvent) -> None:
        self._bookmark(kept(self.bookmarks, event.name, event.arrangement, len(self._embedding)))

    def _remove(self, event: RemoveBookmarkEvent) -> None:
        self._bookmark(without(self.bookmarks, event.name))

    def _bookmark(self, bookmarks: list[ScatterBookmark]) -> None:
        """Keep them with the embedding, which tells all views of it."""
        size = (len(self._embedding), self._embedding.vectors.shape[1])
        self._embedding.bookmarks = [state_of(one, size, place == 0) for place, one in enumerate(bookmarks)]

    def _publish(self, event: PublishEvent) -> None:
        check_arrangement(event.arrangement, len(self._embedding))
        path = free_name(Path.cwd(), self._embedding.title)
        self.publish(path, event.arrangement)
        self._published = str(path)
        self.changed()

    def page(self, arrangement: ScatterArrangement | None = None) -> str:
        """Return the projector as one HTML page that needs neither kernel nor network."""
        return page(self, self._embedding.vectors, arrangement)

    def publish(self, path: str | Path, arrangement: ScatterArrangement | None = None) -> Path:
        """Write the page to a file, and return its path."""
        path = Path(path)
        path.write_text(self.page(arrangement), encoding="utf-8")
        return path

    # --------------------------------------------------------------------------------------- other views

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
            if DISTANCE in self._computed and chosen:
                self._measure()
        self.changed()

    def _measure(self) -> None:
        """Let the distances be those from the point that is selected now."""
        try:
            self._take({DISTANCE: distance(self._embedding, self._near.metric)})
        # A point without distances: those from the last one stay, and their note says from which.
        except Refused:
            return


_HANDLERS: dict[type, Callable[[ScatterModel, Any], None]] = {
    SelectPointsEvent: ScatterModel._select,
    SetNeighboursEvent: ScatterModel._set_neighbours,
    ProjectEvent: ScatterModel._project,
    ShowProjectionEvent: ScatterModel._show,
    ResumeEvent: ScatterModel._resume,
    ComputeColumnEvent: ScatterModel._compute,
    CompareWithEvent: ScatterModel._compare,
    SaveBookmarkEvent: ScatterModel._keep,
    RemoveBookmarkEvent: ScatterModel._remove,
    StopEvent: ScatterModel._stop,
    PlayEvent: ScatterModel._play,
    PublishEvent: ScatterModel._publish,
    LookCloserEvent: ScatterModel._look_closer,
}


def _checked(embedding: Embedding, beside: Mapping[str, Embedding]) -> dict[str, Embedding]:
    for name, other in beside.items():
        if len(other) != len(embedding):
            raise ValueError(
                f"{name!r} has {len(other):,} points and this embedding {len(embedding):,}: only "
                "the same points can be compared"
            )
    return dict(beside)


class ScatterWidget(ViewWidget):
    """An embedding in a cell."""

    def __init__(
        self,
        embedding: Embedding,
        source: str = "",
        beside: Mapping[str, Embedding] | None = None,
        sounds: Sounds | None = None,
        **traits: Any,
    ) -> None:
        own = source or beside or sounds is not None
        model = ScatterModel(embedding, source, beside, sounds) if own else renderers.model_of(embedding)
        super().__init__(model, **traits)

    def publish(self, path: str | Path) -> Path:
        """Write the projector as one HTML page that needs neither kernel nor network, and return its path."""
        assert isinstance(self.model, ScatterModel)  # the constructor gives it
        return self.model.publish(path)


def projector(
    embedding: Embedding,
    *,
    beside: Mapping[str, Embedding] | None = None,
    sounds: Any = None,
    rate: int = 16_000,
) -> ScatterWidget:
    """Show `embedding` in this cell.

    `beside` are other embeddings of the same points to compare it with, by name. `sounds` are a clip for each point,
    [N, samples] or N of [samples], of `rate` samples a second: a picked point is heard with the key s.

    Raises:
        ValueError: an embedding beside it, or the sounds, are of other points.
    """
    heard = None if sounds is None else Sounds(sounds, rate, len(embedding))
    return ScatterWidget(embedding, beside=beside, sounds=heard)


scatter = projector
"""The same by what it draws."""


renderers.register(Embedding, ScatterModel)
