"""One run of a log: what a program wrote into the event files of a folder, by tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.layout_pb2 import Layout
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData
from tensorboardX.proto.plugin_mesh_pb2 import MeshPluginData

from workbench.tensorboard.layouts import scalars
from workbench.tensorboard.left_out import notes
from workbench.tensorboard.records import Block, blocks
from workbench.tensorboard.series import (
    Histogram,
    Histograms,
    Pictures,
    Place,
    PrecisionRecall,
    Series,
    Texts,
)
from workbench.tensorboard.tensors import array_of

__all__ = ["Run"]

Array = np.ndarray[Any, Any]


@dataclass
class _File:
    """How far a file is read."""

    path: Path
    end: int = 0
    problems: list[str] = field(default_factory=list)
    waiting: str = ""
    lost: bool = False
    """Whether nothing behind `end` can be found."""


@dataclass
class Run:
    """What was written into one folder, by tag.

    `scalars`, `histograms`, `images`, `texts` and `pr_curves` hold what TensorBoard shows under these names, of
    several pictures that were written at once the second as ``tag (sample 2)``; `hyperparameters` what `add_hparams`
    was told, `custom_scalars` what `add_custom_scalars` was, `graph` the bytes of a ``GraphDef``; `left_out` counts
    what is read by nothing here (sound, meshes), by the kind of summary, and `notes` says why.
    """

    name: str
    folder: Path
    scalars: dict[str, Series] = field(default_factory=dict)
    histograms: dict[str, Histograms] = field(default_factory=dict)
    images: dict[str, Pictures] = field(default_factory=dict)
    texts: dict[str, Texts] = field(default_factory=dict)
    pr_curves: dict[str, PrecisionRecall] = field(default_factory=dict)
    hyperparameters: dict[str, float | str | bool] = field(default_factory=dict)
    custom_scalars: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    graph: bytes = field(default=b"", repr=False)
    left_out: dict[str, int] = field(default_factory=dict)
    _files: dict[Path, _File] = field(default_factory=dict, repr=False)
    _plugins: dict[str, str] = field(default_factory=dict, repr=False)
    """What a tag's values are for: it is said at the first."""

    @property
    def problems(self) -> list[str]:
        """One sentence for each part that could not be read, with the file and the place in it."""
        return [one for file in self._files.values() for one in (*file.problems, file.waiting) if one]

    @property
    def notes(self) -> list[str]:
        """One sentence for each kind of what is left out, with the reason."""
        return notes(self.left_out, sum(map(len, self.custom_scalars.values())))

    def read(self, files: Iterable[Path]) -> bool:
        """Read what was added to `files` since the last time; say whether anything is new.

        A record that is not whole yet is read when it is. A file that has become shorter is another one, under the
        name of the old: the run is read anew.
        """
        sizes = {path: size for path in sorted(files) if (size := _size(path)) is not None}
        if any(path in self._files and size < self._files[path].end for path, size in sizes.items()):
            self._forget()
        changed = False
        for path, size in sizes.items():
            changed |= self._read_file(self._files.setdefault(path, _File(path)), size)
        return changed

    def _forget(self) -> None:
        for one in (self.scalars, self.histograms, self.images, self.texts, self.pr_curves, self.left_out):
            one.clear()
        self.hyperparameters.clear()
        self.custom_scalars.clear()
        self._files.clear()
        self._plugins.clear()
        self.graph = b""

    def _read_file(self, file: _File, size: int) -> bool:
        if file.lost or size <= file.end:
            return False
        before = file.end, file.waiting
        try:
            for block in blocks(file.path, file.end):
                self._take(file, block)
                file.end, file.waiting = block.end, block.waiting
                file.problems += block.problems
                file.lost = block.lost
        # One file does not hide the others; whoever may read it later does.
        except OSError as error:
            file.waiting = f"{file.path} cannot be read: {error.strerror or error}"
        return (file.end, file.waiting) != before

    # ---------------------------------------------------------------------------------------- taking in

    def _take(self, file: _File, block: Block) -> None:
        """Take in the records of a block, in their order as far as one can tell."""
        found, rest = scalars(block.data, block.starts, block.sizes)
        numbers: dict[str, list[tuple[Array, Array, Array, Array]]] = {}
        for one in found:
            numbers.setdefault(one.tag, []).append((one.records, one.steps, one.values, one.times))
        single: dict[str, list[tuple[int, int, float, float]]] = {}
        restarts: list[tuple[int, int]] = []
        for record in rest.tolist():
            self._event(file, block, record, single, restarts)
        for tag, several in single.items():
            columns = zip(*several, strict=True)
            kinds = (np.int64, np.int64, np.float64, np.float64)
            numbers.setdefault(tag, []).append(
                tuple(np.asarray(column, kind) for column, kind in zip(columns, kinds, strict=True))  # type: ignore[arg-type]
            )
        for record, step in restarts:
            self._restart(step)
            # What comes before it in this block has not been added yet.
            numbers = {tag: [_before(part, record, step) for part in parts] for tag, parts in numbers.items()}
        for tag, parts in numbers.items():
            self._add(tag, parts)

    def _add(self, tag: str, parts: list[tuple[Array, Array, Array, Array]]) -> None:
        """Add numbers to a series, in the order of their records."""
        records, steps, values, times = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(records) == 0:
            return
        order = np.argsort(records, kind="stable")
        series = self.scalars.setdefault(tag, Series())
        series.steps = np.concatenate([series.steps, steps[order]])
        series.values = np.concatenate([series.values, values[order]])
        series.times = np.concatenate([series.times, times[order]])

    def _restart(self, step: int) -> None:
        """Forget what was written from `step` on: a program that was killed has begun again there."""
        for tag, series in self.scalars.items():
            kept = series.steps < step
            # Another series: whoever follows the old one would take what comes for its next values.
            self.scalars[tag] = Series(series.steps[kept], series.values[kept], series.times[kept])
        for kind, contents in (
            (self.histograms, "values"), (self.images, "places"), (self.texts, "values"), (self.pr_curves, "values"),
        ):  # fmt: skip
            for one in kind.values():
                kept_here = [i for i, there in enumerate(one.steps) if there < step]
                for name in ("steps", "times", contents):
                    setattr(one, name, [getattr(one, name)[i] for i in kept_here])

    def _event(
        self,
        file: _File,
        block: Block,
        record: int,
        single: dict[str, list[tuple[int, int, float, float]]],
        restarts: list[tuple[int, int]],
    ) -> None:
        """Take in one event, message by message."""
        start, size = int(block.starts[record]), int(block.sizes[record])
        event = Event()
        try:
            event.ParseFromString(block.data[start : start + size].tobytes())
        except DecodeError:
            file.problems.append(f"{file.path}: a record of {size} bytes is no TensorBoard event")
            return
        if event.session_log.status == SessionLog.START:
            restarts.append((record, event.step))
        if event.graph_def:
            self.graph = event.graph_def
        for number, value in enumerate(event.summary.value):
            place = Place(file.path, block.offset + start, size, number)
            try:
                self._value(event, value, place, record, single)
            # What a plugin is told is a message of its own, and may be none though the event is one.
            except DecodeError:
                file.problems.append(
                    f"{file.path}, {value.tag!r} at step {event.step}: what it says for "
                    f"{self._plugins.get(value.tag, '')!r} is damaged, it is left out"
                )
            except ValueError as error:
                file.problems.append(f"{file.path}, {value.tag!r} at step {event.step}: {error}")

    def _value(
        self,
        event: Any,
        value: Any,
        place: Place,
        record: int,
        single: dict[str, list[tuple[int, int, float, float]]],
    ) -> None:
        tag = value.tag
        if value.HasField("metadata") and value.metadata.plugin_data.plugin_name:
            self._plugins[tag] = value.metadata.plugin_data.plugin_name
            if self._plugins[tag] == "hparams":
                self._hyperparameters(value.metadata.plugin_data.content)
                return
            if self._plugins[tag] == "mesh" and _is_part(value.metadata.plugin_data.content):
                self._plugins[tag] = _PART
        kind = value.WhichOneof("value")
        if kind == "tensor":
            kind = self._plugins.get(tag, "tensor")
        take = _TAKERS.get(kind)
        if kind in ("simple_value", "scalars"):
            number = (
                value.simple_value if kind == "simple_value" else float(array_of(value.tensor).reshape(()))
            )
            single.setdefault(tag, []).append((record, event.step, number, event.wall_time))
        elif take is not None:
            take(self, tag, event, value, place)
        elif kind is not None and kind != _PART:
            self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def _hyperparameters(self, content: bytes) -> None:
        told = HParamsPluginData()
        told.ParseFromString(content)
        # By name: in the message they have another order each time.
        wrong = []
        for name, value in sorted(told.session_start_info.hparams.items(), key=itemgetter(0)):
            kind = value.WhichOneof("kind")
            if kind in ("number_value", "string_value", "bool_value"):
                self.hyperparameters[name] = getattr(value, kind)
            elif kind in (None, "null_value"):
                self.hyperparameters[name] = ""
            else:
                wrong.append(repr(name))
        if wrong:
            raise ValueError(
                f"hyperparameter {', '.join(wrong)} is no text, number or truth value; it is left out"
            )

    def _histogram(self, tag: str, event: Any, value: Any, place: Place) -> None:
        if value.WhichOneof("value") == "histo":
            found = _of_message(value.histo)
        else:
            bins = array_of(value.tensor).astype(np.float64)
            if bins.size % 3:
                raise ValueError(
                    f"a histogram has rows of left, right and count, not shape {list(bins.shape)}"
                )
            rows = bins.reshape(-1, 3)
            edges = np.append(rows[:, 0], rows[-1:, 1]) if len(rows) else np.zeros(1)
            found = Histogram(edges, rows[:, 2])
        series = self.histograms.setdefault(tag, Histograms())
        series.steps.append(event.step)
        series.times.append(event.wall_time)
        series.values.append(found)

    def _picture(self, tag: str, event: Any, value: Any, place: Place) -> None:
        # A tensor of texts holds width, height, and then a picture or several.
        count = len(value.tensor.string_val) - 2 if value.WhichOneof("value") == "tensor" else 1
        if count < 1:
            raise ValueError("the picture has no bytes")
        for which in range(count):
            name = tag if which == 0 else f"{tag} (sample {which + 1})"
            series = self.images.setdefault(name, Pictures())
            series.steps.append(event.step)
            series.times.append(event.wall_time)
            series.places.append(place._replace(picture=which))

    def _text(self, tag: str, event: Any, value: Any, place: Place) -> None:
        if value.tensor.dtype != _STRINGS and not value.tensor.string_val:
            raise ValueError(
                f"a text is a tensor of strings, not of TensorFlow's type number {value.tensor.dtype}"
            )
        series = self.texts.setdefault(tag.removesuffix("/text_summary"), Texts())
        series.steps.append(event.step)
        series.times.append(event.wall_time)
        series.values.append("\n\n".join(one.decode("utf-8", "replace") for one in value.tensor.string_val))

    def _curve(self, tag: str, event: Any, value: Any, place: Place) -> None:
        rows = array_of(value.tensor).astype(np.float64)
        if rows.ndim != 2 or len(rows) != len(PrecisionRecall.ROWS):
            raise ValueError(
                f"a curve of precision and recall has {len(PrecisionRecall.ROWS)} rows, not {rows.shape}"
            )
        series = self.pr_curves.setdefault(tag, PrecisionRecall())
        series.steps.append(event.step)
        series.times.append(event.wall_time)
        series.values.append(rows)

    def _layout(self, tag: str, event: Any, value: Any, place: Place) -> None:
        """Take in a layout of custom charts; the last that a run has counts, as in TensorBoard."""
        if not value.tensor.string_val:
            raise ValueError("a layout of custom charts has no bytes")
        told = Layout()
        told.ParseFromString(value.tensor.string_val[0])
        layout: dict[str, dict[str, list[Any]]] = {}
        for category in told.category:
            charts = layout.setdefault(category.title, {})
            for chart in category.chart:
                if chart.WhichOneof("content") == "margin":
                    lines = [tag for one in chart.margin.series for tag in (one.value, one.lower, one.upper)]
                    charts[chart.title] = ["Margin", lines]
                else:
                    charts[chart.title] = ["Multiline", list(chart.multiline.tag)]
        self.custom_scalars = layout


