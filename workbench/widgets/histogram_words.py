"""What a change of an observer did, in words."""

from __future__ import annotations

import math
from collections.abc import Callable

from workbench.base.number_format import percent
from workbench.quantization.calibration_changes import Change, Setting, Step
from workbench.quantization.calibration_entry import Entry
from workbench.quantization.observer_settings import RULE_NAMES, ObserverSettings, settings_of

__all__ = ["change_in_words", "difference_in_words", "missing_in_words", "range_under"]

Range = tuple[float, float]


def range_under(entry: Entry, override: Range | None) -> Range | None:
    """Return the range that is in force where `override` was set by hand."""
    if override is not None:
        return override
    observer = entry.observer
    if not observer.has_data:
        return None
    low, high = observer.observed_range()
    return float(low.min()), float(high.max())


def missing_in_words(entry: Entry | None) -> str:
    """Say why nothing can be drawn of an observer, and what to do: None is that of a model that saw no batch."""
    limits = None if entry is None else entry.range()
    if entry is not None and limits is not None and not hasattr(entry.observer, "density"):
        low, high = limits
        return f"A {type(entry.observer).__name__} keeps no histogram. Its range is {low:.4g} to {high:.4g}."
    if entry is None or not entry.observer.batches:
        return "This observer has seen no values yet: run a batch through the prepared model."
    observer, seen = entry.observer, _batches(entry.observer.batches)
    if observer.has_data:
        return (
            f"This observer kept no histogram of {seen}, as nobody watched: it fills from the next batch on."
        )
    counts = {"NaN": observer.nan_count, "infinite": observer.inf_count}
    broken = " and ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return (
        f"This observer has seen no finite value in {seen}, only {broken}, and there is no range around those: find "
        "out where they come from, then run a batch that is finite."
    )


def change_in_words(entry_of: Callable[[str], Entry], step: Step) -> str:
    """Say what a step did: "conv2.output: clipping 0.3 % more bought 1.7 dB"."""
    count = len(step.changes)
    otherwise = f"{count} observer{'' if count == 1 else 's'} {_are(count)} set otherwise"
    if step.sides[1]:
        return f"now {step.sides[1]}, where {otherwise}"
    if count != 1:
        return f"{otherwise}, as in a comparison that has ended"
    (change,) = step.changes
    entry = entry_of(change.name)
    lead = f"{change.name}: " + ("taken back: " if change.undone else "")
    return lead + (
        _of_range(entry, change)
        if change.before.factory == change.after.factory
        else _of_settings(entry, change)
    )


def _batches(count: int) -> str:
    return f"{count:,} batch{'' if count == 1 else 'es'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _of_range(entry: Entry, change: Change) -> str:
    evidence = entry.evidence
    before, after = (range_under(entry, one.range) for one in (change.before, change.after))
    if evidence is None or before is None or after is None:
        return "set before any value was seen"
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
    return f"{deed} {_gain(*ratios)}"


def _of_settings(entry: Entry, change: Change) -> str:
    (before, old), (after, new) = (_tried(entry, one) for one in (change.before, change.after))
    if old is None or new is None:
        return "set before any value was seen"
    return f"{difference_in_words(before, after)} {_gain(old, new)}"


def _gain(before: float, after: float) -> str:
    gain = after - before
    if not math.isfinite(gain) or abs(gain) < 0.05:
        return "made less than 0.1 dB of difference"
    return f"{'bought' if gain > 0 else 'cost'} {abs(gain):.1f} dB"


def _tried(entry: Entry, setting: Setting) -> tuple[ObserverSettings | None, float | None]:
    """What can be chosen of an observer under a setting, and the ratio that it has for what was seen."""
    trial = entry.trial(setting)
    return settings_of(trial.observer), trial.sqnr()


def difference_in_words(before: ObserverSettings | None, after: ObserverSettings | None) -> str:
    """Say what is chosen otherwise: "KL in place of L2, 4 bits in place of 8"."""
    if before is None or after is None:
        return "another observer"
    parts = []
    if before.rule != after.rule:
        parts.append(f"{RULE_NAMES[after.rule]} in place of {RULE_NAMES[before.rule]}")
    if before.symmetric != after.symmetric:
        parts.append("symmetric in place of affine" if after.symmetric else "affine in place of symmetric")
    if before.bits != after.bits:
        parts.append(f"{after.bits} bits in place of {before.bits}")
    if before.per_channel != after.per_channel:
        parts.append("a range a channel" if after.per_channel else "one range for all channels")
    return ", ".join(parts) or "the same"
