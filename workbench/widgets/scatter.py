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
from workbench.live.follow import following
from workbench.live.messages import (
    CompareWithEvent,
    ComputeColumnEvent,
    Head,
    JudgeEvent,
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
    ScatterState,
    SelectPointsEvent,
    SetNeighboursEvent,
    ShowProjectionEvent,
    StopEvent,
    WriteTableEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.live.selection import selection
from workbench.widgets.base import ViewWidget
from workbench.widgets.scatter_bookmark_states import bookmarks_of, state_of
from workbench.widgets.scatter_bookmarks import check_arrangement, kept, without
from workbench.widgets.scatter_columns import LONGEST
from workbench.widgets.scatter_computed import OFFERED
from workbench.widgets.scatter_density import part_bounds
from workbench.widgets.scatter_drawn import Drawn, label_of
from workbench.widgets.scatter_findings import Findings, Found
from workbench.widgets.scatter_methods import asked_of, offered, project, work_of
from workbench.widgets.scatter_near import Nearest
from workbench.widgets.scatter_page import page, write_beside
from workbench.widgets.scatter_samples import places_of, points_of, same_points, samples_of
from workbench.widgets.scatter_sounds import Sounds
from workbench.widgets.scatter_table import write_table
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
        self._beside = same_points(embedding, beside or {})
        if embedding.projection is None:
            embedding.project()
        self._kept: tuple[tuple[State, ...], list[ScatterBookmark]] | None = None
        self._near = Nearest()
        self._findings = Findings(embedding, self._beside, self.changed)
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
            found = self._findings.of(projection)
            drawn = self._drawn_now(projection, found)
            selected = embedding.selected
            near, refusal = self._near.of(embedding, selected, len(embedding))
            clip = self._clip
        failure = self._findings.tasks.failure or embedding.failure
        if failure:
            refusal = Refusal("project", failure)
        work = self._findings.tasks.now or work_of(embedding, projection)
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
            facts=" · ".join(filter(None, [facts_of(projection), self._findings.untold(projection)])),
            quality=found.quality,
            judges=self._findings.awaits_judgement(projection),
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
            resumes=not embedding.running and embedding.resumable == projection.name,
            others=[name[:LONGEST] for name in self._findings.others()],
            comparison=None if found.compared is None else found.compared.message(selected),
            bookmarks=list(self.bookmarks),
            arrangement=None,
            published=self._published,
            sounds=self._sounds is not None,
            clip=None if clip is None else ScatterClip(clip[0], len(drawn.buffers)),
            refusal=refusal,
        )
        buffers = drawn.buffers if clip is None else (*drawn.buffers, clip[1])
        return Snapshot(state, buffers, ("columns",))

    def _drawn_now(self, projection: Projection, found: Found) -> Drawn:
        drawn = self._drawn
        if drawn is not None and drawn.projection is not projection:
            self._look = None
        elif drawn is not None and drawn.computed is found.columns and drawn.look is self._look:
            return drawn
        self._drawn = Drawn(self._embedding, projection, found.columns, OFFERED, self._look)
        return self._drawn

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
        tasks = self._findings.tasks
        if tasks.now is not None:
            raise Refused(f"{tasks.now.what} is being computed; wait until it is done, or stop it")
        tasks.give_way()
        project(self._embedding, event)

    def _show(self, event: ShowProjectionEvent) -> None:
        try:
            self._embedding.show(event.name)
        except KeyError as error:
            raise Refused(str(error.args[0])) from None

    def _stop(self, event: StopEvent) -> None:
        if self._findings.tasks.now is None and self._embedding.running:
            self._embedding.stop()
        else:
            self._findings.tasks.stop()

    def _resume(self, event: ResumeEvent) -> None:
        try:
            self._embedding.resume(background=True)
        except RuntimeError as error:
            raise Refused(str(error)) from None
        self.changed()

    def _compute(self, event: ComputeColumnEvent) -> None:
        self._findings.compute(event.name, self._near.metric)

    def _judge(self, event: JudgeEvent) -> None:
        # Nobody is told that it came too late: a person has not asked for it.
        self._findings.judge_unasked(event.projection)

    def _compare(self, event: CompareWithEvent) -> None:
        self._findings.compare(event.name)

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
        self._wrote(write_beside(self._embedding.title, "html", lambda p: self.publish(p, event.arrangement)))

    def _write_table(self, event: WriteTableEvent) -> None:
        drawn, found = self._embedding, self._findings.columns
        self._wrote(write_beside(drawn.title, "csv", lambda path: write_table(path, drawn, found)))

    def _wrote(self, path: str) -> None:
        self._published = path
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
        """Return the sample that the first point is that was picked; None where points are no samples."""
        picked = event.indices if isinstance(event, SelectPointsEvent) else []
        return next(iter(self.samples_of(tuple(picked))), None)

    def samples_of(self, points: tuple[int, ...]) -> tuple[int, ...]:
        """Return the samples that points are; () where they are none."""
        return samples_of(self._embedding, points)

    def points_of(self, samples: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the points that are these samples, in their order; None where points are no samples."""
        return points_of(self._embedding, samples)

    def show_sample(self, index: int) -> None:
        """Select the point of a sample that was chosen elsewhere, unless it leads a selection already."""
        found = self.points_of((index,))
        if found is None:
            raise Refused("these points are no samples")
        if self._embedding.selected[:1] != found:
            self.handle(SelectPointsEvent("select_points", list(found)))

    def places_of(self, identity: str) -> tuple[str, ...]:
        """Return the parameter whose channels the points are, and its layer, wherever one of them is picked."""
        return places_of(self._embedding)

    def _follow(self) -> None:
        """Take over what changed in the embedding."""
        chosen = self._embedding.selected
        if chosen != self._selected:
            self._selected = chosen
            # What was selected elsewhere is not told as if it had been picked here: it may be another sample.
            if not following():
                samples = self.samples_of(chosen[:1])
                selection.set(source=self.id, points=chosen, **({"sample": samples[0]} if samples else {}))
            self._findings.measure(self._near.metric)
        self.changed()


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
    JudgeEvent: ScatterModel._judge,
    WriteTableEvent: ScatterModel._write_table,
}


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
