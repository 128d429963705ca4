"""The pictures of points: projections that are made, shown, stopped and resumed."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self, cast

from workbench.base import events
from workbench.embedding.methods import Outcome
from workbench.embedding.projecting import Plan, plan
from workbench.embedding.projection import Projection
from workbench.embedding.runs import Frame, Run

if TYPE_CHECKING:
    from workbench.embedding.embedding import Embedding

__all__ = ["Pictures"]


class Pictures(ABC):
    """What an `Embedding` has of projections: all that were made, which one is drawn, and which one runs."""

    def __init__(self) -> None:
        self.projection = None
        self.projections = {}
        self.failure = ""
        self._current = ""
        self._running = ""
        self._run: Run[Outcome] | None = None
        self._lock = threading.RLock()

    projection: Projection | None
    """What is drawn: the newest, or the one that `show` was given."""
    projections: dict[str, Projection]
    """Every projection that was made, by name; of one that is running the newest frame."""
    failure: str
    """Why the last projection in the background came to nothing; '' where it did not."""

    @abstractmethod
    def _tell(self) -> None:
        """Say that something changed."""

    def project(
        self,
        method: str = "pca",
        dims: int | None = None,
        *,
        name: str = "",
        missing: str = "refuse",
        sample: int | None = None,
        sphereize: bool = False,
        background: bool = False,
        **settings: Any,
    ) -> Self:
        """Find where the points lie in a picture of 2 or 3 dims, publish that to the views, and return self.

        ``pca``: principal components, exact; with ``solver="randomized"`` nearly so. ``tsne``, ``umap``, ``densmap``:
        by openTSNE and umap-learn (``pip install 'tensor-workbench[embedding]'``), whose settings they take; t-SNE from
        exact neighbours (Euclid, cosine), and where a method found them approximately the picture says so;
        ``supervised=True``, or a column's name, lets UMAP part what has other labels. ``axes``: ``axes=[(from, to),
        …]``, or a dict of such by name, each end a name or number of a point, several of them, or a vector.
        ``given``: ``positions=`` [N, dims] as they are.

        Methods that iterate show their frames while they run, in this cell, or with `background` in a thread; `stop`,
        `resume` and `wait` go with them. An interrupt keeps what there is. `sphereize` moves the mean to 0 and makes
        every vector one of length 1. ``missing="drop"`` leaves points out that hold NaN or infinite values. `sample`
        makes the picture of so many points, drawn evenly, and it says so. Positions to begin with (UMAP's ``init=``,
        t-SNE's ``initialization=``: an array or tensor) are of the points in the picture, or of all, and then taken by
        row. `name` is the projection's in `projections`. Fewer points than dims + 1 have fewer directions: PCA's other
        axes are 0 then, and the picture says so.

        Raises:
            ValueError: there is no such method, dims are not 2 or 3, points hold NaN or infinite values, which are
            counted, positions are too large or small for a picture (float32), or settings do not fit the points; an
            earlier projection stays.
            TypeError: the method has no such setting.
            UnavailableError: a library is not installed; the words say how it is.
            RuntimeError: another projection is running.
        """
        made = plan(cast("Embedding", self), method, dims, name, missing, sample, sphereize, settings)
        with self._lock:
            if self._run is not None and self._run.running:
                raise RuntimeError(
                    "a projection is running: embedding.stop() it, or embedding.wait() for it, first"
                )
            if self._run is not None:
                self._run.abandon()
            self._run, self.failure = None, ""
        if not made.method.iterative:
            projection = made.finished(made.method.run(made.problem, lambda *now: None))
            self._current = made.name
            self._put(projection)
            return self
        before, self._current = self._current, made.name
        self._run, self._running = self._made_run(made, before), made.name
        # Nobody waits for the positions of an embedding that is gone.
        weakref.finalize(self, self._run.abandon)
        self._run.start(background)
        return self

    def _made_run(self, made: Plan, before: str) -> Run[Outcome]:
        reference = weakref.ref(self)
        earlier = self.projections.get(made.name)

        def show(frame: Frame) -> None:
            if (embedding := reference()) is not None:
                embedding._put(made.shown(frame))

        def done(outcome: Outcome) -> None:
            if (embedding := reference()) is not None:
                embedding._put(made.finished(outcome))

        def failed(error: BaseException) -> None:
            if (embedding := reference()) is not None:
                embedding._take_back(made.name, earlier, before, f"{made.method.title}: {error}")

        return Run(lambda report: made.method.run(made.problem, report), show, done, failed)

    def _put(self, projection: Projection) -> None:
        """Show a projection, or keep it where another was chosen meanwhile."""
        with self._lock:
            self.projections[projection.name] = projection
            if self._current == projection.name:
                self.projection = projection
        self._tell()
        events.publish(self)

    def _take_back(self, name: str, earlier: Projection | None, before: str, why: str) -> None:
        """Forget what a method that failed has shown."""
        with self._lock:
            self.projections.pop(name, None)
            if earlier is not None:
                self.projections[name] = earlier
            if self._current == name:
                self._current = before
                self.projection = self.projections.get(before)
            self.failure = why
        self._tell()
        events.publish(self)

    def show(self, name: str) -> Self:
        """Draw the projection of `projections` that is called so; KeyError where there is none."""
        with self._lock:
            if name not in self.projections:
                raise KeyError(
                    f"there is no projection {name!r}; there are {', '.join(self.projections) or 'none yet'}"
                )
            self._current, self.projection = name, self.projections[name]
        self._tell()
        events.publish(self)
        return self

    @property
    def running(self) -> bool:
        """Whether a projection is running."""
        return self._run is not None and self._run.running

    def stop(self) -> Self:
        """Hold the projection that is running at its next step; `resume` goes on from there."""
        if self._run is not None:
            self._run.stop()
        return self

    @property
    def resumable(self) -> str:
        """The name of the projection that `resume` goes on with; '' where none was stopped."""
        run = self._run
        return self._running if run is not None and run.stopped else ""

    def resume(self, background: bool = False) -> Self:
        """Go on with the projection that was stopped or interrupted, exactly as if it never had been.

        Raises:
            RuntimeError: none was.
        """
        if self._run is None or not self._run.stopped:
            raise RuntimeError("no projection was stopped" + (": it is running" if self.running else ""))
        self._run.resume(background)
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait, at most `timeout` seconds, until no projection is running; say whether none is."""
        return self._run is None or self._run.wait(timeout)
