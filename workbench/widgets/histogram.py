"""The observers of a model as a live view: what they saw, what rules would choose, a range to move by hand."""

from __future__ import annotations

import itertools
import math
import threading
import time
import weakref
from dataclasses import replace
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.live import cells
from workbench.live.answer import asked
from workbench.live.messages import (
    ChooseEvent,
    CompareEvent,
    Head,
    HistogramState,
    ObserverDetail,
    ObserverRow,
    RedoEvent,
    Refusal,
    ResetRangeEvent,
    SelectEvent,
    SetRangeEvent,
    SetScaleEvent,
    ShowDifferenceEvent,
    ShowValuesEvent,
    UndoEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.quantization.calibration import Calibration, Entry
from workbench.quantization.calibration_changes import Step
from workbench.quantization.layer_values import LayerValuesBeside
from workbench.quantization.turns import turns
from workbench.widgets.base import HearingWidget
from workbench.widgets.histogram_comparison import comparison_of, figures_of
from workbench.widgets.histogram_detail import Judged, detail_of, judge
from workbench.widgets.histogram_difference import ShownDifference
from workbench.widgets.histogram_rows import finite, row_of
from workbench.widgets.histogram_words import change_in_words, missing_in_words

__all__ = ["HistogramModel", "HistogramWidget", "histogram", "observers"]

BUDGET = 0.002
"""Seconds that one picture spends on rows that are out of date; the others wait for the next."""

LONGEST = 200
"""Most characters of a text that travel."""


class HistogramModel(ViewModel):
    """Draws the observers of `calibration`, one of them in detail, and changes their ranges as a person asks.

    What a person asked for and cannot be is refused in words, and nothing has changed.
    """

    view = "histogram"

    def __init__(self, calibration: Calibration, source: str = "") -> None:
        super().__init__()
        self._calibration = calibration
        self._source = source
        self._lock = threading.RLock()
        self._selected: str | None = None
        self._refusal: Refusal | None = None
        self._rows: dict[str, tuple[tuple[int, ...], ObserverRow]] = {}
        self._turns: dict[str, int] = {}
        self._clock = itertools.count(1)
        self._rules: tuple[tuple[str, int], Judged] | None = None
        self._words: tuple[Step | None, str] = (None, "")
        self._code: tuple[object, str] = (None, "")
        self._difference = ShownDifference(calibration)
        self._values = LayerValuesBeside(calibration.measurement, self._found)
        self._show_values = False
        self._urgent = False
        # What a person waits for: what their change does to the whole model, and values before and after.
        self._awaited = self._values_awaited = False
        self._settled = self._hasty = False

    @property
    def calibration(self) -> Calibration:
        """The observers that are drawn."""
        return self._calibration

    def call(self, source: str) -> None:
        """Say where it comes from: the variable and the cell."""
        self._source = source
        self.again()

    @property
    def called(self) -> bool:
        """Whether it is known where it comes from."""
        return bool(self._source)

    # ---------------------------------------------------------------------------------------- picture

    def snapshot(self) -> Snapshot:
        """Return all rows, and the picked observer in detail; rows that changed since are made as time allows."""
        calibration = self._calibration
        with self._lock:
            entries = calibration.ordered()
            chosen = self._chosen(entries)
            settled, self._settled = self._settled, False
            damages = {one.name: one.sqnr for one in calibration.latest_damage()}
            self._make_rows(entries, chosen, settled, damages)
            detail, buffers = self._picked(chosen, settled, damages)
            self._urgent = False
            figures, measurement = calibration.latest_figures(urgent=settled), calibration.measurement
            state = HistogramState(
                kind="histogram",
                head=self._head(),
                observers=[self._rows[entry.name][1] for entry in entries],
                selected=chosen.name if chosen else None,
                detail=detail,
                model=figures_of(figures, None if measurement is None else measurement.samples),
                undo=calibration.undo_count + calibration.unfinished,
                redo=calibration.redo_count,
                change=self._change(),
                refusal=self._refusal,
                comparison=comparison_of(calibration),
                show_values=self._show_values,
                no_values=self._values.trouble if self._show_values else "",
                no_detail="" if detail is not None else missing_in_words(chosen),
            )
        return Snapshot(state, buffers)

    def _head(self) -> Head:
        calibration = self._calibration
        live = not calibration.finished
        # What it says depends on which observers there are, and on what was set by hand.
        key = [(id(entry.observer), entry.observer.override) for entry in calibration.entries]
        if self._code[0] != key:
            self._code = key, calibration.code()
        return Head(calibration.title[:LONGEST], self._source[:LONGEST], self.made, live, self._code[1])

    def _chosen(self, entries: list[Entry]) -> Entry | None:
        """The picked observer; until one is picked, the first that has seen something, best of all a number."""
        if self._selected is not None:
            return self._calibration.entry(self._selected)
        seen = [entry for entry in entries if entry.observer.batches and entry.layer is None]
        known = [entry for entry in seen if entry.observer.has_data]
        return next(iter([*known, *seen]), None)

    def changed(self) -> None:
        """Tell every listener; figures that a person waits for are told in a hurry, whoever has found them."""
        if self._awaited and self._calibration.answered:
            self._awaited, self._hasty = False, True
            with asked():
                super().changed()
        else:
            super().changed()

    def _found(self) -> None:
        """Show values before and after quantization: the first ones that a person waits for in a hurry."""
        if self._values_awaited:
            self._values_awaited = False
            with asked():
                self.again()
        else:
            self.again()

    def settle(self) -> None:
        """Bring all rows and the model's figures up to date: nothing is disturbed by that any more."""
        self._settled = True
        if self._calibration.outdated:
            # A picture of many rows is made now, and figures found then would else wait while it rests: up to a minute.
            self._awaited = True
            self.again()

    def _make_rows(
        self, entries: list[Entry], chosen: Entry | None, settled: bool, damages: dict[str, float]
    ) -> None:
        """Have rows of all observers; the picked one's is always up to date, and when all has settled every row."""
        hasty, self._hasty = self._hasty or not turns.free, False
        # Where a person waits for this picture, or for the next, rows wait: of a large weight one takes a while.
        deadline = math.inf if settled else -math.inf if hasty else time.perf_counter() + BUDGET
        late = False
        # The rows that have waited longest come first, so that none is left behind while values stream in.
        for entry in sorted(entries, key=lambda entry: self._turns.get(entry.name, 0)):
            damage = damages.get(entry.name)
            if self._key(entry) == self._rows.get(entry.name, (None,))[0]:
                self._price(entry, damage)
                continue
            # What somebody looks at is never late.
            if entry is chosen or time.perf_counter() < deadline:
                self._make_row(entry, damage)
                continue
            late = True
            if entry.name not in self._rows:
                # Without its figures for now, so that it is in the list at all.
                self._rows[entry.name] = (), row_of(entry, judged=False, damage=damage)
            else:
                self._price(entry, damage)
        if late:
            self.again()

    def _key(self, entry: Entry) -> tuple[int, ...]:
        return entry.observer.version, entry.observer.batches

    def _make_row(self, entry: Entry, damage: float | None) -> None:
        self._rows[entry.name] = self._key(entry), row_of(entry, damage=damage)
        self._turns[entry.name] = next(self._clock)

    def _price(self, entry: Entry, damage: float | None) -> None:
        """Write what a point costs the model into its row, and leave the rest as it is, which takes longer to make."""
        key, row = self._rows[entry.name]
        if row.damage != finite(damage):
            self._rows[entry.name] = key, replace(row, damage=finite(damage))

    def _picked(
        self, entry: Entry | None, urgent: bool, damages: dict[str, float]
    ) -> tuple[ObserverDetail | None, tuple[bytes, ...]]:
        """The detail of the picked observer, and its row once more, both of one moment: a cell may run."""
        if entry is None:
            return None, ()
        if entry.evidence is not None and entry.range() is not None:
            # Beforehand, for it takes its time.
            self._judged(entry)
        with entry.observer.still():
            if self._key(entry) != self._rows[entry.name][0]:
                self._make_row(entry, damages.get(entry.name))
            return self._detail(entry, urgent)

    def _detail(self, entry: Entry | None, urgent: bool) -> tuple[ObserverDetail | None, tuple[bytes, ...]]:
        # Without a histogram there is nothing to draw a range on.
        if entry is None or entry.evidence is None or entry.range() is None:
            return None, ()
        values = self._values.latest(entry, urgent or self._urgent) if self._show_values else None
        return detail_of(entry, self._judged(entry), values)

    def _judged(self, entry: Entry) -> Judged:
        """What the rules choose and the error curve: kept until the observer has seen more."""
        key = entry.name, entry.observer.data_version
        if self._rules is None or self._rules[0] != key:
            self._rules = key, judge(entry)
        return self._rules[1]

    # ------------------------------------------------------------------------------------------ words

    def _change(self) -> str:
        """What the last change did, and why nothing is known of the whole model, if so."""
        calibration = self._calibration
        measurement, change = calibration.measurement, calibration.last_change
        if self._words[0] is not change:
            self._words = change, "" if change is None else change_in_words(calibration.entry, change)
        words = [self._words[1]] if self._words[1] else []
        if measurement is not None and measurement.trouble:
            words.append(f"the whole model is not measured: {measurement.trouble}")
        return " · ".join(words)[:LONGEST]

    # ----------------------------------------------------------------------------------------- places

    def places_of(self, identity: str) -> tuple[str, ...]:
        """Return the nodes that an observer watches, and the path of its layer."""
        entry = self._calibration.entry(identity)
        return tuple(place for place in (*entry.nodes, entry.path.removeprefix("module.")) if place)

    def show_place(self, places: tuple[str, ...]) -> None:
        """Show the observer that is called as one of `places`, or of what lies there: of its values, or its weight."""
        for place in places:
            named = [entry for entry in self._calibration.entries if entry.name == place]
            found = named or self._calibration.at(place) or self._calibration.at(f"module.{place}")
            if found:
                chosen = next((entry for entry in found if entry.layer is None), found[0])
                with self._lock:
                    self._selected = chosen.name
                self.again()
                return
        raise Refused(f"nothing is observed at {' or '.join(places)}")

    # ----------------------------------------------------------------------------------------- events

    def handle(self, event: object) -> None:
        """Pick an observer; set, reset, undo or redo a range. Raises `Refused` where that cannot be done."""
        try:
            if isinstance(event, ShowDifferenceEvent):
                # Without the lock: a large model takes its time to trace, and pictures go on.
                self._difference.show(self._calibration.entry(event.id))
                self._refusal = None
                self.again()
                return
            with self._lock:
                self._do(event)
        except QuantizationError as error:
            # Kept as well as raised: a page that is drawn anew shows it too.
            self._refusal = Refusal(_asked(event), str(error))
            self.changed()
            raise Refused(str(error)) from None
        with self._lock:
            self._refusal = None
            # What changes a range is shown with the figures that come of it.
            self._urgent = not isinstance(event, SelectEvent | ShowValuesEvent)
            self._awaited = self._awaited or self._urgent
            self._values_awaited = self._show_values
        if self._urgent:
            # Begun now, and not only once the picture is made that shows the range.
            self._calibration.latest_figures(urgent=True)
        # Looking at another observer is no news of any.
        (self.changed if self._urgent else self.again)()

    def _do(self, event: object) -> None:
        calibration = self._calibration
        match event:
            case SelectEvent(id=None):
                self._selected = None
            case SelectEvent(id=str() as name):
                self._selected = calibration.entry(name).name
            case SetRangeEvent(id=name, low=low, high=high, final=final):
                calibration.set_range(name, low, high, final)
            case SetScaleEvent(id=name, scale=scale, zero_point=zero):
                calibration.set_scale(name, scale, zero)
            case ChooseEvent(id=name):
                chosen = {part: value for part in _PARTS if (value := getattr(event, part)) is not None}
                calibration.choose(name, **chosen)
            case CompareEvent(what=what):
                {"keep": calibration.keep, "switch": calibration.switch, "leave": calibration.leave}[what]()
            case ShowValuesEvent(on=on):
                self._show_values = on
            case ResetRangeEvent(id=name):
                calibration.reset_range(name)
            case UndoEvent():
                calibration.undo()
            case RedoEvent():
                calibration.redo()
            case _:
                raise QuantizationError(f"observers know no {type(event).__name__}")


_PARTS = ("rule", "symmetric", "bits", "per_channel")
"""What can be chosen of an observer."""


def _asked(event: object) -> str:
    return str(getattr(event, "type", type(event).__name__))


def model_of(calibration: Calibration) -> HistogramModel:
    """Return the view model of `calibration`, the same one at every call while somebody draws it."""
    held = _models.get(id(calibration))
    # An id is given again, so it is looked whether this is really the one.
    if held is None or held.calibration is not calibration:
        held = _models[id(calibration)] = HistogramModel(calibration)
    return held


_models: weakref.WeakValueDictionary[int, HistogramModel] = weakref.WeakValueDictionary()
"""View models by the identity of their calibration; a model keeps its calibration alive, and nothing here does."""


def _ended(result: Any, names: dict[str, Any]) -> None:
    """Call what a cell has prepared by the variable that has it, or its model."""
    for model in [*_models.values()]:
        if model.called:
            continue
        calibration = model.calibration
        for wanted in (calibration, calibration.model):
            # What begins with a line is the notebook's own, such as its last results.
            name = next((one for one, value in names.items() if value is wanted and one[:1] != "_"), "")
            if name:
                number = result.execution_count
                model.call(name if number is None else f"{name} · cell {number}")
                break


cells.ended.add(_ended)


class HistogramWidget(HearingWidget):
    """The observers of a prepared model in a cell; they can be watched and moved while another cell runs."""

    def __init__(self, calibration: Calibration, **traits: Any) -> None:
        super().__init__(model_of(calibration), calibration, **traits)


def observers(model: Any) -> HistogramWidget:
    """Show the observers of a prepared model, or of a `Calibration`, in this cell."""
    calibration = model if isinstance(model, Calibration) else getattr(model, "calibration", None)
    if not isinstance(calibration, Calibration):
        raise QuantizationError("the model has no observers: wb.quantization.prepare(model) first")
    return HistogramWidget(calibration)


histogram = observers
"""The same by what it draws."""


renderers.register(Calibration, model_of)
