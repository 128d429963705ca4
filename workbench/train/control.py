"""Stopping, holding and letting go a training from any thread."""

from __future__ import annotations

import threading
from typing import Literal

__all__ = ["Control", "State"]

State = Literal["idle", "running", "paused", "stopped", "finished", "failed"]
"""Where a training is. ``stopped`` was asked for, or by an interrupt; ``failed`` ended with an error."""


class Control:
    """What one thread asks of a training that runs in another; the training looks between two batches.

    >>> control = Control()
    >>> control.stop()
    False
    >>> control.begin(); control.stop(), control.asked_to_stop()
    (True, True)
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._state: State = "idle"
        self._stop = False
        self._hold = False

    @property
    def state(self) -> State:
        """Where the training is."""
        return self._state

    @property
    def active(self) -> bool:
        """True from the begin of a training to its end, also while it is held."""
        return self._state in ("running", "paused")

    def begin(self) -> None:
        """Start, with nothing asked for; RuntimeError where a training is under way."""
        with self._condition:
            if self.active:
                raise RuntimeError(
                    "this trainer is training already: stop() it, wait for it, or make another Trainer"
                )
            self._state, self._stop, self._hold = "running", False, False

    def end(self, state: State) -> None:
        """Say how the training ended, and wake up whoever waits."""
        with self._condition:
            self._state, self._stop, self._hold = state, False, False
            self._condition.notify_all()

    def stop(self) -> bool:
        """Ask to stop after this batch; return False where nothing runs."""
        return self._ask(stop=True)

    def pause(self) -> bool:
        """Ask to wait after this batch; return False where nothing runs."""
        return self._ask(hold=True)

    def resume(self) -> bool:
        """Ask to go on; return False where nothing runs."""
        return self._ask(hold=False)

    def _ask(self, *, stop: bool | None = None, hold: bool | None = None) -> bool:
        with self._condition:
            if not self.active:
                return False
            self._stop = self._stop if stop is None else stop
            self._hold = self._hold if hold is None else hold
            self._condition.notify_all()
            return True

    def asked_to_stop(self) -> bool:
        """Say whether a stop is asked for."""
        # Without the lock: it is one flag, and the next batch is soon enough.
        return self._stop

    def asked_to_wait(self) -> bool:
        """Say whether to wait, which a stop overrules."""
        return self._hold and not self._stop

    def hold(self) -> None:
        """Say that the training waits."""
        with self._condition:
            self._state = "paused"

    def wait(self) -> None:
        """Wait as long as that is asked for, and say that the training runs again."""
        with self._condition:
            try:
                while self.asked_to_wait():
                    # In turns of a second: on Windows nothing interrupts a wait without end.
                    self._condition.wait(timeout=1.0)
            finally:
                self._state = "running"
