"""Work that a person asked of the projector: done beside whatever the kernel does, one thing at a time, and told of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workbench.live.messages import ScatterWork
from workbench.live.model import Refused

__all__ = ["Task", "Tasks", "Unwanted"]

Done = Callable[[], None]


PERIOD = 0.1
"""Least seconds between two pictures of how far something is."""


class Unwanted(Exception):
    """Ends work that was stopped, or in whose place another was begun."""


class Task:
    """One piece of work: how far it is, and whether somebody waits for it."""

    def __init__(self, what: str, unit: str, tell: Callable[[], None] | None) -> None:
        self.what = what
        self.unit = unit
        self.phase = ""
        self.started = time.monotonic()
        """When the phase began: each has a rate of its own."""
        self.done = 0
        self.total: int | None = None
        self.wanted = True
        self._tell = tell
        self._told = -PERIOD

    def reached(self, done: int, total: int | None, phase: str = "") -> None:
        """Say how far it is, or how far the phase of it is that is called so; as often as one likes.

        Raises:
            Unwanted: nobody waits for it any more.
        """
        if not self.wanted:
            raise Unwanted
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self.started, self._told = phase, now, now - PERIOD
        self.done, self.total = done, total
        if self._tell is not None and now - self._told >= PERIOD:
            self._told = now
            self._tell()

    def message(self) -> ScatterWork:
        """Return what a page is told."""
        what = f"{self.what}: {self.phase}" if self.phase else self.what
        return ScatterWork(
            what, self.done, self.total, time.monotonic() - self.started, self.unit, stops=True
        )


class Tasks:
    """At most one task at a time, in a thread of its own; `tell` is called whenever something of it changed.

    A task that was stopped ends when it next says how far it is. What a library computes in one piece goes on to its
    end, as its phase says, and what it found is dropped.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._asked: Task | None = None
        self._unasked: Task | None = None
        self._failure = ""

    @property
    def now(self) -> ScatterWork | None:
        """What a person asked for and is worked on."""
        task = self._asked
        return None if task is None else task.message()

    @property
    def idle(self) -> bool:
        """Whether nothing at all is worked on, asked for by a person or not."""
        return self._asked is None and self._unasked is None

    @property
    def failure(self) -> str:
        """Why the last one ended without a result; empty if it did not."""
        return self._failure

    def begin(self, what: str, unit: str, work: Callable[[Task], Done]) -> threading.Thread:
        """Start `work`, called `what`, which looks at things of a `unit`; return its thread.

        What it returns is called if somebody still waits for it then.

        Raises:
            Refused: something that was asked for is being worked on.
        """
        with self._lock:
            if self._asked is not None:
                raise Refused(
                    f"{self._asked.what} is still being computed; wait until it is done, or stop it"
                )
            self._drop()
            task = self._asked = Task(what, unit, self._tell)
            self._failure = ""
        thread = self._started(task, work)
        self._tell()
        return thread

    def offer(self, what: str, unit: str, work: Callable[[Task], Done]) -> threading.Thread | None:
        """Start `work` that nobody asked for, unless something is worked on; it gives way to whatever is asked."""
        with self._lock:
            if not self.idle:
                return None
            task = self._unasked = Task(what, unit, None)
        return self._started(task, work)

    def give_way(self) -> None:
        """Drop work that nobody asked for."""
        with self._lock:
            self._drop()

    def stop(self) -> None:
        """Wait no longer for what was asked.

        Raises:
            Refused: nothing was.
        """
        with self._lock:
            if self._asked is None:
                raise Refused("nothing is being computed")
            self._asked.wanted = False
            self._asked = None
        self._tell()

    def _drop(self) -> None:
        if self._unasked is not None:
            self._unasked.wanted = False
            self._unasked = None

    def _started(self, task: Task, work: Callable[[Task], Done]) -> threading.Thread:
        thread = threading.Thread(
            target=self._run, args=(task, work), name=f"projector {task.what}", daemon=True
        )
        thread.start()
        return thread

    def _run(self, task: Task, work: Callable[[Task], Done]) -> None:
        failure = ""
        try:
            done = work(task)
            if task.wanted:
                done()
        except Unwanted:
            return
        # What data and settings do not allow is told where it was asked; anything else is a fault, and ends the thread.
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as error:
            failure = str(error) or type(error).__name__
        finally:
            self._ended(task, failure)

    def _ended(self, task: Task, failure: str) -> None:
        with self._lock:
            if self._asked is task:
                self._asked, self._failure = None, failure
            elif self._unasked is task:
                # Who has not asked must be told what it was.
                self._unasked, self._failure = None, failure and f"{task.what}: {failure}"
            else:
                return
        self._tell()
