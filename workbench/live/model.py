"""View models: the Python side of a view, independent of how its messages travel.

A view model answers two questions. *What is to be drawn?*: `ViewModel.snapshot` returns one complete
state and its buffers. *What did the person do?*: `ViewModel.handle` takes one validated event and either
changes something or raises `Refused` with the reason, and then nothing has changed.

The same view model serves a widget in a cell and a panel of JupyterLab; both may show it at once.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from workbench.base.listeners import Listeners

__all__ = ["Refused", "Snapshot", "ViewModel"]


class Refused(ValueError):
    """An event asked for something that cannot be done; its text is the reason shown to the person."""


@dataclass(frozen=True)
class Snapshot:
    """One complete state of a view: a state dataclass of `workbench.live.messages`, and its buffers."""

    state: object
    buffers: tuple[bytes, ...] = ()
    lasting: tuple[str, ...] = ()
    """Large fields of the state that nobody changes in place: who has such an object is not sent it again."""


# Not Python's `id`, which goes to another object once this one is gone: a page may still ask for it.
_serial = itertools.count(1)


class ViewModel(ABC):
    """Something that can be drawn by the view named `view` and can answer its events.

    Events arrive in another thread than the one that runs cells, possibly while a cell runs: a model locks
    what both touch. Call `changed` whenever a new snapshot would differ; listeners throttle.
    """

    view: ClassVar[str]
    """Name of the view that draws it, a key of `workbench.live.messages.VIEWS`."""
    by_place: ClassVar[bool] = False
    """Whether it shows what was picked in a model's graph though nothing of the kind can be picked in it."""

    def __init__(self) -> None:
        self.id = f"{self.view}-{next(_serial)}"
        self._listeners: Listeners[[ViewModel]] = Listeners()
        self._news = time.time()

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return what is to be drawn now."""

    @abstractmethod
    def handle(self, event: object) -> None:
        """Do what `event` (an event dataclass of this view) asks, or raise `Refused`."""

    @property
    def made(self) -> float:
        """When what is drawn was last news, in seconds since the epoch: the one clock of all its pictures."""
        return self._news

    def settle(self) -> None:
        """Do what was put off while a cell ran, for it has ended; nothing, where nothing is ever put off."""
        return

    def sample_of(self, event: object) -> int | None:
        """Return the sample of a batch that `event` has chosen; None if it has chosen none."""
        return None

    def samples_of(self, points: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of the samples that `points`, picked here, are; () where points are no samples."""
        return points

    def points_of(self, samples: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the points here that are these samples; None where points are no samples.

        Raises:
            Refused: one is not here.
        """
        return None

    def show_sample(self, index: int) -> None:
        """Show the sample that was chosen in another view, or raise `Refused` where there is none of that number.

        It must be cheap: what a view would have to compute first stays a gesture of its own.
        """
        return

    def show_points(self, points: tuple[int, ...]) -> None:
        """Show what the samples that were picked in another view have in common, or raise `Refused`."""
        return

    def places_of(self, identity: str) -> tuple[str, ...]:
        """Return where in a model that lies which is picked here: names of nodes, paths of modules, nearest first."""
        return ()

    def show_place(self, places: tuple[str, ...]) -> None:
        """Pick what lies at one of these places, or raise `Refused` where nothing does."""
        return

    def listen(self, listener: Callable[[ViewModel], None]) -> Callable[[], None]:
        """Call ``listener(self)`` at every change; return a function that stops it."""
        return self._listeners.add(listener)

    def changed(self) -> None:
        """Tell every listener that a new snapshot would differ from the last."""
        self._news = time.time()
        self._listeners.tell(self)

    def again(self) -> None:
        """Ask for another picture, of the same news: one that was left unfinished can be completed."""
        self._listeners.tell(self)
