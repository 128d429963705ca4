"""Seams: where a lower room calls what only a higher room can do, and the one form in which that is arranged.

Imports flow one way, yet a few things are called from below: a tensor starts a walk over the tape, a graph runs and
prints itself. The lower room says with a `Seam` what it calls; the room above gives it once, when it is imported.
Nothing else may reach upwards, and whoever searches for ``Seam(`` has the whole list. (Pictures are looked up by
`base.renderer_lookup` when something is shown; libraries that load late come through `base.lazy`.)
"""

from __future__ import annotations

from typing import Any

__all__ = ["Seam"]


class Seam:
    """A function that one room calls and a room above it gives.

    `what` says what it does, `room` which room gives it. Calling it before that raises RuntimeError with both; giving
    twice raises ValueError, since two rooms that give the same thing would take turns.

    >>> greet = Seam("greeting", "workbench.lab")
    >>> greet("you")
    Traceback (most recent call last):
    RuntimeError: greeting is given by workbench.lab, which has not been imported: import workbench as a whole
    >>> greet.give(lambda name: f"Hello {name}")
    >>> greet("you")
    'Hello you'
    """

    __slots__ = ("call", "room", "what")

    def __init__(self, what: str, room: str) -> None:
        self.what, self.room = what, room
        self.call: Any = self._missing
        """The function itself: where every nanosecond counts, it is called without this object in between."""

    def give(self, function: Any) -> None:
        """Set what is called from now on."""
        # A bound method is made anew at every look: two of them are equal, not identical.
        if self.call != self._missing:
            raise ValueError(f"{self.what} has been given already, by {self.room}")
        self.call = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.call(*arguments, **keywords)

    def _missing(self, *arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError(
            f"{self.what} is given by {self.room}, which has not been imported: import workbench as a whole"
        )
