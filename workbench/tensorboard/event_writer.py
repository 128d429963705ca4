"""An event file that is written, and the folder that it lies in."""

from __future__ import annotations

import itertools
import os
import socket
import time
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event, SessionLog

from workbench.tensorboard.arguments import step_of, tag_of

__all__ = ["EventWriter"]

_serial = itertools.count()


class EventWriter:
    """Writes events into a file of its own: at once, in the caller's thread."""

    def __init__(
        self,
        log_dir: str | Path | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if log_dir is None:
            started = datetime.now().astimezone().strftime("%b%d_%H-%M-%S")
            log_dir = Path("runs") / f"{started}_{socket.gethostname()}{comment}"
        folder = Path(log_dir)
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"a log is written to a folder, and {folder} is a file")
        folder.mkdir(parents=True, exist_ok=True)
        self.log_dir = str(folder)
        # Two writers that start in the same second must not take the same file.
        suffix = f".{os.getpid()}.{next(_serial)}{filename_suffix}"
        self._events: Any = EventsWriter(str(folder / "events"), suffix)
        self._closed = False
        self._flush_seconds = flush_secs
        self._flushed = time.monotonic()
        self._parts: dict[str, Self] = {}
        if purge_step is not None:
            log = SessionLog(status=SessionLog.START)
            self._write(Event(session_log=log, wall_time=time.time(), step=step_of(purge_step)))

    @property
    def logdir(self) -> Path:
        """The folder that is written to."""
        return Path(self.log_dir)

    def get_logdir(self) -> str:
        """Return the folder that is written to."""
        return self.log_dir

    def add_summary(self, made: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Write a summary that was made with `tensorboardX.summary`."""
        when = time.time() if walltime is None else walltime
        self._write(Event(summary=made, wall_time=when, step=step_of(global_step)))

    def _add(self, tag: str, made: Any, global_step: int | None, walltime: float | None) -> None:
        """Write a summary that was made with no tag under the one that was given.

        tensorboardX would put ``_`` for what no node of TensorFlow is called by, so that two tags become one.
        """
        begin = tag_of(tag)
        for value in made.value:
            value.tag = begin + value.tag
        self.add_summary(made, global_step, walltime)

    def _write(self, event: Any) -> None:
        if self._closed:
            raise ValueError(f"the log in {self.log_dir} is closed: make a new SummaryWriter")
        self._events.write_event(event)
        if time.monotonic() - self._flushed > self._flush_seconds:
            self.flush()

    def _part(self, name: str) -> Self:
        """Return the writer of a run in a folder of this one's."""
        if self._closed:
            raise ValueError(f"the log in {self.log_dir} is closed: make a new SummaryWriter")
        if name not in self._parts:
            self._parts[name] = type(self)(self.logdir / name, flush_secs=self._flush_seconds)
        return self._parts[name]

    def flush(self) -> None:
        """Have everything so far on the disk."""
        if not self._closed:
            self._events.flush()
            self._flushed = time.monotonic()
        for part in self._parts.values():
            part.flush()

    def close(self) -> None:
        """Have everything on the disk, and end."""
        if not self._closed:
            self._events.close()
            self._closed = True
        for part in self._parts.values():
            part.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
