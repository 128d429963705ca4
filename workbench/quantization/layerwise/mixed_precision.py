"""Mixed precision: how many bits each layer gets, so that the model keeps a budget and loses least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workbench.base import renderer_lookup
from workbench.base.errors import QuantizationError
from workbench.data.progress import progress as bar
from workbench.nn import Module
from workbench.quantization.batches import batches_of
from workbench.quantization.layerwise import drawing
from workbench.quantization.layerwise.budgets import FULL, Budget, budget_of, configuration
from workbench.quantization.layerwise.frontier import Option, Stop, best_within, frontier
from workbench.quantization.layerwise.judge import Judge, Loss, decibel_figure
from workbench.quantization.qconfig_mapping import QConfigMapping, get_default_qconfig_mapping
from workbench.quantization.quantize_fx import as_mapping
from workbench.quantization.simulation.simulated import Simulated

__all__ = ["MixedPrecision", "Uniform", "mixed_precision"]

CHOICES = ("fp32", "int8", "int4")
"""What a layer may have: nothing in codes; all in 8 bits; weights in 4 bits, and 8 for what flows."""


@dataclass(frozen=True)
class Uniform:
    """All layers with the same choice."""

    name: str
    cost: float
    loss: Loss


class MixedPrecision:
    """Which layer has how many bits; prints as a table, and shows as one in a notebook."""

    def __init__(
        self,
        budget: Budget,
        layers: list[tuple[str, str, list[Option]]],
        chosen: dict[str, str],
        mapping: QConfigMapping,
        loss: Loss,
        stops: list[tuple[float, float]],
        uniform: list[Uniform],
    ) -> None:
        self.budget = budget
        self.choices = chosen
        """For each layer what it has: ``fp32``, ``int8`` or ``int4``."""
        self.qconfig_mapping = mapping
        """For `prepare_fx`."""
        self.loss = loss
        """What the whole model loses so, measured."""
        self.curve = stops
        """Pairs of cost and SQNR in dB, forecast: the best for each budget. Errors of layers are taken to add up."""
        self.uniform = uniform
        """All layers alike, measured."""
        self._layers = layers

    @property
    def cost(self) -> float:
        """What this choice costs, in the unit of the budget."""
        return self.budget.fixed + sum(one.cost for one in self._picked().values())

    def columns(self) -> list[tuple[str, str]]:
        """Return the heads of the table, each with what it means."""
        return [
            ("layer", "as the model calls it"),
            ("bits", "what the layer has"),
            (self.budget.unit, "what it costs so"),
            ("share of the error", "of the squared errors that the chosen codes alone make in the output"),
        ]

    def rows(self) -> list[list[str]]:
        """Return the table's cells as text."""
        picked = self._picked()
        return [
            [
                f"{name} ({kind})",
                picked[name].name,
                self.budget.figure(picked[name].cost),
                f"{100 * share:.0f} %",
            ]
            for (name, kind, _), share in zip(self._layers, self.shares(), strict=True)
        ]

    barred = 3
    """The column that `shares` are about."""

    def shares(self) -> list[float]:
        """Return the part of each layer in the squared errors that the chosen codes make."""
        harms = [one.harm for one in self._picked().values()]
        return [harm / (sum(harms) or 1.0) for harm in harms]

    def _picked(self) -> dict[str, Option]:
        return {
            name: next(one for one in options if one.name == self.choices[name])
            for name, _, options in self._layers
        }

    def summary(self) -> str:
        """Return what it comes to, in words."""
        figure = self.budget.figure
        told = f"{figure(self.cost)} of {figure(self.budget.limit)}: {decibel_figure(self.loss.sqnr)} dB"
        alike = ", ".join(
            f"{one.name} {figure(one.cost)} {decibel_figure(one.loss.sqnr)} dB" for one in self.uniform
        )
        return f"{told} · all alike: {alike}"

    def __repr__(self) -> str:
        return drawing.text_table([head for head, _ in self.columns()], self.rows()) + "\n" + self.summary()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the mapping as plain values."""
        return {
            "budget": {"unit": self.budget.unit, "limit": self.budget.limit},
            "cost": self.cost,
            "choices": dict(self.choices),
            "loss": asdict(self.loss),
            "curve": [list(one) for one in self.curve],
            "uniform": [asdict(one) for one in self.uniform],
        }

    def plot(self) -> Any:
        """Return a matplotlib figure of SQNR against cost: the best for each budget, this choice, all layers alike."""
        points = [("chosen", self.cost, self.loss.sqnr)]
        points += [(f"all {one.name}", one.cost, one.loss.sqnr) for one in self.uniform]
        return drawing.curve(
            [cost for cost, _ in self.curve],
            [ratio for _, ratio in self.curve],
            points,
            (self.budget.unit, "SQNR of the output, dB"),
            self.budget.figure,
            binary=self.budget.name == "size",
        )


def mixed_precision(
    model: Module,
    data: Any,
    *,
    size: float | None = None,
    time: float | None = None,
    bit_operations: float | None = None,
    choices: Sequence[str] = CHOICES,
    functions: bool = False,
    qconfig_mapping: Any = None,
    progress: bool = True,
) -> MixedPrecision:
    """Choose for each layer of a model in use how many bits it has, so that it keeps a budget and loses least.

    The budget is one of `size`, in bytes of the whole model, with 4-bit codes counted as packed; `time`, in seconds of
    a call with the first batch, layers being measured in floating point and in integers; and `bit_operations` of one
    sample, Σ products·bits of weights·bits of values. `choices` are some of ``"fp32"``, ``"int8"`` and ``"int4"``
    (weights of 4 bits, values of 8). `functions` puts what has no weight and a scale of its own into 8 bits, too.

    Each layer is computed alone with each choice. The squared errors are taken to add up, and the best choice under
    every budget is found by dynamic programming; it is then computed as a whole, and where all layers alike keep the
    budget and lose less, they are what is returned.

    Raises `QuantizationError` for no budget or several, for one that cannot be kept (it says what the least is), for
    other choices, and as `sensitivity` does.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(64, 64), wb.nn.ReLU(), wb.nn.Linear(64, 4)).eval()
    >>> found = mixed_precision(model, wb.rand(32, 64), size=8000, progress=False)
    >>> found.cost <= 8000, sorted(found.choices)
    (True, ['0', '2'])
    """
    _check_choices(choices)
    limits = {"size": size, "time": time, "bit_operations": bit_operations}
    batches = batches_of(data, model)
    given = get_default_qconfig_mapping("onednn") if qconfig_mapping is None else qconfig_mapping
    simulated = Simulated(model, as_mapping(given), batches)
    budget = budget_of(simulated, batches, model, limits)
    judge = Judge(batches, simulated.outputs(batches))
    base = {part.name: None for part in simulated.parts if part.layer is None} if functions else {}
    floor = judge.loss(simulated.outputs(batches, base)).noise
    layers = [part for part in simulated.parts if part.layer is not None]
    work = [(part, choice) for part in layers for choice in choices]
    found: dict[str, list[Option]] = {part.name: [] for part in layers}
    for part, choice in bar(work, "mixed precision", unit="choice", disable=not progress, leave=False):
        harm = 0.0
        if choice != FULL:
            chosen = {**base, part.name: configuration(simulated, part, choice)}
            harm = max(0.0, judge.loss(simulated.outputs(batches, chosen)).noise - floor)
        found[part.name].append(Option(choice, budget.cost(part, choice), harm))
    stops = frontier([found[part.name] for part in layers])
    _require(budget, stops)

    def measured(names: Sequence[str]) -> Loss:
        return judge.loss(simulated.outputs(batches, _chosen(simulated, base, layers, names)))

    uniform = []
    for choice in choices:
        cost = budget.fixed + sum(budget.cost(part, choice) for part in layers)
        uniform.append(Uniform(choice, cost, measured([choice] * len(layers))))
    best = best_within(stops, budget.limit - budget.fixed)
    assert best is not None
    names, loss = list(best.chosen), measured(best.chosen)
    for one in uniform:
        if one.cost <= budget.limit and one.loss.noise < loss.noise:
            names, loss = [one.name] * len(layers), one.loss
    return MixedPrecision(
        budget,
        [(part.name, part.kind, found[part.name]) for part in layers],
        {part.name: name for part, name in zip(layers, names, strict=True)},
        simulated.mapping(_chosen(simulated, base, layers, names)),
        loss,
        [(budget.fixed + one.cost, judge.sqnr(one.harm + floor)) for one in stops],
        uniform,
    )


def _chosen(simulated: Simulated, base: dict[str, Any], layers: Any, names: Sequence[str]) -> dict[str, Any]:
    own = {
        part.name: configuration(simulated, part, name)
        for part, name in zip(layers, names, strict=True)
        if name != FULL
    }
    return {**base, **own}


def _check_choices(choices: Sequence[str]) -> None:
    wrong = [one for one in choices if one not in CHOICES]
    if wrong or not choices or len(set(choices)) != len(choices):
        raise QuantizationError(f"choices={tuple(choices)!r}: give some of {', '.join(CHOICES)}, each once")


def _require(budget: Budget, stops: list[Stop]) -> None:
    least = budget.fixed + stops[0].cost
    if not budget.limit >= least or math.isinf(budget.limit):
        counts: dict[str, int] = {}
        for name in stops[0].chosen:
            counts[name] = counts.get(name, 0) + 1
        how = ", ".join(f"{count} layers in {name}" for name, count in counts.items())
        raise QuantizationError(
            f"{budget.name}={budget.figure(budget.limit)} cannot be kept: the least is {budget.figure(least)} "
            f"({how}), of which {budget.figure(budget.fixed)} is what has no codes"
        )
