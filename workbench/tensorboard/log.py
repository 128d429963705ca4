"""A TensorBoard log read back: its runs, while they are being written or afterwards."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from workbench.base import events, renderer_lookup
from workbench.base.dims import near_miss
from workbench.embedding import Embedding
from workbench.tensorboard import projector
from workbench.tensorboard.left_out import checkpointed, notes
from workbench.tensorboard.projector_config import (
    CONFIG,
    DamagedProjectorError,
    in_checkpoints,
    read_config,
)
from workbench.tensorboard.run import Run
from workbench.tensorboard.series import Series

__all__ = ["DamagedLogWarning", "Log", "open", "scalars"]

PATTERN = "*tfevents*"
"""Names of event files."""


class DamagedLogWarning(UserWarning):
    """Part of a log could not be read."""


class _Points(NamedTuple):
    """What a folder has for the projector."""

    stamp: tuple[int, int]
    """When its configuration was written, and of how many bytes it is."""
    left: tuple[str, ...]
    """The names of embeddings whose vectors lie in a checkpoint."""
    readable: bool
    """Whether there are others."""


class Log:
    """What the event files of a folder, and of the folders in it, hold: a run for each folder that has some.

    `refresh` reads what was written since; whoever writes need not be asked, and may be any program. A cell shows the
    view of runs, which does so by itself while somebody looks.

    >>> import tempfile, workbench as wb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with wb.tensorboard.SummaryWriter(folder) as writer:
    ...         for step in range(3):
    ...             writer.add_scalar("loss", 1 / (step + 1), step)
    ...     log = wb.tensorboard.open(folder)
    >>> log.runs["."].scalars["loss"].steps.tolist()
    [0, 1, 2]
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs: dict[str, Run] = {}
        """By name, in the order in which they were found: what is new comes last."""
        self.written = 0.0
        """When something was last written into it, in seconds since the epoch."""
        self.lock = threading.RLock()
        """Held while it is read anew; whoever goes through several of its parts beside that takes it."""
        self._points: dict[Path, _Points] = {}
        if not self.folder.exists():
            raise FileNotFoundError(f"there is no log at {self.folder}")
        self.refresh()

    def refresh(self) -> bool:
        """Read what was added since the last time, new runs too; say whether there was anything.

        What is new is published: views of the log draw it.
        """
        with self.lock:
            changed = self._read()
        if changed:
            events.publish(self)
        return changed

    def _read(self) -> bool:
        files: dict[Path, list[Path]] = {}
        for path in [self.folder] if self.folder.is_file() else self.folder.rglob(PATTERN):
            if path.is_file():
                files.setdefault(path.parent, []).append(path)
                self.written = max(self.written, _written(path))
        changed = False
        for folder in sorted(files):
            name = "." if self.folder.is_file() else folder.relative_to(self.folder).as_posix()
            known = name in self.runs
            changed |= self.runs.setdefault(name, Run(name, folder)).read(files[folder]) or not known
        points = {path: self._points_of(path) for path in self._configs()}
        changed |= points != self._points
        self._points = points
        return changed

    def _points_of(self, path: Path) -> _Points:
        """Return what a configuration of the projector names, read anew where it is another file than before."""
        status = path.stat()
        known, stamp = self._points.get(path), (status.st_mtime_ns, status.st_size)
        if known is not None and known.stamp == stamp:
            return known
        try:
            config = read_config(path.parent)
        # Whoever asks for the points is told.
        except DamagedProjectorError:
            return _Points(stamp, (), True)
        left = in_checkpoints(config)
        names = tuple(self._named(path, name) for name in left)
        return _Points(stamp, names, len(left) < len(config.message.embeddings))

    @property
    def problems(self) -> list[str]:
        """One sentence for each part that could not be read, with the file and the place in it."""
        return [one for run in self.runs.values() for one in run.problems]

    @property
    def notes(self) -> list[str]:
        """One sentence for each kind of what the view of runs does not draw, with the reason."""
        with self.lock:
            counts: dict[str, int] = {}
            for run in self.runs.values():
                for kind, count in run.left_out.items():
                    counts[kind] = counts.get(kind, 0) + count
            found = notes(counts, sum(map(len, self.custom_scalars.values())))
            if not self.runs and any(one.readable for one in self._points.values()):
                found.append("there are no runs, only points for the projector: log.projector() draws them")
            left = checkpointed([name for one in self._points.values() for name in one.left])
        return [*found, left] if left else found

    @property
    def custom_scalars(self) -> dict[str, dict[str, list[Any]]]:
        """Layouts of custom charts, those of all runs together: ``{category: {title: [kind, tags]}}``.

        It is what `SummaryWriter.add_custom_scalars` takes. No view draws them; `scalars` has their numbers. Where two
        runs have a chart of one title, that of the first is kept, as in TensorBoard.

        >>> import tempfile, workbench as wb
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with wb.tensorboard.SummaryWriter(folder) as writer:
        ...         writer.add_custom_scalars({"errors": {"both": ["Multiline", ["train", "test"]]}})
        ...     wb.tensorboard.open(folder).custom_scalars
        {'errors': {'both': ['Multiline', ['train', 'test']]}}
        """
        found: dict[str, dict[str, list[Any]]] = {}
        for run in self.runs.values():
            for category, charts in run.custom_scalars.items():
                together = found.setdefault(category, {})
                for title, (kind, tags) in charts.items():
                    together.setdefault(title, [kind, list(tags)])
        return found

    def scalars(self, tags: str = "", runs: str = "") -> dict[tuple[str, str], Series]:
        """Return by run and tag the numbers of those whose names have something that these patterns match.

        Raises ValueError where one is no regular expression.
        """
        wanted, of = _pattern(tags), _pattern(runs)
        return {
            (run.name, tag): series
            for run in self.runs.values()
            if of.search(run.name)
            for tag, series in run.scalars.items()
            if wanted.search(tag)
        }

    def hyperparameters(self) -> list[dict[str, float | str | bool]]:
        """Return a row for each run that was told hyperparameters: its name, these, its scalars' last values."""
        return [
            {
                "run": run.name,
                **run.hyperparameters,
                **{tag: float(series.values[-1]) for tag, series in run.scalars.items() if len(series)},
            }
            for run in self.runs.values()
            if run.hyperparameters
        ]

    def embeddings(self) -> dict[str, Embedding]:
        """Return what was written for the projector, by name: `projector.read` of each folder that has some.

        Those whose vectors lie in a checkpoint are left out, as `notes` says. Raises as `projector.read` does, where
        any is damaged; `projector` reads one alone.
        """
        found, _, damaged = self._parts_of_points()
        if damaged:
            raise damaged[0]
        return projector.read_all(found)

    def _parts_of_points(
        self,
    ) -> tuple[dict[str, Callable[[], Embedding]], list[str], list[DamagedProjectorError]]:
        """Return what reads each embedding, by name, the names of those that a checkpoint has, and what is damaged."""
        found: dict[str, Callable[[], Embedding]] = {}
        left: list[str] = []
        damaged: list[DamagedProjectorError] = []
        for config in self._configs():
            try:
                parts, elsewhere = projector.parts_of(config.parent)
            # Told where it matters: another folder's points are read all the same.
            except DamagedProjectorError as error:
                damaged.append(error)
                continue
            found |= {self._named(config, name): read for name, read in parts.items()}
            left += [self._named(config, name) for name in elsewhere]
        return found, left, damaged

    def _named(self, config: Path, name: str) -> str:
        """Return what an embedding of a folder's configuration is called in the whole log."""
        place = config.parent.relative_to(self._root).as_posix()
        return name if place == "." else f"{place}/{name}"

    @property
    def _root(self) -> Path:
        return self.folder.parent if self.folder.is_file() else self.folder

    def _configs(self) -> list[Path]:
        """Return where points for the projector are."""
        return sorted(path for path in self._root.rglob(CONFIG) if path.is_file())

    def projector(self, name: str = "") -> Embedding:
        """Return the points that were written for the projector under `name`, the only ones where none is given.

        A cell draws them, and no others are read. Raises KeyError where there are none of that name, ValueError where
        there are several to choose from, FileNotFoundError where there are none at all, and as `projector.read` does.
        """
        found, elsewhere, damaged = self._parts_of_points()
        if name not in found and damaged:
            raise damaged[0]
        why = checkpointed([name] if name in elsewhere else elsewhere)
        if not found:
            why = why or (f"its {CONFIG} names none" if self._configs() else f"no {CONFIG} in it")
            raise FileNotFoundError(f"{self.folder} holds no points for the projector: {why}")
        if not name and len(found) > 1:
            raise ValueError(f"log.projector: there are {', '.join(map(repr, found))}; say which")
        name = name or next(iter(found))
        if name not in found:
            near = near_miss(name, found)
            known = ", ".join(map(repr, found))
            if name in elsewhere:
                raise KeyError(
                    f"log.projector: there are no points {name!r} to be read; there are {known}; {why}"
                )
            raise KeyError(
                f"log.projector: there are no points {name!r}"
                + (f"; did you mean {near!r}?" if near else f"; there are {known}")
            )
        return found[name]()

    def __repr__(self) -> str:
        values = sum(len(series) for run in self.runs.values() for series in run.scalars.values())
        tags = {tag for run in self.runs.values() for tag in run.scalars}
        parts = [f"{len(self.runs)} runs, {len(tags)} scalars of {values:,} values"]
        if points := len(self._configs()):
            parts.append(f"points for the projector in {points} {'folder' if points == 1 else 'folders'}")
        if self.problems:
            parts.append(f"{len(self.problems)} problems")
        return f"<log {str(self.folder)!r}: {'; '.join([', '.join(parts), *self.notes])}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return renderer_lookup.mimebundle(self)


