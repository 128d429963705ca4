"""The observers of a model as a live view: what they saw, what rules would choose, a range to move by hand."""

from __future__ import annotations

import itertools
import math
import threading
import time
import weakref
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.base.number_format import percent
from workbench.live.messages import (
    Candidate,
    Channel,
    CurvePoint,
    Head,
    HistogramState,
    ModelFigures,
    ObserverDetail,
    ObserverRow,
    RedoEvent,
    Refusal,
    ResetRangeEvent,
    SelectEvent,
    SetRangeEvent,
    UndoEvent,
)
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.renderers import renderers
from workbench.quantization.calibration import Calibration, Change, Entry
from workbench.quantization.error_statistics import ChannelValues
from workbench.quantization.search import NAMES, RULES, curve
from workbench.widgets.base import HearingWidget

__all__ = ["HistogramModel", "HistogramWidget", "histogram", "observers"]

SPARK = 24
"""Bins of the small histogram in a row."""

BINS = 512
"""Most bins of the large one."""

MOST_CHANNELS = 256
"""Most channels drawn; of more, those that stand out and an even choice of the others."""

BUDGET = 0.002
"""Seconds that one picture spends on rows that are out of date; the others wait for the next."""

LONGEST = 200
"""Most characters of a text that travel."""

Range = tuple[float, float]


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
        self._rules: tuple[tuple[str, int], tuple[list[Candidate], list[CurvePoint]]] | None = None
        self._words: tuple[Change | None, str] = (None, "")
        self._urgent = False
        self._settled = False

    @property
    def calibration(self) -> Calibration:
        """The observers that are drawn."""
        return self._calibration

    # ---------------------------------------------------------------------------------------- picture

    def snapshot(self) -> Snapshot:
        """Return all rows, and the picked observer in detail; rows that changed since are made as time allows."""
        calibration = self._calibration
        with self._lock:
            entries = calibration.ordered()
            chosen = self._chosen(entries)
            settled, self._settled = self._settled, False
            rows = self._all_rows(entries, chosen, settled)
            detail, buffers = self._detail(chosen)
            urgent, self._urgent = self._urgent or settled, False
            figures = calibration.latest_figures(urgent)
            state = HistogramState(
                kind="histogram",
                head=self._head(),
                observers=rows,
                selected=chosen.name if chosen else None,
                detail=detail,
                model=ModelFigures(figures.sqnr, figures.accuracy, figures.float_accuracy),
                undo=calibration.undo_count,
                redo=calibration.redo_count,
                change=self._change(),
                refusal=self._refusal,
            )
        return Snapshot(state, buffers)

    def _head(self) -> Head:
        calibration = self._calibration
        live = not calibration.finished
        return Head(calibration.title[:LONGEST], self._source[:LONGEST], self.made, live, calibration.code())

    def _chosen(self, entries: list[Entry]) -> Entry | None:
        """The picked observer; until one is picked, the first that has seen something."""
        if self._selected is not None:
            return self._calibration.entry(self._selected)
        seen = [entry for entry in entries if entry.observer.has_data and entry.layer is None]
        return seen[0] if seen else None

    def settle(self) -> None:
        """Bring all rows and the model's figures up to date: nothing is disturbed by that any more."""
        self._settled = True
        if self._calibration.outdated:
            self.again()

    def _all_rows(self, entries: list[Entry], chosen: Entry | None, settled: bool) -> list[ObserverRow]:
        """Rows of all observers; the picked one's is always up to date, and when all has settled every row."""
        deadline = math.inf if settled else time.perf_counter() + BUDGET
        late = False
        # The rows that have waited longest come first, so that none is left behind while values stream in.
        for entry in sorted(entries, key=lambda entry: self._turns.get(entry.name, 0)):
            key = (entry.observer.version, entry.observer.batches)
            held = self._rows.get(entry.name)
            if held is not None and held[0] == key:
                continue
            # What somebody looks at is never late.
            if entry is chosen or time.perf_counter() < deadline:
                self._rows[entry.name] = key, _row(entry)
                self._turns[entry.name] = next(self._clock)
                continue
            late = True
            if held is None:
                # Without its figures for now, so that it is in the list at all.
                self._rows[entry.name] = (), _row(entry, judged=False)
        if late:
            self.again()
        return [self._rows[entry.name][1] for entry in entries]

    def _detail(self, entry: Entry | None) -> tuple[ObserverDetail | None, tuple[bytes, ...]]:
        # Without a histogram there is nothing to draw a range on.
        if entry is None or entry.evidence is None:
            return None, ()
        limits = entry.range()
        if limits is None:
            return None, ()
        observer, evidence = entry.observer, entry.evidence
        scheme = observer.scheme
        low, high = scheme.widened(*limits)
        scale, zero = observer.qparams()
        drawn = evidence.density.coarse(BINS)
        below, above = evidence.density.clipped(low, high)
        candidates, points = self._judged(entry)
        if observer.override is not None:
            candidates = [*candidates, Candidate("yours", low, high, _finite(entry.sqnr()))]
        name, channels = _channels(entry)
        detail = ObserverDetail(
            id=entry.name,
            bits=scheme.bits,
            quant_min=scheme.quant_min,
            quant_max=scheme.quant_max,
            observed_low=drawn.low,
            observed_high=drawn.high,
            counts_buffer=0,
            bins=len(drawn.counts),
            low=low,
            high=high,
            # With a scale for each channel, the coarsest.
            scale=float(np.max(scale)),
            zero_point=int(np.ravel(zero)[0]),
            clip_low=below,
            clip_high=above,
            sqnr=_finite(entry.sqnr()),
            candidates=candidates,
            curve=points,
            channel_dim=name,
            channels=channels,
        )
        return detail, (drawn.counts.astype("<f4").tobytes(),)

    def _judged(self, entry: Entry) -> tuple[list[Candidate], list[CurvePoint]]:
        """What the rules choose and the error curve: kept until the observer has seen more."""
        key = entry.name, entry.observer.data_version
        if self._rules is None or self._rules[0] != key:
            self._rules = key, _judge(entry)
        return self._rules[1]

    # ------------------------------------------------------------------------------------------ words

    def _change(self) -> str:
        """What the last change did."""
        calibration = self._calibration
        measurement = calibration.measurement
        if measurement is not None and measurement.trouble and calibration.last_change is None:
            return f"the whole model is not measured: {measurement.trouble}"[:LONGEST]
        change = calibration.last_change
        if self._words[0] is not change:
            self._words = change, "" if change is None else _sentence(calibration.entry(change.name), change)
        return self._words[1]

    # ----------------------------------------------------------------------------------------- events

    def handle(self, event: object) -> None:
        """Pick an observer; set, reset, undo or redo a range. Raises `Refused` where that cannot be done."""
        with self._lock:
            try:
                self._do(event)
            except QuantizationError as error:
                # Kept as well as raised: a page that is drawn anew shows it too.
                self._refusal = Refusal(_asked(event), str(error))
                self.changed()
                raise Refused(str(error)) from None
            self._refusal = None
            # What changes a range is shown with the figures that come of it.
            self._urgent = not isinstance(event, SelectEvent)
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
            case ResetRangeEvent(id=name):
                calibration.reset_range(name)
            case UndoEvent():
                calibration.undo()
            case RedoEvent():
                calibration.redo()
            case _:
                raise QuantizationError(f"observers know no {type(event).__name__}")


