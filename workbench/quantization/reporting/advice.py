"""What to do about the worst points: each remedy is tried, and told with what it gained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.number_format import percent
from workbench.fx import Node
from workbench.nn import Module
from workbench.quantization.analysis import results_of
from workbench.quantization.batches import Batch
from workbench.quantization.default_observers import default_per_channel_weight_observer
from workbench.quantization.layerwise.judge import Judge, Loss, decibel_figure
from workbench.quantization.qconfig import QConfig
from workbench.quantization.qconfig_mapping import QConfigMapping
from workbench.quantization.reporting.points import PointFigures, Values
from workbench.quantization.rescaling import equalize
from workbench.quantization.search import candidates
from workbench.quantization.simulation.simulated import Part, Simulated
from workbench.quantization.tuning import correct_bias

__all__ = ["Advice", "advise"]

WORTH = 0.2
"""Least gain, in dB, that is told of."""
TRIED = 3
"""How many of the worst points each remedy is tried on."""
MOST_LAYERS = 40
"""Most layers of a model whose biases are corrected for a report: each takes a pass over the data."""


@dataclass(frozen=True)
class Advice:
    """One remedy that was tried, and what it does to the whole model in codes."""

    target: str
    """The point; empty for the whole model."""
    problem: str
    action: str
    code: str
    """What to write."""
    before: float
    after: float
    """SQNR of the model's output, in dB."""

    @property
    def gain(self) -> float:
        """In dB."""
        return self.after - self.before

    def __str__(self) -> str:
        place = f"{self.target}: " if self.target else ""
        return (
            f"{place}{self.problem}: {self.action} gives {decibel_figure(self.after)} dB instead of "
            f"{decibel_figure(self.before)}"
        )


class _Trials:
    """A model in codes, computed anew with one thing changed."""

    def __init__(self, simulated: Simulated, batches: list[Batch], judge: Judge, whole: Loss) -> None:
        self.simulated, self.batches, self.judge, self.whole = simulated, batches, judge, whole

    def ratio(self, changed: dict[str, Any] | None = None, left: tuple[str, ...] = ()) -> float:
        """Return the output's SQNR with other configurations for some parts, and some left in floating point."""
        chosen = {**self.simulated.everything(), **(changed or {})}
        kept = {name: config for name, config in chosen.items() if name not in left}
        return self.judge.loss(self.simulated.outputs(self.batches, kept)).sqnr


def advise(
    model: Module,
    simulated: Simulated,
    batches: list[Batch],
    judge: Judge,
    whole: Loss,
    values: dict[Node, Values],
    figures: list[PointFigures],
    integer: Any,
) -> list[Advice]:
    """Try remedies on the worst points and on the whole model, and return those that gain, the best first."""
    trials = _Trials(simulated, batches, judge, whole)
    costly = sorted((one for one in figures if one.cost is not None), key=lambda one: one.cost or 0.0)
    worst = [simulated[one.name] for one in costly[:TRIED]]
    told = {one.name: one for one in figures}
    found = [
        *_ranges(trials, values, figures),
        *_per_channel(trials, worst, told),
        *_in_float(trials, worst, told),
        *_equalized(model, trials, batches),
        *_corrected(model, trials, integer),
    ]
    return sorted((one for one in found if one.gain >= WORTH), key=lambda one: -one.gain)


def _ranges(trials: _Trials, values: dict[Node, Values], figures: list[PointFigures]) -> Iterator[Advice]:
    """Try the ranges that the rules of search choose for the points that lose most bits or decibels by themselves."""
    names = {one.name: one for one in figures}
    nodes = sorted(values, key=lambda node: names[_name(trials.simulated, node)].rounding_sqnr)
    for node in nodes[:TRIED]:
        name = _name(trials.simulated, node)
        observer: Any = trials.simulated.observer(node)
        if observer.override is not None:
            continue
        best: tuple[float, Any] | None = None
        for one in candidates(values[node].density, observer.scheme):
            try:
                observer.set_range(one.low, one.high)
                after = trials.ratio()
            except QuantizationError:  # a range that leaves out every value is none
                continue
            finally:
                observer.reset_range()
            if best is None or after > best[0]:
                best = after, one
        if best is not None:
            rule = "percentile 99.9" if best[1].rule == "percentile" else best[1].rule
            yield Advice(
                name if node.op == "placeholder" else f"{name}.output",
                _range_problem(names[name], values[node], best[1]),
                f"the range {best[1].low:.4g} … {best[1].high:.4g} ({rule})",
                f"HistogramObserver.with_args(search={best[1].rule!r})",
                trials.whole.sqnr,
                best[0],
            )