def _size(path: Path) -> int | None:
    """Return how many bytes a file has; None where it is gone since it was found."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


_STRINGS = 7
"""TensorFlow's number of the type of texts."""
_PART = "part of a mesh"
"""Faces and colours: they belong to a mesh that is counted."""

_TAKERS: dict[str | None, Callable[[Run, str, Any, Any, Place], None]] = {
    "histo": Run._histogram,
    "histograms": Run._histogram,
    "image": Run._picture,
    "images": Run._picture,
    "text": Run._text,
    "pr_curves": Run._curve,
    "custom_scalars": Run._layout,
}
"""Who takes in a value, by the kind of summary."""


def _is_part(content: bytes) -> bool:
    """Say whether a mesh's tensor holds something else than its points."""
    told = MeshPluginData()
    told.ParseFromString(content)
    return bool(told.content_type in (MeshPluginData.FACE, MeshPluginData.COLOR))


def _before(
    part: tuple[Array, Array, Array, Array], record: int, step: int
) -> tuple[Array, Array, Array, Array]:
    """Return a part of a series without what a restart at `step` in `record` replaces."""
    kept = (part[0] > record) | (part[1] < step)
    return part[0][kept], part[1][kept], part[2][kept], part[3][kept]


def _of_message(message: Any) -> Histogram:
    """Return a histogram that was written with the right border of each bin, the last being the greatest number."""
    limits = np.asarray(message.bucket_limit, np.float64)
    counts = np.asarray(message.bucket, np.float64)
    if len(limits) != len(counts):
        raise ValueError(f"a histogram has {len(counts)} bins and {len(limits)} borders")
    if len(limits) == 0:
        return Histogram(np.zeros(1), np.zeros(0))
    filled = np.flatnonzero(counts)
    if len(filled) == 0:
        return Histogram(np.array([message.min, message.max]), np.zeros(1))
    first, last = int(filled[0]), int(filled[-1])
    edges = np.concatenate([limits[first - 1 : first] if first else [message.min], limits[first : last + 1]])
    # The outermost borders lie far out; the numbers do not.
    edges = np.clip(edges, message.min, max(message.min, message.max))
    return Histogram(edges, counts[first : last + 1])
