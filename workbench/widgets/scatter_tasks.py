"""Work that a person asked of the projector: done beside whatever the kernel does, one thing at a time, and told of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workbench.live.messages import ScatterWork
from workbench.live.model import Refused

__all__ = ["Tasks"]


class Tasks:
    """At most one task at a time, in a thread of its own; `tell` is called whenever something of it changed."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._what = ""
        self._unit = ""
        self._started = 0.0
        self._failure = ""

    @property
    def now(self) -> ScatterWork | None:
        """What is worked on."""
        if not self._what:
            return None
        # Nothing in it counts: how long it has taken is all there is to say.
        return ScatterWork(self._what, 0, None, time.monotonic() - self._started, self._unit, False)

    @property
    def failure(self) -> str:
        """Why the last one ended without a result; empty if it did not."""
        return self._failure

    def begin(self, what: str, unit: str, work: Callable[[], None]) -> threading.Thread:
        """Start `work`, called `what`, which looks at things of a `unit`; return its thread.

        Raises:
            Refused: something is being worked on.
        """
        with self._lock:
            if self._what:
                raise Refused(f"{self._what} is still being computed; wait until it is done")
            self._what, self._unit, self._started, self._failure = what, unit, time.monotonic(), ""
        thread = threading.Thread(target=self._run, args=(work,), name=f"projector {what}", daemon=True)
        thread.start()
        self._tell()
        return thread

    def stop(self) -> None:
        """Refuse: nothing here stops half way."""
        raise Refused(
            f"{self._what} cannot be stopped; it ends by itself"
            if self._what
            else "nothing is being computed"
        )

    def _run(self, work: Callable[[], None]) -> None:
        failure = ""
        try:
            work()
        # What data and settings do not allow is told where it was asked; anything else is a fault, and ends the thread.
        except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as error:
            failure = str(error) or type(error).__name__
        finally:
            with self._lock:
                self._what, self._failure = "", failure
            self._tell()
