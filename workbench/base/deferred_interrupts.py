"""Interrupts that wait: what has begun is brought to its end before a KeyboardInterrupt is raised."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Shield", "whole"]


class Shield:
    """Holds back an interrupt (Ctrl-C, or a notebook's stop button) inside `whole`, until that block ends.

    A second interrupt is let through at once, unless inside a block that is `unbreakable`. Only the main thread gets
    interrupts; elsewhere, and where somebody else handles them, this changes nothing.

    >>> shield = Shield()
    >>> try:
    ...     with shield.installed(), shield.whole():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done = True
    ... except KeyboardInterrupt:
    ...     print(done)
    True
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._inside = 0
        self._unbreakable = 0
        self._pending: FrameType | bool | None = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Handle interrupts here as long as this block lasts."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return
        self._before, self._pending = before, False
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self._before = None

    @contextmanager
    def whole(self, *, unbreakable: bool = False) -> Iterator[None]:
        """Bring this block to its end before an interrupt is raised."""
        self._inside += 1
        self._unbreakable += unbreakable
        try:
            yield
        finally:
            self._inside -= 1
            self._unbreakable -= unbreakable
            if not self._inside and self._pending is not False:
                # Cleared first, since what was there before usually raises.
                frame, self._pending = self._pending, False
                if self._before is not None:
                    self._before(signal.SIGINT, frame)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._unbreakable or (self._inside and self._pending is False):
            self._pending = frame
        else:
            self._pending = False
            self._before(number, frame)


@contextmanager
def whole(*, unbreakable: bool = False) -> Iterator[None]:
    """Bring this block to its end before an interrupt is raised; a second one is let through, unless `unbreakable`."""
    shield = Shield()
    with shield.installed(), shield.whole(unbreakable=unbreakable):
        yield
