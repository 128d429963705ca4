"""What is changed by hand of the observers of a model: done, taken back, and two settings of all compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.base.errors import QuantizationError
from workbench.quantization.metrics import Figures
from workbench.quantization.observer_base import ObserverBase, PartialObserver
from workbench.quantization.observer_settings import factory_of

__all__ = ["Change", "Changes", "Setting", "Side", "Step"]

MOST_CHANGES = 200
"""How many changes can be undone."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Setting:
    """How one observer is set: which kind it is, and the range set by hand."""

    factory: PartialObserver | None
    """Makes observers like it; None for a kind that is left as it is."""
    range: Range | None
    """None: left to the observer."""


@dataclass(frozen=True)
class Change:
    """One change of one observer: how it was set before and after."""

    name: str
    before: Setting
    after: Setting
    undone: bool = False

    def reversed(self) -> Change:
        """Return the change that takes this one back."""
        return Change(self.name, self.after, self.before, not self.undone)


@dataclass(frozen=True)
class Step:
    """What one gesture changed: one observer, or all those that two sides set otherwise."""

    changes: tuple[Change, ...]
    sides: tuple[str, str] = ("", "")
    """Which side was in force before and after, where it went from one to the other."""
    comparison: int = 0
    """Of which comparison these are the sides."""

    def reversed(self) -> Step:
        """Return the step that takes this one back."""
        return Step(tuple(one.reversed() for one in self.changes), self.sides[::-1], self.comparison)


@dataclass(frozen=True)
class Side:
    """One of two settings of all observers that are compared, with what it gave when it was left."""

    settings: Mapping[str, Setting]
    figures: Figures
    sqnrs: Mapping[str, float | None]


class Changes:
    """Sets observers by name through `get` and `put`, and remembers how they were set.

    Neither locks nor tells anybody: its calibration does.
    """

    def __init__(
        self, names: tuple[str, ...], get: Callable[[str], ObserverBase], put: Callable[[str, Setting], None]
    ) -> None:
        self._names = names
        self._get = get
        self._put = put
        self.done: list[Step] = []
        self.taken_back: list[Step] = []
        self.last: Step | None = None
        self.active = ""
        """Which side is in force while two are compared: ``"A"`` or ``"B"``; else empty."""
        self.sides: dict[str, Side] = {}
        self._comparison = 0
        self._held: tuple[str, Setting] | None = None
        self._first: dict[str, PartialObserver | None] = {}
        """What the observers that were ever changed were before: more than can be undone."""

    def setting(self, name: str) -> Setting:
        """Return how an observer is set now."""
        observer = self._get(name)
        return Setting(factory_of(observer), observer.override)

    def put(self, name: str, after: Setting, final: bool = True) -> None:
        """Set an observer; while `final` is False more of the same gesture follows: all of it is one step to undo."""
        if self._held is not None and self._held[0] != name:
            self._end()
        before = self.setting(name)
        self._put(name, after)
        # From the setting before the drag, which is undone as a whole.
        start = self._held[1] if self._held is not None and self._held[0] == name else before
        step = Step((Change(name, start, after),))
        self._held = None if final else (name, start)
        if final and start != after:
            self._remember(step)
        self.last = step

    @property
    def chosen(self) -> set[str]:
        """Names of the observers that are others than they were."""
        return {name for name, factory in self._first.items() if factory != self.setting(name).factory}

    @property
    def unfinished(self) -> bool:
        """Whether something was set of which no end has come: it is undone like a step."""
        return self._held is not None and self._held[1] != self.setting(self._held[0])

    def _end(self) -> None:
        """Remember a gesture of which no end has come, as when a page is closed under it."""
        if self._held is not None and self.unfinished:
            name, start = self._held
            self._remember(Step((Change(name, start, self.setting(name)),)))
        self._held = None

    def _remember(self, step: Step) -> None:
        for one in step.changes:
            self._first.setdefault(one.name, one.before.factory)
        self.done = [*self.done, step][-MOST_CHANGES:]
        self.taken_back = []

    def undo(self) -> None:
        """Take the last step back. Raises `QuantizationError` if there is none."""
        self._end()
        if not self.done:
            raise QuantizationError("there is nothing to undo")
        step = self.done[-1]
        # First of all: where it is refused, nothing is forgotten.
        self._go(step.reversed())
        self.done = self.done[:-1]
        self.taken_back = [*self.taken_back, step]

    def redo(self) -> None:
        """Make the step again that was taken back. Raises `QuantizationError` if there is none."""
        self._end()
        if not self.taken_back:
            raise QuantizationError("there is nothing to redo")
        step = self.taken_back[-1]
        self._go(step)
        self.taken_back = self.taken_back[:-1]
        self.done = [*self.done, step]

    def _go(self, step: Step) -> None:
        gone: list[Change] = []
        try:
            for one in step.changes:
                self._put(one.name, one.after)
                gone.append(one)
        except QuantizationError:
            # All of it or nothing.
            for one in reversed(gone):
                self._put(one.name, one.before)
            raise
        # Of a comparison that has ended since then only the settings are left.
        if step.sides[1] and not (self.active and step.comparison == self._comparison):
            step = Step(step.changes)
        if step.sides[1]:
            self.active = step.sides[1]
        self._held = None
        self.last = step

    # -------------------------------------------------------------------------------------- comparing

    def compared(self, here: Side) -> dict[str, Side]:
        """Return both sides by their names, `here` in force; one that is set as it is the same, with its figures."""
        sides = {name: here if side.settings == here.settings else side for name, side in self.sides.items()}
        self.sides = {**sides, self.active: here}
        return self.sides

    def keep(self, side: Side) -> None:
        """Keep the present settings as A, and go on as B."""
        self.sides, self.active = {"A": side}, "B"
        self._comparison += 1

    def leave(self) -> None:
        """Compare no longer: what is in force stays."""
        if not self.active:
            raise QuantizationError(_NOTHING_KEPT)
        self.sides, self.active = {}, ""

    def switch(self, side: Side) -> None:
        """Keep the present settings as the side that they are, and set all observers as the other side has them."""
        if not self.active:
            raise QuantizationError(_NOTHING_KEPT)
        self._end()
        here, there = self.active, "A" if self.active == "B" else "B"
        others = self.sides[there].settings
        changes = tuple(
            Change(name, before, others[name])
            for name in self._names
            if (before := self.setting(name)) != others[name]
        )
        step = Step(changes, (here, there), self._comparison)
        self._go(step)
        self.sides = {**self.sides, here: side}
        self._remember(step)

    def present(self) -> dict[str, Setting]:
        """Return how all observers are set now."""
        return {name: self.setting(name) for name in self._names}


_NOTHING_KEPT = "there is nothing to compare with: keep the present settings as A first"