def _range_problem(one: PointFigures, values: Values, chosen: Any) -> str:
    lost = one.bits - one.bits_used
    outside = sum(values.density.clipped(chosen.low, chosen.high))
    if lost >= 0.5 and outside > 0:
        return f"{percent(outside)} outliers take {lost:.1f} of {one.bits} bits"
    if one.clipped > 0:
        return f"{percent(one.clipped)} of its values are clipped"
    return f"its codes keep {one.rounding_sqnr:.1f} dB of its values"


def _name(simulated: Simulated, node: Node) -> str:
    part = simulated.part_of(node)
    return node.name if part is None else part.name


def _per_channel(trials: _Trials, worst: list[Part], told: dict[str, PointFigures]) -> Iterator[Advice]:
    layers = [part for part in trials.simulated.parts if part.layer is not None]
    shared = [part for part in layers if told[part.name].per_channel is False]
    if not shared:
        return
    changed = {part.name: _by_channel(trials.simulated, part) for part in shared}
    few = min(told[part.name].weight_bits_used or 0.0 for part in shared)
    yield Advice(
        "", f"one scale a weight leaves the median channel of one as few as {few:.1f} bits",
        "a scale for each channel of the weights", "get_default_qconfig_mapping(\"onednn\")",
        trials.whole.sqnr, trials.ratio(changed),
    )  # fmt: skip


def _by_channel(simulated: Simulated, part: Part) -> QConfig:
    return QConfig(simulated.configs[part.node].activation, default_per_channel_weight_observer)


def _in_float(trials: _Trials, worst: list[Part], told: dict[str, PointFigures]) -> Iterator[Advice]:
    if len(trials.simulated.parts) == 1:  # then nothing would be left in codes
        return
    for part in worst:
        cost = told[part.name].cost or 0.0
        called = part.node.op == "call_module"
        yield Advice(
            part.name, f"alone in codes it leaves the output {cost:.1f} dB", "keeping it in floating point",
            f"mapping.set_module_name({part.name!r}, None)" if called else "mapping.set_object_type(…, None)",
            trials.whole.sqnr, trials.ratio(left=(part.name,)),
        )  # fmt: skip


def _equalized(model: Module, trials: _Trials, batches: list[Batch]) -> Iterator[Advice]:
    mapping: QConfigMapping = trials.simulated.given
    try:
        changed = equalize(model, *batches[0].sample)
    except QuantizationError:  # no two layers follow one another so
        return
    other = Simulated(changed, mapping, batches)
    after = trials.judge.loss(other.outputs(batches, other.everything())).sqnr
    yield Advice(
        "", "channels of one layer reach further than those of the next", "equalizing layers that follow one another",
        "model = wb.quantization.equalize(model, x)", trials.whole.sqnr, after,
    )  # fmt: skip


def _corrected(model: Module, trials: _Trials, integer: Any) -> Iterator[Advice]:
    if sum(part.layer is not None for part in trials.simulated.parts) > MOST_LAYERS:
        return
    corrected = correct_bias(integer, model, trials.batches)
    outputs = [corrected(*batch.arguments) for batch in trials.batches]
    before = trials.judge.loss([results_of(integer(*batch.arguments)) for batch in trials.batches]).sqnr
    after = trials.judge.loss([results_of(one) for one in outputs]).sqnr
    yield Advice(
        "", "codes move the means of layers' outputs", "correcting biases",
        "integer = wb.quantization.correct_bias(integer, model, data)", before, after,
    )  # fmt: skip
