"""One observer in detail: its histogram, what rules would choose, the error curve, its channels, what can be chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.live.messages import (
    Candidate,
    Channel,
    CurvePoint,
    ObserverDetail,
    ObserverSettings,
    ValuesBeforeAfter,
)
from workbench.quantization.calibration_entry import Entry
from workbench.quantization.error_statistics import ChannelValues
from workbench.quantization.layer_values import LayerValues
from workbench.quantization.observer_settings import RULE_NAMES, settings_of
from workbench.quantization.search import NAMES, RULES, curve
from workbench.widgets.histogram_rows import finite
from workbench.widgets.histogram_words import range_under

__all__ = ["Judged", "detail_of", "judge"]

BINS = 512
"""Most bins of the histogram."""

MOST_CHANNELS = 256
"""Most channels drawn; of more, those that stand out and an even choice of the others."""

Judged = tuple[list[Candidate], list[CurvePoint]]


def detail_of(
    entry: Entry, judged: Judged, values: LayerValues | None = None
) -> tuple[ObserverDetail, tuple[bytes, ...]]:
    """Return everything about an observer that has values and a range, and the counts of its histograms."""
    limits, evidence, observer = entry.range(), entry.evidence, entry.observer
    assert limits is not None and evidence is not None
    scheme = observer.scheme
    low, high = scheme.widened(*limits)
    scale, zero = observer.qparams()
    drawn = evidence.density.coarse(BINS)
    below, above = evidence.density.clipped(low, high)
    candidates, points = judged
    if observer.override is not None:
        candidates = [*candidates, Candidate("yours", low, high, finite(entry.sqnr()))]
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
        sqnr=finite(entry.sqnr()),
        candidates=candidates,
        curve=points,
        channel_dim=name,
        channels=channels,
        settings=_settings(entry),
        values=None if values is None else _values(values),
    )
    counted = [drawn.counts] if values is None else [drawn.counts, values.before, values.after]
    return detail, tuple(counts.astype("<f4").tobytes() for counts in counted)


def _values(values: LayerValues) -> ValuesBeforeAfter:
    return ValuesBeforeAfter(
        low=values.low,
        high=values.high,
        bins=len(values.before),
        float_buffer=1,
        integer_buffer=2,
        sqnr=finite(values.sqnr),
        worst=values.worst,
        shift=values.shift,
    )


def _settings(entry: Entry) -> ObserverSettings | None:
    now = settings_of(entry.observer)
    if now is None:
        return None
    rules = [[name, shown] for name, shown in RULE_NAMES.items()]
    return ObserverSettings(
        now.rule, rules, now.symmetric, now.bits, now.per_channel, entry.layer is not None
    )


def judge(entry: Entry) -> Judged:
    """What each rule would choose, and the ratio against the width of the range."""
    evidence, scheme = entry.evidence, entry.observer.scheme
    assert evidence is not None
    density, observer = evidence.density, entry.observer
    # What the observer itself searches for is what it has found, and is not searched for again.
    own = NAMES.get(getattr(observer, "search", ""))
    ranges = {
        name: range_under(entry, None) or (0.0, 0.0) if name == own else rule(density, scheme)
        for name, rule in RULES.items()
    }
    ranges = {name: scheme.widened(*limits) for name, limits in ranges.items()}
    lows, highs = (np.array(ends) for ends in zip(*ranges.values(), strict=True))
    ratios = evidence.sqnrs(scheme, lows, highs)
    candidates = [
        Candidate(name, *ranges[name], finite(float(ratio)))
        for name, ratio in zip(ranges, ratios, strict=True)
    ]
    # A weight with a range a channel is judged by its channels, and not as one heap of values.
    own_ratios = evidence.sqnrs if isinstance(evidence, ChannelValues) else None
    widths, lows, highs, ratios = curve(density, scheme, sqnrs=own_ratios)
    points = [
        CurvePoint(float(width), float(low), float(high), finite(float(ratio)))
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
    # At the end of float32 the sums below are beyond it.
    sizes = sizes.astype(np.float64)
    middle = np.median(sizes)
    # 1.4826 makes of the median deviation what is a standard deviation of normal values.
    spread = 1.4826 * np.median(np.abs(sizes - middle))
    return (sizes > middle + 5 * spread) & (sizes > 1.5 * middle)