def _written(path: Path) -> float:
    """Return when a file was last written; 0 where it is gone since it was found."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None


def open(logdir: str | Path) -> Log:
    """Read the log in a folder (and below), or one event file, of TensorBoard's, whoever wrote it.

    What is damaged is told in `Log.problems`, what a program is still writing is read by `Log.refresh`. Sound and
    meshes are counted and not read, for no view plays or draws them: `Log.notes` says how many. A folder that has only
    points for the projector is a log without runs. Raises FileNotFoundError where there is no folder, or neither event
    files nor points in it.
    """
    log = Log(logdir)
    if not log.runs and not log._configs():
        raise FileNotFoundError(
            f"{log.folder} holds no TensorBoard log: no file in it is called {PATTERN} or {CONFIG}"
        )
    return log


def scalars(logdir: str | Path) -> dict[str, Series]:
    """Return the scalars of a log by tag, those of all runs in it together.

    Where part of it is damaged, a `DamagedLogWarning` says which. Raises FileNotFoundError where there is no log.
    """
    log = open(logdir)
    if log.problems:
        warnings.warn(
            "part of the log could not be read: " + "; ".join(log.problems), DamagedLogWarning, stacklevel=2
        )
    several = len(log.runs) > 1
    return {
        tag if run == "." or not several else f"{run}/{tag}": series
        for (run, tag), series in log.scalars().items()
    }