def _asked(event: object) -> str:
    return str(getattr(event, "type", type(event).__name__))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _row(entry: Entry, judged: bool = True) -> ObserverRow:
    """One line of the list; what takes time to find is left out unless `judged`."""
    observer = entry.observer
    names = entry.layer.weight.dim_labels if entry.layer is not None else observer.names
    each = "per channel" if observer.qscheme.per_channel else "per tensor"
    kind = "symmetric" if observer.qscheme.symmetric else "affine"
    return ObserverRow(
        id=entry.name,
        name=entry.name,
        dims=[name or "·" for name in names],
        dtype=observer.dtype.name,
        scheme=f"{each} · {kind}",
        batches=observer.batches,
        sqnr=_finite(entry.sqnr()) if judged else None,
        spark=_spark(entry) if judged else [],
        nan=observer.nan_count,
        inf=observer.inf_count,
        overridden=observer.override is not None,
    )


def _spark(entry: Entry) -> list[float]:
    """Heights by the square root, so that small bins show."""
    evidence = entry.evidence
    if evidence is None or evidence.density.total == 0:
        return []
    counts = evidence.density.coarse(SPARK).counts
    heights = np.sqrt(counts / counts.max())
    return [round(float(height), 3) for height in heights]


def _judge(entry: Entry) -> tuple[list[Candidate], list[CurvePoint]]:
    """What each rule would choose, and the ratio against the width of the range."""
    evidence, scheme = entry.evidence, entry.observer.scheme
    assert evidence is not None
    density, observer = evidence.density, entry.observer
    # What the observer itself searches for is what it has found, and is not searched for again.
    own = NAMES.get(getattr(observer, "search", ""))
    ranges = {
        name: _force(entry, None) or (0.0, 0.0) if name == own else rule(density, scheme)
        for name, rule in RULES.items()
    }
    ranges = {name: scheme.widened(*limits) for name, limits in ranges.items()}
    lows, highs = (np.array(ends) for ends in zip(*ranges.values(), strict=True))
    ratios = evidence.sqnrs(scheme, lows, highs)
    candidates = [
        Candidate(name, *ranges[name], _finite(float(ratio)))
        for name, ratio in zip(ranges, ratios, strict=True)
    ]
    widths, lows, highs, ratios = curve(density, scheme)
    # A weight with a range a channel is judged by its channels, and not as one heap of values.
    if isinstance(evidence, ChannelValues):
        ratios = evidence.sqnrs(scheme, lows, highs)
    points = [
        CurvePoint(float(width), float(low), float(high), _finite(float(ratio)))
        for width, low, high, ratio in zip(widths, lows, highs, ratios, strict=True)
    ]
    return candidates, points


