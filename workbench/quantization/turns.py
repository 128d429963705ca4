"""Whose turn it is to compute: what is only of use later waits while somebody waits for an answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns", "turns"]

MOST = 5.0
"""Seconds after which even what is only of use later goes on."""

MOST_GIVEN = 0.5
"""Seconds that a running cell gives at once to who answers a person; it has at least as many in between."""


class Turns:
    """Who answers a person takes a turn; what can wait asks for its own.

    >>> found = Turns()
    >>> with found.taken():
    ...     print(found.free)
    False
    >>> found.free
    True
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = 0
        self._even = 0.0

    @property
    def free(self) -> bool:
        """Whether nobody waits for an answer."""
        return self._taken == 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Answer somebody in this block."""
        with self._changed:
            self._taken += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken -= 1
                self._changed.notify_all()

    def wait(self, most: float = MOST) -> None:
        """Return once nobody waits for an answer, or after `most` seconds."""
        if self._taken:
            with self._changed:
                self._changed.wait_for(lambda: self.free, most)

    def give_way(self) -> None:
        """Let who answers a person go first, where a running cell has not just done so: both at once take longer."""
        if self._taken and (start := time.monotonic()) >= self._even:
            self.wait(MOST_GIVEN)
            end = time.monotonic()
            self._even = end + (end - start)


turns = Turns()
"""The turns of this process."""
