"""What is found out about points and the picture that is drawn of them: columns, its quality, a comparison."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from workbench.embedding import Embedding, Projection, Quality
from workbench.embedding.neighbours import Metric
from workbench.live.messages import ScatterQuality
from workbench.live.model import Refused
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
from workbench.widgets.scatter_judged import (
    MOST_UNASKED,
    judge,
    judgeable,
    judged_unasked,
    quality_message,
)
from workbench.widgets.scatter_tasks import Done, Task, Tasks

__all__ = ["Findings", "Found"]

Array = np.ndarray[Any, Any]


class Found(NamedTuple):
    """What is known of a picture at one moment."""

    columns: dict[str, Computed]
    """The same object as long as they are the same."""
    quality: ScatterQuality | None
    compared: Compared | None


class Findings:
    """What was asked about `embedding`, with others `beside` it; `changed` is called when there is something new.

    What was said of one picture is not said of another: it goes when another is drawn.
    """

    def __init__(
        self, embedding: Embedding, beside: Mapping[str, Embedding], changed: Callable[[], None]
    ) -> None:
        self.tasks = Tasks(changed)
        self._embedding = embedding
        self._beside = beside
        self._changed = changed
        self._lock = threading.Lock()
        self._columns: dict[str, Computed] = {}
        self._quality: tuple[Projection, Quality] | None = None
        self._compared: Compared | None = None

    def of(self, projection: Projection) -> Found:
        """Return what is known while `projection` is drawn, and forget what was said of others."""
        with self._lock:
            stale = set()
            if self._quality is not None and self._quality[0] is not projection:
                self._quality = None
            if self._quality is None and TRUST in self._columns:
                stale.add(TRUST)
            compared = self._compared
            if compared is not None:
                other = self._embedding.projections.get(compared.name)
                if not compared.holds(projection, other):
                    self._compared = None
                    stale.add(KEPT)
            if stale:
                self._columns = {name: one for name, one in self._columns.items() if name not in stale}
            quality = quality_message(projection, None if self._quality is None else self._quality[1])
            return Found(self._columns, quality, self._compared)

    @property
    def columns(self) -> dict[str, Computed]:
        """The columns that were computed."""
        return self._columns

    def untold(self, projection: Projection) -> str:
        """Say why a picture is not judged though nobody forbade it; empty where it is, or will be."""
        if self._judged(projection) or judged_unasked(projection) or not judgeable(projection):
            return ""
        least = f"of more than {MOST_UNASKED:,} points trustworthiness is computed when it is asked for"
        return f"not judged: {least}"

    def others(self) -> dict[str, Projection | None]:
        """Return what neighbourhoods can be compared with: embeddings beside this one, and its other pictures."""
        drawn = self._embedding.projection
        return dict.fromkeys(self._beside) | {
            name: one
            for name, one in self._embedding.projections.items()
            if name not in self._beside and one is not drawn and not one.running and not len(one.missing)
        }

    # ------------------------------------------------------------------------------------------- what is asked

    def compute(self, name: str, metric: Metric) -> None:
        """Compute the column called `name`.

        Raises:
            Refused: there is none, or it cannot be computed.
        """
        projection = self._embedding.projection
        assert projection is not None  # the model projects
        if name == DISTANCE:
            self._take({DISTANCE: distance(self._embedding, metric)})
        elif name == CLUSTER:
            self.tasks.begin("clusters", "points", self._cluster)
        elif name == TRUST:
            self.tasks.begin("trustworthiness", "points", lambda task: self._judge(projection, task, True))
        else:
            raise Refused(f"there is no column {name!r} to compute; there are {', '.join(OFFERED)}")

    def measure(self, metric: Metric) -> None:
        """Let distances, where there are any, be those from the point that is selected now."""
        if DISTANCE not in self._columns or not self._embedding.selected:
            return
        try:
            self._take({DISTANCE: distance(self._embedding, metric)})
        # A point without distances: those from the last one stay, and their note says from which.
        except Refused:
            return

    def awaits_judgement(self, projection: Projection) -> bool:
        """Say whether a picture is finished and not judged, and judging it takes not so long that it must be asked."""
        finished = not self._embedding.running and not self._judged(projection)
        return finished and judged_unasked(projection)

    def judge_unasked(self, name: str) -> None:
        """Find out how far the picture called `name` can be trusted, while nothing else is worked on."""
        projection = self._embedding.projection
        if projection is not None and projection.name == name and self.awaits_judgement(projection):
            self.tasks.offer("trustworthiness", "points", lambda task: self._judge(projection, task, False))

    def compare(self, name: str) -> None:
        """Compare with what is called `name`; with nothing where it is empty.

        Raises:
            Refused: there is nothing of that name, or something else is computed.
        """
        if name == "":
            with self._lock:
                self._compared = None
                self._columns = {key: one for key, one in self._columns.items() if key != KEPT}
            self._changed()
            return
        others = self.others()
        if name not in others:
            raise Refused(f"{name!r} is nothing to compare with; there are {', '.join(others) or 'none'}")
        drawn, other = self._embedding.projection, others[name]
        assert drawn is not None  # the model projects

        def work(task: Task) -> Done:
            # A picture is compared with the picture that is drawn, an embedding with the space.
            if other is None:
                spaces = self._embedding.vectors, self._beside[name].vectors
                compared = Compared(name, *spaces, reached=task.reached)
            else:
                compared = Compared(name, drawn.positions, other.positions, (drawn, other), task.reached)
            return lambda: self._take({KEPT: compared.column}, compared=compared)

        self.tasks.begin(f"comparison with {name}", "points", work)

    # --------------------------------------------------------------------------------------------- what is found

    def _cluster(self, task: Task) -> Done:
        found = clusters(self._embedding, lambda phase, done, of: task.reached(done, of, phase))
        return lambda: self._take({CLUSTER: found})

    def _judge(self, projection: Projection, task: Task, column: bool) -> Done:
        known = self._quality
        if known is not None and known[0] is projection:
            found = known[1]
        else:
            found = judge(projection, lambda done, of: self._reached(projection, task, done, of))
        columns = {TRUST: trust(found, projection)} if column else {}
        return lambda: self._take(columns, quality=(projection, found))

    def _reached(self, projection: Projection, task: Task, done: int, of: int) -> None:
        """Say how far judging is; another picture than the one that is drawn is judged for nobody."""
        if self._embedding.projection is not projection:
            task.wanted = False
        task.reached(done, of)

    def _judged(self, projection: Projection) -> bool:
        known = self._quality
        return known is not None and known[0] is projection

    def _take(
        self,
        columns: dict[str, Computed],
        *,
        quality: tuple[Projection, Quality] | None = None,
        compared: Compared | None = None,
    ) -> None:
        """Keep what was found; what is of a picture that is drawn no more goes with the next look, by `of`."""
        with self._lock:
            self._columns = {**self._columns, **columns}
            self._quality = quality or self._quality
            self._compared = compared or self._compared
        self._changed()
