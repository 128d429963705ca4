"""Work that a person asked of the projector: done beside whatever the kernel does, counted, stopped, and told of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workbench.live.messages import ScatterWork
from workbench.live.model import Refused

__all__ = ["Task", "Tasks"]


class Task:
    """One piece of work; `report` is what does it calls, as it goes on."""

    def __init__(
        self, what: str, unit: str, tell: Callable[[], None], stop: Callable[[], None] | None
    ) -> None:
        self.what = what
        self.unit = unit
        self.done = 0
        self.total: int | None = None
        self.stop = stop
        self._tell = tell
        self._started = time.monotonic()

    def report(self, done: int, total: int | None) -> None:
        """Say how far it is."""
        self.done, self.total = done, total
        self._tell()

    def message(self) -> ScatterWork:
        """Return what a page is told of it."""
        return ScatterWork(
            self.what,
            self.done,
            self.total,
            time.monotonic() - self._started,
            self.unit,
            self.stop is not None,
        )


class Tasks:
    """At most one task at a time, in a thread of its own; `tell` is called whenever something of it changed."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._now: Task | None = None
        self._failure = ""

    @property
    def now(self) -> ScatterWork | None:
        """What is worked on."""
        task = self._now
        return None if task is None else task.message()

    @property
    def failure(self) -> str:
        """Why the last one ended without a result; empty if it did not."""
        return self._failure

    def begin(
        self,
        what: str,
        unit: str,
        work: Callable[[Task], None],
        stop: Callable[[], None] | None = None,
    ) -> threading.Thread:
        """Start `work`, which calls `Task.report`; return its thread.

        Raises:
            Refused: something is being worked on.
        """
        with self._lock:
            if self._now is not None:
                raise Refused(f"{self._now.what} is still being computed; stop it, or wait until it is done")
            task = self._now = Task(what, unit, self._tell, stop)
            self._failure = ""
        thread = threading.Thread(
            target=self._run, args=(task, work), name=f"workbench-projector {what}", daemon=True
        )
        thread.start()
        self._tell()
        return thread

    def stop(self) -> None:
        """Stop what is worked on.

        Raises:
            Refused: nothing is, or it cannot be stopped.
        """
        task = self._now
        if task is None:
            raise Refused("nothing is being computed")
        if task.stop is None:
            raise Refused(f"{task.what} cannot be stopped; it ends by itself")
        task.stop()

    def _run(self, task: Task, work: Callable[[Task], None]) -> None:
        failure = ""
        try:
            work(task)
        # What data and settings do not allow is told where it was asked; anything else is a fault, and ends the thread.
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as error:
            failure = str(error) or type(error).__name__
        finally:
            with self._lock:
                self._now, self._failure = None, failure
            self._tell()
