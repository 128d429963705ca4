"""TensorBoard logs: written from tensors, and read back even where they are damaged."""

from __future__ import annotations

import itertools
import os
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from tensorboardX import summary
from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from workbench.base.errors import DimensionError
from workbench.base.public import words
from workbench.core.value import dims_of
from workbench.export.graph_def import graph_def, graph_of
from workbench.graph import Graph
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["DamagedLogWarning", "EventLog", "Series", "SummaryWriter", "read", "scalars"]

PATTERN = "*tfevents*"
"""Names of event files."""
HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")
MAXIMUM_RECORD = 256 << 20
"""Largest record, in bytes, that is believed."""

_serial = itertools.count()
_POSITIVE = 1e-12 * 1.1 ** np.arange(774)
_BINS = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])
"""Borders of histogram bins: those that TensorFlow uses."""
_FORMATS = {("H", "W"): "HW", ("C", "H", "W"): "CHW", ("H", "W", "C"): "HWC", ("N", "C", "H", "W"): "NCHW"}


class SummaryWriter:
    """Writes scalars, histograms and images of tensors, and graphs, to a TensorBoard log.

    Use it in a ``with`` block, or close it. Events are written at once, in the caller's thread; every writer has a
    file of its own. `add_summary` takes anything else that `tensorboardX.summary` makes.

    >>> import tempfile, workbench as wb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SummaryWriter(folder) as log:
    ...         log.add_scalar("loss", wb.tensor(0.5), 1)
    ...     scalars(folder)["loss"].values
    [0.5]
    """

    def __init__(self, logdir: str | Path) -> None:
        self.logdir = Path(logdir)
        if self.logdir.exists() and not self.logdir.is_dir():
            raise NotADirectoryError(f"a log is written to a folder, and {self.logdir} is a file")
        self.logdir.mkdir(parents=True, exist_ok=True)
        # Two writers that start in the same second must not take the same file.
        suffix = f".{os.getpid()}.{next(_serial)}"
        self._events: Any = EventsWriter(str(self.logdir / "events"), suffix)
        self._closed = False

    def add_summary(self, made: Any, global_step: int | None = None) -> None:
        """Write a summary that was made with `tensorboardX.summary`."""
        self._write(Event(summary=made, wall_time=time.time(), step=global_step))

    def _write(self, event: Any) -> None:
        if self._closed:
            raise ValueError(f"the log in {self.logdir} is closed: make a new SummaryWriter")
        self._events.write_event(event)

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None:
        """Write one number."""
        self.add_summary(summary.scalar(tag, _number(tag, scalar_value)), global_step)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None
    ) -> None:
        """Write several numbers that are shown in one chart: as ``main_tag/tag``."""
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step)

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None, bins: Any = None) -> None:
        """Write how values are distributed; NaN and infinite values are left out.

        `bins` are what `numpy.histogram` takes; by default they grow by a tenth, from 1e-12 to 1e20, on both sides of
        0, so that histograms of all steps go together. Where no value is left, nothing is written, and a warning says
        so.
        """
        array = _array(values).astype(np.float64).reshape(-1)
        finite = array[np.isfinite(array)]
        if finite.size == 0:
            warnings.warn(
                f"histogram {tag!r}: none of {array.size} values is finite, nothing was written", stacklevel=2
            )
            return
        self.add_summary(summary.histogram(tag, finite, _BINS if bins is None else bins), global_step)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, dataformats: str | None = None
    ) -> None:
        """Write a picture, floats in [0, 1] or uint8; several in a batch are tiled.

        Named dims say what is what, in any order: H and W, with C (1 or 3) and N where there are. Without names,
        `dataformats` does: ``"CHW"`` (the default), ``"HW"``, ``"HWC"`` or ``"NCHW"``.
        """
        array, order = _picture(img_tensor, dataformats)
        if array.dtype.kind == "f":
            # NaN is drawn black: made a byte as it is, it would be any grey.
            array = np.clip(np.nan_to_num(array), 0.0, 1.0)
        self.add_summary(summary.image(tag, array, dataformats=order), global_step)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None) -> None:
        """Write text, which TensorBoard shows as Markdown."""
        self.add_summary(summary.text(tag, text_string), global_step)

    def add_graph(
        self,
        model: Graph | Callable[..., Any],
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Write the graph of a model, traced with `input_to_model`: one input, or a tuple of several.

        A graph, and what has one (scripted, traced, opened from a file), is written as it is. `verbose` prints it;
        `use_strict_trace` makes no difference, since lists and dicts are traced as they are. Raises TypeError where
        there is nothing to trace the model with, and what tracing raises.
        """
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        self._write(Event(graph_def=graph_def(graph).SerializeToString(), wall_time=time.time()))

    def flush(self) -> None:
        """Have everything so far on the disk."""
        if not self._closed:
            self._events.flush()

    def close(self) -> None:
        """Have everything on the disk, and end."""
        if not self._closed:
            self._events.close()
            self._closed = True

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _array(values: Any) -> np.ndarray[Any, Any]:
    return plain(values) if isinstance(values, Tensor) else np.asarray(values)


def _number(tag: str, value: Any) -> float:
    array = _array(value)
    if array.size != 1:
        raise DimensionError(
            f"scalar {tag!r} is one number, this has {array.size} values.",
            op="add_scalar",
            operands=(dims_of(value).operand("scalar_value"),) if isinstance(value, Tensor) else (),
            fix="add_scalar(tag, value.mean(), step), or add_histogram(tag, value, step)",
        )
    return float(array.reshape(()))


def _picture(image: Any, dataformats: str | None) -> tuple[Any, str]:
    """Return the pixels and the order of their dims in the words of tensorboardX."""
    array = _array(image)
    names = image._names if isinstance(image, Tensor) else None
    if names is None:
        order = dataformats or "CHW"
        if len(order) != array.ndim:
            raise DimensionError(
                f"dataformats {order!r} are {len(order)} dims, the picture has {array.ndim}.", op="add_image"
            )
        return array, order
    wanted = next((known for known in _FORMATS if set(known) == set(names)), None)
    if wanted is None:
        raise DimensionError(
            f"a picture has dims H and W, with C and N where there are, not {list(names)}.",
            op="add_image",
            operands=(dims_of(image).operand("img_tensor"),),
            fix="img_tensor.rename(...)",
        )
    return array.transpose([names.index(name) for name in wanted]), _FORMATS[wanted]


# -------------------------------------------------------------------------------------------- reading back


class DamagedLogWarning(UserWarning):
    """Part of a log could not be read."""


@dataclass
class Series:
    """The values of one tag, in the order in which they were written."""

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """Seconds since 1970."""


@dataclass
class EventLog:
    """What could be read of a log."""

    scalars: dict[str, Series] = field(default_factory=dict)
    histograms: dict[str, list[int]] = field(default_factory=dict)
    """Steps at which there is a histogram, by tag."""
    problems: list[str] = field(default_factory=list)
    """One sentence for each part that could not be read, with the file and the place in it."""


class _Record(NamedTuple):
    data: bytes
    problem: str


def _records(path: Path) -> Iterator[_Record]:
    """Yield the records of a file, up to the first that is damaged, which comes as a problem."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        while (offset := stream.tell()) < size:
            where = f"{path}, byte {offset} of {size}"
            header = stream.read(HEADER.size)
            if len(header) < HEADER.size:
                yield _Record(b"", f"{where}: the file ends within the head of a record")
                return
            length, check = HEADER.unpack(header)
            if masked_crc32c(header[:8]) != check:
                yield _Record(
                    b"",
                    f"{where}: the length of this record is damaged, the rest of the file cannot be found",
                )
                return
            if length > MAXIMUM_RECORD or offset + HEADER.size + length + FOOTER.size > size:
                needed, left = length + FOOTER.size, size - offset - HEADER.size
                yield _Record(
                    b"", f"{where}: this record takes {needed} bytes more and the file has {left} left"
                )
                return
            data = stream.read(length)
            # Its length was right, so reading goes on behind it.
            if masked_crc32c(data) != FOOTER.unpack(stream.read(FOOTER.size))[0]:
                yield _Record(b"", f"{where}: this record is damaged (checksum), it is left out")
            else:
                yield _Record(data, "")


def read(logdir: str | Path) -> EventLog:
    """Read the event files of a folder (and below), or one file; what is damaged is told in `EventLog.problems`.

    Raises FileNotFoundError where there is no folder, or no event file in it.
    """
    root = Path(logdir)
    if not root.exists():
        raise FileNotFoundError(f"there is no log at {root}")
    files = [root] if root.is_file() else sorted(path for path in root.rglob(PATTERN) if path.is_file())
    if not files:
        raise FileNotFoundError(f"{root} holds no TensorBoard log: no file in it is called {PATTERN}")
    log = EventLog()
    for path in files:
        for record in _records(path):
            if record.problem:
                # Kept beside what can be read: a training that was killed leaves half a record at the end.
                log.problems.append(record.problem)
            else:
                _take(log, record.data, path)
    return log


def _take(log: EventLog, data: bytes, path: Path) -> None:
    event = Event()
    try:
        event.ParseFromString(data)
    except DecodeError:
        log.problems.append(f"{path}: a record of {len(data)} bytes is no TensorBoard event")
        return
    for value in event.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            series = log.scalars.setdefault(value.tag, Series())
            series.steps.append(event.step)
            series.values.append(value.simple_value)
            series.times.append(event.wall_time)
        elif kind == "histo":
            log.histograms.setdefault(value.tag, []).append(event.step)


def scalars(logdir: str | Path) -> dict[str, Series]:
    """Return the scalars of a log by tag; where part of it is damaged, a `DamagedLogWarning` says which.

    Raises FileNotFoundError where there is no log.
    """
    log = read(logdir)
    if log.problems:
        warnings.warn(
            "part of the log could not be read: " + "; ".join(log.problems), DamagedLogWarning, stacklevel=2
        )
    return log.scalars


__getattr__, __dir__ = words(__name__, __all__)
