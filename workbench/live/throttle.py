"""How often a picture is made: at most twenty times a second, and for at most a twentieth of the time.

Whoever changes something only leaves a note; one thread makes the pictures, so the thread that trains
never waits for one. Notes that come too early are kept, so the last state always arrives.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

__all__ = ["INTERVAL", "REST", "Throttle", "throttle"]

logger = logging.getLogger(__name__)

INTERVAL = 0.05
"""Least time between two pictures of one view model, in seconds."""

REST = 60.0
"""After a picture that took t seconds of processor time, its view model rests for `REST` · t seconds.

Writing the message costs about half as much again in a thread of the kernel, and work that uses every core waits for
the one that was taken: a twentieth of the time in all."""


class Throttle:
    """Does the work requested for each key as soon as that key's pace allows, in a thread of its own.

    `clock` tells the time and `cost` the processor time of the calling thread, both in seconds. Without
    `threaded` nothing happens until somebody calls `step`.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        cost: Callable[[], float] = time.thread_time,
        threaded: bool = True,
    ) -> None:
        self._clock = clock
        self._cost = cost
        self._changed = threading.Condition()
        self._threaded = threaded
        self._pending: dict[str, tuple[Callable[[], None], bool]] = {}  # work, and whether it is urgent
        self._making: str | None = None
        self._free: dict[str, int] = {}  # how many pictures of a key, from now on, disturb nothing
        self._last: dict[str, tuple[float, float]] = {}  # end of the last picture, and its cost
        self._thread: threading.Thread | None = None
        self.enter: Callable[[], None] | None = None
        """Called first in the thread that makes the pictures."""

    def request(self, key: str, work: Callable[[], None], *, urgent: bool = False) -> None:
        """Do `work` when the pace of `key` allows, in place of work for `key` that is still to be done.

        If `urgent`, because a person waits for the picture, only `INTERVAL` is kept.
        """
        with self._changed:
            pending = self._pending.get(key)
            # An urgent wish stays urgent when a later one that is not takes its place.
            if pending is not None and (pending[1] or not urgent):
                self._pending[key] = (work, pending[1])  # the thread knows when: waking it would cost more
                return
            self._pending[key] = (work, urgent)
            self._changed.notify()
            # Made when it is needed; a thread of before does not live on in a process that was forked.
            if self._threaded and (self._thread is None or not self._thread.is_alive()):
                # A daemon: Python must not wait for pictures when it ends.
                self._thread = threading.Thread(target=self._run, name="workbench-live", daemon=True)
                self._thread.start()

    def hurry(self) -> None:
        """Let what is pending rest no longer, nor rest after it: the work that it would disturb has ended."""
        with self._changed:
            self._pending = {key: (work, True) for key, (work, _) in self._pending.items()}
            # It is often the dearest of all, and what is found in the seconds after it is waited for.
            # So is one that is being made already: its view model was settled a moment ago.
            self._free = {key: 1 + (key == self._making) for key in self._pending}
            if self._making is not None:
                self._free.setdefault(self._making, 1)
            self._changed.notify()

    def forget(self, key: str) -> None:
        """Drop what is known and pending of `key`."""
        with self._changed:
            self._pending.pop(key, None)
            self._last.pop(key, None)
            self._free.pop(key, None)

    def delay(self) -> float | None:
        """Return the seconds until the next picture is due (0 if one is), None if nothing is pending."""
        with self._changed:
            return self._delay()

    def step(self) -> bool:
        """Make the one picture that is due longest, if any is due; say whether one was."""
        with self._changed:
            # By how long each has waited, then by when it came, so that no key starves another.
            now = self._clock()
            due = [(self._due(key), position, key) for position, key in enumerate(self._pending)]
            ready = [entry for entry in due if entry[0] <= now]
            if not ready:
                return False
            key = min(ready)[2]
            work, _ = self._pending.pop(key)
            self._making = key
        before = self._cost()
        try:
            work()
        # Also after a failure: a picture that costs much and fails must not be tried without end.
        finally:
            with self._changed:
                self._making = None
                free = self._free.pop(key, 0)
                self._last[key] = (self._clock(), 0.0 if free else self._cost() - before)
                if free > 1:
                    self._free[key] = free - 1
        return True

    def _due(self, key: str) -> float:
        # A first picture is made at once.
        if key not in self._last:
            return float("-inf")
        end, cost = self._last[key]
        return end + (INTERVAL if self._pending[key][1] else max(INTERVAL, REST * cost))

    def _delay(self) -> float | None:
        if not self._pending:
            return None
        return max(0.0, min(map(self._due, self._pending)) - self._clock())

    def _run(self) -> None:
        if self.enter is not None:
            self.enter()
        # Waiting lets go of the lock; a request wakes it, and the delay is then worked out anew.
        while True:
            with self._changed:
                while (delay := self._delay()) is None or delay > 0:
                    self._changed.wait(delay)
            try:
                self.step()
            except Exception:  # one picture that fails must not end the thread that makes all others
                logger.exception("a picture could not be made or sent")


throttle = Throttle()
"""The pace of all pictures of this process."""
