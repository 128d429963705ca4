"""The observers of a model as one thing: named, in order, judged together, their ranges changed and changed back."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.base import events
from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.base.listeners import Listeners
from workbench.quantization.damage import Damage, Damages
from workbench.quantization.error_statistics import ChannelValues, ErrorStatistics, density_of
from workbench.quantization.metrics import Figures, Measurement
from workbench.quantization.noise import Density
from workbench.quantization.observed import float_layer
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.points import Point
from workbench.quantization.prepared_form import form_of

__all__ = ["Calibration", "Change", "Entry"]

MOST_CHANGES = 200
"""How many changes can be undone."""

Range = tuple[float, float]

_NO_BATCH = "nothing to measure by: give a small batch, Calibration(model, evaluate=(inputs, labels))"


@dataclass(frozen=True)
class Change:
    """One change of a range: before and after, as set by hand; None means left to the observer."""

    name: str
    before: Range | None
    after: Range | None
    undone: bool = False


class Entry:
    """One observer of a model: what it is called, and the values that it knows."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.name = point.name
        self.observer = point.observer
        self.layer = point.layer
        """The layer whose weight is observed; None for activations."""
        self.path = point.path
        """Path of the layer that it belongs to; empty for functions and inputs."""
        self.nodes = point.nodes
        """Names of the nodes of the graph whose values, or whose weight, have its scale; empty without a graph."""
        # Versions begin at 0: nothing is known yet.
        self._known: tuple[int, ErrorStatistics | None] = (-1, None)
        self._ratio: tuple[int, float | None] = (-1, None)

    @property
    def evidence(self) -> ErrorStatistics | None:
        """The values seen so far, or None where no histogram of them is kept."""
        version = self.observer.data_version
        if self._known[0] != version:
            self._known = version, self._gather()
        return self._known[1]

    def _gather(self) -> ErrorStatistics | None:
        observer = self.observer
        if self.layer is not None:
            values = float_layer(self.layer).weight.payload
            if observer.qscheme.per_channel:
                return ChannelValues(values, getattr(observer, "ch_axis", 0) % values.ndim)
            found = density_of(values)
        else:
            found = observer.density() if hasattr(observer, "density") else None
        return None if found is None else _Whole(found)

    def range(self) -> Range | None:
        """Return the ends of the range in force, over all channels; None before the first value."""
        observer = self.observer
        if not observer.has_data and observer.override is None:
            return None
        if observer.qscheme.per_channel and observer.override is not None:
            low, high = observer.override
            least, most = observer.observed_range()
            # Every range holds 0.
            return max(low, float(least.min(initial=0))), min(high, float(most.max(initial=0)))
        low_ends, high_ends = observer.range()
        return float(low_ends.min()), float(high_ends.max())

    def sqnr(self) -> float | None:
        """Return the signal to quantization noise ratio under the range in force, in dB; None where it is not known."""
        version = self.observer.version
        if self._ratio[0] != version:
            limits, evidence = self.range(), self.evidence
            found = None
            if limits is not None and evidence is not None:
                found = evidence.sqnr(self.observer.scheme, *limits)
            self._ratio = version, found
        return self._ratio[1]


@dataclass(frozen=True)
class _Whole:
    """Evidence for one range over all values."""

    density: Density

    def sqnr(self, scheme: Any, low: float, high: float) -> float:
        return self.density.sqnr(scheme, low, high)

    def sqnrs(self, scheme: Any, lows: Any, highs: Any) -> Any:
        return self.density.sqnrs(scheme, lows, highs)


