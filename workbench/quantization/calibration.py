"""The observers of a model as one thing: named, in order, judged together, their ranges changed and changed back."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.base import events
from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.base.listeners import Listeners
from workbench.graph import GraphDiff
from workbench.graph import diff as graph_diff
from workbench.quantization.calibration_changes import Change, Changes, Setting, Side, Step
from workbench.quantization.calibration_code import code_of
from workbench.quantization.calibration_entry import Entry
from workbench.quantization.damage import Damage, Damages
from workbench.quantization.metrics import Figures, Measurement
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.observer_settings import factory_of, reset_by
from workbench.quantization.observer_succession import put_in_place
from workbench.quantization.prepared_form import form_of

__all__ = ["Calibration", "Change", "Entry"]

_NO_BATCH = "nothing to measure by: give a small batch, Calibration(model, evaluate=(inputs, labels))"


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
        self._by_name = {entry.name: entry for entry in self.entries}
        self._lock = threading.RLock()
        self._changed: tuple[int, ...] = ()
        """The versions of all observers when a setting was changed last."""
        self._changes = Changes(tuple(self._by_name), self.__getitem__, self._put)
        self._listeners: Listeners[[Calibration]] = Listeners()
        for entry in self.entries:
            entry.observer.watch(self)
        # Past the registry: a calibration is no part of the model.
        object.__setattr__(model, "calibration", self)

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """Copies of a model have no calibration of their own until they are given one."""

    def __reduce__(self) -> Any:
        """Nor have those that are pickled: it belongs to the process in which its observers watch."""
        return type(None), ()

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
        self.entry(name)
        with self._lock:
            before = self._changes.setting(name)
            self._changes.put(name, replace(before, range=(low, high)), final)
        self._tell()

    def set_scale(self, name: str, scale: float, zero_point: int) -> None:
        """Set the range of an observer by scale and zero point: from (quant_min - z)·s to (quant_max - z)·s.

        Raises `QuantizationError`, and changes nothing, for numbers that cannot be.
        """
        scheme = self.entry(name).observer.scheme
        self.set_range(name, *scheme.range_of(scale, zero_point))

    def reset_range(self, name: str) -> None:
        """Give the range back to the observer."""
        self.entry(name)
        with self._lock:
            before = self._changes.setting(name)
            self._changes.put(name, replace(before, range=None))
        self._tell()

    def choose(self, name: str, **chosen: Any) -> None:
        """Choose settings of an observer, in force from the next batch on: fields of `ObserverSettings`.

        What was seen is kept as far as the new observer can. Choosing a rule gives it the range, one that was set by
        hand goes. Raises `QuantizationError`, and changes nothing, for what no observer, or no kernel, can do.

        >>> import workbench as wb
        >>> prepared = wb.quantization.prepare(wb.models.DigitsNet().eval())
        >>> prepared.calibration.choose("conv1.output", rule="kl", bits=4)
        >>> prepared.calibration["conv1.output"].search, prepared.calibration["conv1.output"].quant_max
        ('kl', 15)
        """
        entry = self.entry(name)
        # Before the rule has its say: under another one it would be refused all the same.
        each = chosen.get("per_channel", entry.observer.qscheme.per_channel)
        if each is True and entry.layer is None:
            raise QuantizationError(
                f"{name} is no weight: integer kernels add up over the channels of what comes in, so its values "
                "have one scale. Turn per channel on for weights"
            )
        with self._lock:
            # Within: of two gestures at once, each builds on what the other has chosen.
            factory = reset_by(entry.observer, **chosen)
            kept = None if "rule" in chosen else entry.observer.override
            self._changes.put(name, Setting(factory, kept))
        self._tell()

    @property
    def last_change(self) -> Step | None:
        """What the last gesture changed."""
        return self._changes.last

    @property
    def undo_count(self) -> int:
        """How many changes can be undone."""
        return len(self._changes.done)

    @property
    def unfinished(self) -> bool:
        """Whether a gesture has changed something and has not ended, which `undo` takes back like any other."""
        return self._changes.unfinished

    @property
    def redo_count(self) -> int:
        """How many changes can be made again."""
        return len(self._changes.taken_back)

    def undo(self) -> None:
        """Take the last change back. Raises `QuantizationError` if there is none."""
        with self._lock:
            self._changes.undo()
        self._tell()

    def redo(self) -> None:
        """Make the change again that was taken back. Raises `QuantizationError` if there is none."""
        with self._lock:
            self._changes.redo()
        self._tell()

    def _put(self, name: str, setting: Setting) -> None:
        """Set an observer; a range that it cannot have is refused before anything changes."""
        entry = self.entry(name)
        observer = entry.observer
        if setting.factory is not None and setting.factory != factory_of(observer):
            # Refused, if it must be, before anything is put in place.
            made = entry.trial(setting).observer
            put_in_place(self.model, observer, made)
            entry.take(made)
            if self.measurement is not None:
                self.measurement.follow(observer, made)
            if self.damages is not None:
                self.damages.follow(observer, made)
            made.watch(self)
        elif setting.range is None:
            observer.reset_range()
        elif setting.range != observer.override:
            observer.set_range(*setting.range)
        if self.measurement is not None:
            self._changed = self.measurement.versions()

    # -------------------------------------------------------------------------------------- comparing

    def keep(self) -> None:
        """Keep the present settings as A, and go on as B."""
        with self._lock:
            self._changes.keep(self._side())
        self._tell()

    def switch(self) -> None:
        """Set all observers as the side that was kept, and keep those of now.

        Raises `QuantizationError` where nothing was kept.
        """
        with self._lock:
            self._changes.switch(self._side())
        self._tell()

    def leave(self) -> None:
        """Compare no longer. Raises `QuantizationError` where nothing was kept."""
        with self._lock:
            self._changes.leave()
        self._tell()

    @property
    def active(self) -> str:
        """Which side is in force while two are compared: ``"A"`` or ``"B"``; else empty."""
        return self._changes.active

    def compared(self) -> dict[str, Side]:
        """Return both sides by their names: the one in force as it is now, the other as it was left; else nothing."""
        with self._lock:
            return self._changes.compared(self._side()) if self.active else {}

    def _side(self) -> Side:
        ratios = {entry.name: entry.sqnr() for entry in self.entries}
        known = self.answered
        figures = self.latest_figures()
        # Those of before the last change are another side's.
        return Side(self._changes.present(), figures if known else Figures(), ratios)

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

    def difference(self) -> GraphDiff:
        """Return what is different between the graph of the model in floating point and that of what `convert` makes.

        Raises `QuantizationError` where no batch was given to `evaluate` by, or observers have seen nothing yet.

        >>> import workbench as wb
        >>> prepared = wb.quantization.prepare(wb.nn.Sequential(wb.nn.Linear(3, 2)).eval())
        >>> calibration = Calibration(prepared, evaluate=wb.ones(1, 3))
        >>> _ = prepared(wb.ones(4, 3))
        >>> [one.op for one in calibration.difference().added]
        ['quantize_per_tensor', 'quantized_linear', 'dequantize']
        """
        if self.measurement is None:
            raise QuantizationError(_NO_BATCH)
        return graph_diff(*self.measurement.graphs())

    @property
    def answered(self) -> bool:
        """Whether the whole model was measured since a setting was changed last, or nobody measures it."""
        return self.measurement is None or self.measurement.covers(self._changed)

    @property
    def outdated(self) -> bool:
        """Whether something has changed since the whole model was measured."""
        return self.measurement is not None and self.measurement.outdated

    def finish(self) -> None:
        """Say that nothing will change by itself any more: the model was converted."""
        self.finished = True
        self._tell()

    def code(self) -> str:
        """Return Python that prepares the model with the same observers, and sets the ranges that were set by hand."""
        observers = {entry.name: entry.observer for entry in self.ordered()}
        return code_of(self.model, observers, self._changes.chosen)

    def __repr__(self) -> str:
        lines = []
        for entry in self.ordered():
            found = entry.sqnr()
            ratio = "" if found is None else f", {found:.1f} dB"
            lines.append(f"  {entry.name}: {entry.observer.extra_repr()}{ratio}")
        return "\n".join([f"Calibration of {self.title}", *lines])
