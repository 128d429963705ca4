"""Work that shows where it is, waits when it is asked to, and goes on from there: in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

__all__ = ["Frame", "Report", "Run"]

Array = np.ndarray[Any, Any]
T = TypeVar("T")

PERIOD = 0.1
"""Least seconds between two frames."""


class Frame(NamedTuple):
    """Where the points are at a moment."""

    positions: Array
    iteration: int
    of: int
    rate: float
    """Iterations a second, without the time that the work waited."""
    running: bool
    phase: str = ""
    """What is computed before the first iteration, in words."""
    stand_in: str = ""
    """What the positions are where they are not yet those of the method."""


class Report(Protocol):
    """What work calls as often as it likes; it may be held there, and may never come back."""

    def __call__(
        self, positions: Array, iteration: int, of: int, phase: str = "", stand_in: str = "", /
    ) -> None: ...


class _AbandonedError(BaseException):
    """Ends work that nobody waits for; no error, so that no library takes it for one of its own."""


class Run(Generic[T]):
    """One piece of iterative work: started, stopped, resumed; its frames are shown by whoever waits for it, or by
    itself.

    `work` gets a `Report` and returns its result. ``show(frame)`` is called with each frame, at most ten a second,
    ``done(result)`` at the end and ``failed(error)`` where it raises: in the thread that waits in `drive`, or in that
    of the work while nobody does.
    """

    def __init__(
        self,
        work: Callable[[Report], T],
        show: Callable[[Frame], object],
        done: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        self._work, self._show, self._done, self._failed = work, show, done, failed
        self._changed = threading.Condition()
        self._state: Literal["running", "stopping", "stopped", "ended", "abandoned"] = "running"
        self._driven = False
        self._frame: Frame | None = None
        self._ending: Callable[[], object] | None = None
        self._error: BaseException | None = None
        self._shown = 0.0
        self._phase = ""
        self._began = time.monotonic()
        self._first = 0
        self._thread = threading.Thread(target=self._run, name="projection", daemon=True)

    @property
    def running(self) -> bool:
        """Whether frames are to come without anybody asking for more."""
        return self._state in ("running", "stopping")

    @property
    def stopped(self) -> bool:
        """Whether it waits to be resumed, or will as soon as it has ended what it is at."""
        return self._state in ("stopping", "stopped")

    def start(self, background: bool) -> None:
        """Begin; in the foreground this returns when the work has ended or was stopped."""
        self._driven = not background
        self._thread.start()
        if not background:
            self._drive()

    def stop(self) -> None:
        """Hold the work at its next report."""
        with self._changed:
            if self._state == "running":
                self._state = "stopping"
                self._changed.notify_all()

    def resume(self, background: bool) -> None:
        """Let stopped work go on; in the foreground until it has ended or is stopped again."""
        with self._changed:
            if self._state not in ("stopping", "stopped"):
                return
            self._state = "running"
            self._driven = not background
            self._changed.notify_all()
        if not background:
            self._drive()

    def abandon(self) -> None:
        """Let stopped or running work end at its next report, without a result."""
        with self._changed:
            if self._state != "ended":
                self._state = "abandoned"
                self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the work has ended or is held; say whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.running, timeout)

    # ------------------------------------------------------------------------------------------ who waits

    def _drive(self) -> None:
        """Show frames in this thread until the work has ended or is held."""
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._frame is not None or not self.running)
                    frame, self._frame = self._frame, None
                    ending = self._ending if frame is None else None
                    if frame is None:
                        # From here on the work speaks for itself, should it be resumed elsewhere.
                        self._driven = False
                if frame is not None:
                    self._show(frame)
                    continue
                if ending is not None:
                    ending()
                break
        except BaseException:
            # An interrupt, most often: what there is stays, and can be resumed.
            with self._changed:
                self._driven = False
                left, self._ending = self._ending, None
            self.stop()
            if left is not None:
                left()
            raise
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    # ------------------------------------------------------------------------------------------- the work

    def _run(self) -> None:
        try:
            result = self._work(self._report)
        except _AbandonedError:
            return
        # Whatever it is: it is raised again where somebody waits, and kept where nobody does.
        except Exception as error:
            self._end(_bound(self._failed, error), error)
        else:
            self._end(_bound(self._done, result), None)

    def _end(self, ending: Callable[[], object], error: BaseException | None) -> None:
        with self._changed:
            if self._state == "abandoned":
                return
            own = not self._driven
            if not own:
                self._ending, self._error = ending, error
        if own:
            # Before the state says so: who waits for the end finds it told.
            ending()
        with self._changed:
            self._state = "ended"
            self._changed.notify_all()

    def _report(
        self, positions: Array, iteration: int, of: int, phase: str = "", stand_in: str = "", /
    ) -> None:
        if self._state == "abandoned":
            raise _AbandonedError
        now = time.monotonic()
        if phase != self._phase:
            # It is told at once, and its time is none of the iterations'.
            self._phase, self._shown, self._began, self._first = phase, -PERIOD, now, iteration
        # Asked for meanwhile, it is held at the next report.
        held = self._state == "stopping"
        if not held and now - self._shown < PERIOD:
            return
        self._shown, passed = now, now - self._began
        rate = (iteration - self._first) / passed if passed > 0 else 0.0
        self._tell(Frame(np.array(positions, np.float32), iteration, of, rate, not held, phase, stand_in))
        if held:
            self._hold()
            self._began, self._first = time.monotonic(), iteration

    def _hold(self) -> None:
        """Wait until the work is resumed."""
        with self._changed:
            if self._state == "stopping":
                self._state = "stopped"
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._state != "stopped")
            if self._state == "abandoned":
                raise _AbandonedError

    def _tell(self, frame: Frame) -> None:
        with self._changed:
            if self._driven:
                self._frame = frame
                self._changed.notify_all()
                return
        self._show(frame)


def _bound(function: Callable[[Any], object], argument: Any) -> Callable[[], object]:
    return lambda: function(argument)