class Calibration:
    """The observers of a prepared model, in the order in which values reach them.

    Their names are those of the layers: ``conv2.output``, ``fc1.weight``, ``input``; in graph mode functions have
    the names of their nodes, ``add_1.output``. Ranges can be set from any thread while the model runs: the next
    batch, `figures`, `convert` and `convert_fx` go by them.

    `evaluate` is a small batch held out, inputs or (inputs, labels), by which `figures` measures what the present
    ranges do to the whole model.

    >>> import workbench as wb
    >>> prepared = wb.quantization.prepare(wb.models.DigitsNet().eval())
    >>> calibration = Calibration(prepared)
    >>> calibration.names[:3]
    ('input', 'conv1.weight', 'conv1.output')
    """

    def __init__(self, model: Any, evaluate: Any = None, title: str = "") -> None:
        self.model = model
        self.title = title or type(getattr(model, "module", model)).__name__
        self._form = form_of(model)
        self.entries = [Entry(point) for point in self._form.points()]
        if not self.entries:
            raise QuantizationError("the model has no observers: prepare() it first")
        self.measurement = None if evaluate is None else Measurement(model, evaluate, self._measured)
        self.damages: Damages | None = None
        """What each point costs by itself, where there is a batch to `evaluate` by."""
        if self.measurement is not None:
            points = [entry.point for entry in self.entries]
            self.damages = Damages(model, points, self.measurement.arguments, self._measured)
        self.finished = False
        """True once the model was converted."""
        self.last_change: Change | None = None
        self._by_name = {entry.name: entry for entry in self.entries}
        self._lock = threading.RLock()
        self._done: list[Change] = []
        self._taken_back: list[Change] = []
        self._drag: tuple[str, Range | None] | None = None
        self._listeners: Listeners[[Calibration]] = Listeners()
        for entry in self.entries:
            entry.observer.watch(self)
        # Past the registry: a calibration is no part of the model.
        object.__setattr__(model, "calibration", self)

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """Copies of a model have no calibration of their own until they are given one."""

    # ---------------------------------------------------------------------------------------- looking

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the observers, in order."""
        return tuple(entry.name for entry in self.ordered())

    def ordered(self) -> list[Entry]:
        """Return the entries in the order in which values first reached them; a weight stands before its output.

        Those of a graph stand in its order.
        """
        if self._form.ordered:
            return list(self.entries)
        place = {id(entry): i for i, entry in enumerate(self.entries)}
        reached = {
            entry.name.rpartition(".")[0]: entry.observer.serial
            for entry in self.entries
            if entry.layer is None and entry.observer.serial is not None
        }

        def key(entry: Entry) -> tuple[float, int]:
            serial = reached.get(entry.name.rpartition(".")[0])
            # What no value has reached comes last, as it stands.
            return (float("inf") if serial is None else serial, place[id(entry)])

        return sorted(self.entries, key=key) if reached else list(self.entries)

    def entry(self, name: str) -> Entry:
        """Return the observer called `name`."""
        found = self._by_name.get(name)
        if found is None:
            near = near_miss(name, self._by_name)
            raise QuantizationError(
                f"there is no observer {name!r}" + (f"; did you mean {near!r}?" if near else "")
            )
        return found

    def at(self, place: str) -> list[Entry]:
        """Return what is observed of the node of a graph called `place`, or of the layer at that path; maybe nothing.

        A value that shares the scale of another is observed where that one is.
        """
        return [entry for entry in self.ordered() if place in (*entry.nodes, entry.path)]

    def __getitem__(self, name: str) -> ObserverBase:
        return self.entry(name).observer

    def listen(self, listener: Callable[[Calibration], None]) -> Callable[[], None]:
        """Call ``listener(self)`` after every batch and every change; return a function that stops it."""
        return self._listeners.add(listener)

    def watched(self) -> bool:
        """Say whether anybody looks: then observers keep what pictures need."""
        return bool(self._listeners) or events.listening(self)

    def observed(self) -> None:
        """Tell those who look that an observer has seen a batch or got another range."""
        self.finished = False
        self._tell()

    def _tell(self) -> None:
        self._listeners.tell(self)
        events.publish(self)

    def _measured(self) -> None:
        self._tell()

    # --------------------------------------------------------------------------------------- changing

    def set_range(self, name: str, low: float, high: float, final: bool = True) -> None:
        """Set the range of an observer by hand; while `final` is False, as during a drag, it is not yet a step to undo.

        Raises `QuantizationError`, and changes nothing, for a range that cannot be.
        """
        observer = self.entry(name).observer
        with self._lock:
            before = observer.override
            observer.set_range(low, high)
            # From the range before the drag, which is undone as a whole.
            start = self._drag[1] if self._drag is not None and self._drag[0] == name else before
            change = Change(name, start, (float(low), float(high)))
            if final:
                self._drag = None
                self._remember(change)
            else:
                self._drag = (name, start)
            self.last_change = change
        self._tell()

    def reset_range(self, name: str) -> None:
        """Give the range back to the observer."""
        observer = self.entry(name).observer
        with self._lock:
            change = Change(name, observer.override, None)
            observer.reset_range()
            self._drag = None
            if change.before is not None:
                self._remember(change)
                self.last_change = change
        self._tell()

    def _remember(self, change: Change) -> None:
        self._done = [*self._done, change][-MOST_CHANGES:]
        self._taken_back = []

    @property
    def undo_count(self) -> int:
        """How many changes can be undone."""
        return len(self._done)

    @property
    def redo_count(self) -> int:
        """How many changes can be made again."""
        return len(self._taken_back)

    def undo(self) -> None:
        """Take the last change back. Raises `QuantizationError` if there is none."""
        with self._lock:
            if not self._done:
                raise QuantizationError("there is nothing to undo")
            change = self._done[-1]
            # First of all: where the range is refused, nothing is forgotten.
            self._put(change.name, change.before)
            self._done = self._done[:-1]
            self._taken_back = [*self._taken_back, change]
            self.last_change = Change(change.name, change.after, change.before, undone=True)
        self._tell()

    def redo(self) -> None:
        """Make the change again that was taken back. Raises `QuantizationError` if there is none."""
        with self._lock:
            if not self._taken_back:
                raise QuantizationError("there is nothing to redo")
            change = self._taken_back[-1]
            # First, for it may refuse: the change is still to be redone then.
            self._put(change.name, change.after)
            self._taken_back = self._taken_back[:-1]
            self._done = [*self._done, change]
            self.last_change = change
        self._tell()

    def _put(self, name: str, limits: Range | None) -> None:
        observer = self.entry(name).observer
        if limits is None:
            observer.reset_range()
        else:
            observer.set_range(*limits)

    # -------------------------------------------------------------------------------------- measuring

    def figures(self) -> Figures:
        """Measure what the present ranges do to the whole model, now.

        Raises `QuantizationError` where no batch was given to `evaluate` by, or observers have seen nothing yet.
        """
        if self.measurement is None:
            raise QuantizationError(_NO_BATCH)
        return self.measurement.now()

    def latest_figures(self, urgent: bool = False) -> Figures:
        """Return what was measured last, at once; where that is outdated, measure again in the background."""
        return Figures() if self.measurement is None else self.measurement.latest(urgent=urgent)

    def damage(self, budget: float = math.inf) -> list[Damage]:
        """Find what it costs the model to quantize each point alone, and return it, the dearest first.

        After `budget` seconds what is known by then is returned; the next call goes on. Raises `QuantizationError`
        where no batch was given to `evaluate` by, or observers have seen nothing yet.
        """
        if self.damages is None:
            raise QuantizationError(_NO_BATCH)
        self.damages.work(budget)
        return self.damages.known()

    def latest_damage(self) -> list[Damage]:
        """Return what is known of it, at once; what is outdated is found out beside, a little at a time."""
        return [] if self.damages is None else self.damages.latest()

    @property
    def outdated(self) -> bool:
        """Whether something has changed since the whole model was measured."""
        return self.measurement is not None and self.measurement.outdated

    def finish(self) -> None:
        """Say that nothing will change by itself any more: the model was converted."""
        self.finished = True
        self._tell()

    def code(self) -> str:
        """Return Python that sets the ranges that were set by hand."""
        lines = [
            f"calibration.set_range({entry.name!r}, {override[0]!r}, {override[1]!r})"
            for entry in self.ordered()
            if (override := entry.observer.override) is not None
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        lines = []
        for entry in self.ordered():
            found = entry.sqnr()
            ratio = "" if found is None else f", {found:.1f} dB"
            lines.append(f"  {entry.name}: {entry.observer.extra_repr()}{ratio}")
        return "\n".join([f"Calibration of {self.title}", *lines])