def _channels(entry: Entry) -> tuple[str | None, list[Channel]]:
    """The ends of each channel, and which of them are far from their siblings."""
    evidence, observer = entry.evidence, entry.observer
    if isinstance(evidence, ChannelValues) and entry.layer is not None:
        axis = getattr(observer, "ch_axis", 0)
        name, low, high = entry.layer.weight.dim_labels[axis], evidence.low, evidence.high
    else:
        seen = getattr(observer, "channels", None)
        if seen is None or seen.low.size == 0:
            return None, []
        name, low, high = seen.name, seen.low, seen.high
    known = low <= high
    low, high = np.where(known, low, 0.0), np.where(known, high, 0.0)
    outlier = _outliers(np.maximum(np.abs(low), np.abs(high)))
    places = np.arange(low.size)
    if low.size > MOST_CHANNELS:
        even = np.linspace(0, low.size - 1, MOST_CHANNELS // 2).astype(int)
        # Those that stand out first of all, and of the others as many, evenly.
        places = np.unique(np.concatenate([even, np.flatnonzero(outlier)[: MOST_CHANNELS // 2]]))
    return name, [Channel(int(i), float(low[i]), float(high[i]), bool(outlier[i])) for i in places]


def _outliers(sizes: Any) -> Any:
    """Which sizes are far above the others: five robust deviations, and half as much again as the median."""
    middle = np.median(sizes)
    # 1.4826 makes of the median deviation what is a standard deviation of normal values.
    spread = 1.4826 * np.median(np.abs(sizes - middle))
    return (sizes > middle + 5 * spread) & (sizes > 1.5 * middle)


def _sentence(entry: Entry, change: Change) -> str:
    """Say what a change of a range did: "clipping 0.3 % more bought 1.7 dB"."""
    evidence = entry.evidence
    before, after = _force(entry, change.before), _force(entry, change.after)
    lead = f"{entry.name}: " + ("taken back: " if change.undone else "")
    if evidence is None or before is None or after is None:
        return f"{lead}set before any value was seen"
    scheme = entry.observer.scheme
    ratios = [evidence.sqnr(scheme, *limits) for limits in (before, after)]
    clips = [sum(evidence.density.clipped(*scheme.widened(*limits))) for limits in (before, after)]
    more = clips[1] - clips[0]
    # A ten-thousandth of a per cent is below what the words can say.
    if abs(more) >= 5e-6:
        deed = f"clipping {percent(abs(more))} {'more' if more > 0 else 'less'}"
    else:
        narrower = after[1] - after[0] < before[1] - before[0]
        deed = f"a {'narrower' if narrower else 'wider'} range that clips the same"
    gain = ratios[1] - ratios[0]
    if not math.isfinite(gain) or abs(gain) < 0.05:
        return f"{lead}{deed} changed less than 0.1 dB"
    return f"{lead}{deed} {'bought' if gain > 0 else 'cost'} {abs(gain):.1f} dB"


def _force(entry: Entry, override: Range | None) -> Range | None:
    """The range that is in force where `override` was set by hand."""
    if override is not None:
        return override
    observer = entry.observer
    if not observer.has_data:
        return None
    low, high = observer.observed_range()
    return float(low.min()), float(high.max())


def model_of(calibration: Calibration) -> HistogramModel:
    """Return the view model of `calibration`, the same one at every call while somebody draws it."""
    held = _models.get(id(calibration))
    # An id is given again, so it is looked whether this is really the one.
    if held is None or held.calibration is not calibration:
        held = _models[id(calibration)] = HistogramModel(calibration)
    return held


_models: weakref.WeakValueDictionary[int, HistogramModel] = weakref.WeakValueDictionary()
"""View models by the identity of their calibration; a model keeps its calibration alive, and nothing here does."""


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
