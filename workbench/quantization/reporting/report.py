"""`report`: a model is quantized, and what that does to it is told layer by layer, with what to do about the worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workbench.base import renderer_lookup
from workbench.base.number_format import byte_figure, percent, si
from workbench.core import dispatch
from workbench.data.progress import progress as bar
from workbench.fx import Node
from workbench.nn import Module
from workbench.nn.summary import summary
from workbench.quantization.analysis import model_size, results_of
from workbench.quantization.batches import Batch, batches_of
from workbench.quantization.layerwise import drawing
from workbench.quantization.layerwise.budgets import layer_bytes, products
from workbench.quantization.layerwise.judge import Judge, Loss, decibel_figure
from workbench.quantization.qconfig_mapping import get_default_qconfig_mapping
from workbench.quantization.quantize_fx import as_mapping, convert_fx, prepare_fx
from workbench.quantization.reporting.advice import Advice, advise
from workbench.quantization.reporting.left import LeftInFloat, left_in_float
from workbench.quantization.reporting.points import (
    PointFigures,
    Values,
    bits_used,
    measure,
    picture,
    weight_figures,
)
from workbench.quantization.simulation.simulated import Part, Simulated

__all__ = ["Report", "report"]


@dataclass(frozen=True)
class Totals:
    """Figures of the whole model, before and after."""

    title: str
    samples: int
    loss: Loss
    """Of the integer model."""
    float_accuracy: float | None
    sizes: tuple[int, int]
    """Bytes of the model's state in floating point, and in integers."""
    operations: float
    """For one sample; a product and its sum are two."""
    operations_on_codes: float
    """Of these, those of layers with weights that are codes."""


class Report:
    """What quantization does to a model, point by point; prints as a table, and shows as a page in a notebook."""

    def __init__(
        self,
        points: list[PointFigures],
        advice: list[Advice],
        totals: Totals,
        model: Any,
        left: Sequence[LeftInFloat] = (),
    ) -> None:
        self.points = points
        """In the order of the model."""
        self.advice = advice
        """What gains, the most first."""
        self.totals = totals
        self.model = model
        """The integer model."""
        self.left = list(left)
        """What has weights and is not in codes, in the order of the model."""

    def __getitem__(self, name: str) -> PointFigures:
        found = next((one for one in self.points if one.name == name), None)
        if found is None:
            raise KeyError(
                f"the report has no point {name!r}; it has {', '.join(one.name for one in self.points)}"
            )
        return found

    @property
    def worst(self) -> PointFigures:
        """The point that costs the model's output most by itself."""
        return min(self.points, key=lambda one: math.inf if one.cost is None else one.cost)

    def columns(self) -> list[tuple[str, str]]:
        """Return the heads of the table, each with what it means."""
        return [
            ("layer", "as the model calls it"),
            ("costs dB", "SQNR of the model's output with this one alone in codes: the lowest costs most"),
            ("output dB", "SQNR of its values in the integer model against those in floating point"),
            ("weight dB", "SQNR of its weight as codes"),
            ("bits used", "bits that tell 99.9 % of its values apart, of those that its codes have"),
            ("clipped", "part of its values beyond the range of its codes"),
            ("outliers", "channels of its values that reach eight times as far as the median channel"),
            ("size", "bytes of its weight, before and as codes"),
            ("products", "that it computes for one sample"),
        ]

    def rows(self) -> list[list[str]]:
        """Return the table's cells as text."""
        return [
            [
                f"{one.name} ({one.kind})",
                decibel_figure(one.cost), decibel_figure(one.output_sqnr), decibel_figure(one.weight_sqnr),
                f"{one.bits_used:.1f} of {one.bits}",
                percent(one.clipped) if one.clipped else "",
                str(len(one.outlier_channels) or ""),
                f"{byte_figure(one.size[0])} → {byte_figure(one.size[1])}" if one.size[0] else "",
                si(one.products) if one.products else "",
            ]
            for one in self.points
        ]  # fmt: skip

    def told(self) -> list[int]:
        """Return the columns that have anything to tell."""
        rows = self.rows()
        return [place for place in range(len(self.columns())) if any(row[place] for row in rows)]

    def summary(self) -> str:
        """Return figures of the whole model, in words."""
        totals, (before, after) = self.totals, self.totals.sizes
        told = [f"output {decibel_figure(totals.loss.sqnr)} dB"]
        if totals.loss.accuracy is not None and totals.float_accuracy is not None:
            told.append(
                f"accuracy {percent(totals.loss.accuracy)} ({percent(totals.float_accuracy)} in floating point)"
            )
        told.append(
            f"{byte_figure(before)} → {byte_figure(after)} ({before / max(1, after):.1f} times smaller)"
        )
        if totals.operations:
            share = percent(totals.operations_on_codes / totals.operations)
            told.append(f"{share} of {si(totals.operations)} operations by integer layers")
        return " · ".join(told)

    def __repr__(self) -> str:
        kept, heads = self.told(), [head for head, _ in self.columns()]
        table = drawing.text_table(
            [heads[place] for place in kept], [[row[place] for place in kept] for row in self.rows()]
        )
        todo = [f"  {place}. {one} ({one.gain:+.1f} dB)" for place, one in enumerate(self.advice, 1)]
        head = f"{self.totals.title} in codes, measured on {self.totals.samples:,} samples: {self.summary()}"
        return "\n".join([
            head, "", table, "",
            *(["what to do, best first:", *todo] if todo else ["nothing that was tried gains anything"]),
            *(["left in floating point:", *(f"  {one}" for one in self.left)] if self.left else []),
        ])  # fmt: skip

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the model as plain values."""
        return {
            "totals": asdict(self.totals),
            "points": [asdict(one) for one in self.points],
            "advice": [{**asdict(one), "gain": one.gain} for one in self.advice],
            "left": [asdict(one) for one in self.left],
        }

    def plot(self) -> Any:
        """Return a matplotlib figure: what each layer costs the model's output by itself, the dearest on top."""
        shown = sorted((one for one in self.points if one.cost is not None), key=lambda one: one.cost or 0.0)
        return drawing.bars(
            [one.name for one in shown],
            [one.cost or 0.0 for one in shown],
            "SQNR of the output with this one alone in codes, dB: the shorter, the dearer",
            self.totals.loss.sqnr,
            "the integer model",
        )


def report(
    model: Module, data: Any, *, qconfig_mapping: Any = None, advice: bool = True, progress: bool = True
) -> Report:
    """Quantize a model in use and tell what that does to it, layer by layer, and what to do about the worst.

    The model is quantized as a graph (`prepare_fx`, calibrated with `data`, `convert_fx`) by `qconfig_mapping`,
    `get_default_qconfig_mapping("onednn")` if not given, and stays as it was; the integer one is ``report.model``. Of
    each layer, function and input are measured the SQNR of weight and values, what its range clips, how many of its
    bits tell values apart, channels that reach far beyond the others, bytes and products, and what it costs the output
    alone. Ranges by other rules, a scale for each channel, equalization, layers left in floating point and
    corrected biases are tried, and those that gain are told with their gain; ``report.left`` says which layers have
    weights and stay in floating point, and why. `data` gives batches, with labels for
    accuracy.

    Raises `QuantizationError` for a model in training, where there is nothing to quantize, without data and for NaN or
    infinite values; `DimensionError` where there is not one label a sample.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(8, 4), wb.nn.ReLU(), wb.nn.Linear(4, 3)).eval()
    >>> found = report(model, wb.rand(32, 8), progress=False)
    >>> [point.name for point in found.points][1:]
    ['0', '2']
    """
    batches = batches_of(data, model)
    mapping = as_mapping(
        get_default_qconfig_mapping("onednn") if qconfig_mapping is None else qconfig_mapping
    )
    simulated = Simulated(model, mapping, batches)
    judge = Judge(batches, simulated.outputs(batches))
    integer = _integer(model, mapping, batches)
    with dispatch.no_grad():
        made = judge.loss([results_of(integer(*batch.arguments)) for batch in batches])
        whole = judge.loss(simulated.outputs(batches, simulated.everything()))
        values = measure(simulated, batches)
        costs = {
            part.name: judge.loss(simulated.outputs(batches, {part.name: None})).sqnr
            for part in bar(simulated.parts, "report", unit="layer", disable=not progress, leave=False)
        }
        counts = products(simulated, batches[0].sample)
        points = [_point(simulated, node, one, costs, counts) for node, one in values.items()]
        told = advise(model, simulated, batches, judge, whole, values, points, integer) if advice else []
    totals = Totals(
        type(model).__name__,
        sum(batch.samples for batch in batches),
        made,
        judge.accuracy,
        (model_size(model), model_size(integer)),
        summary(simulated.module, *batches[0].sample).total.flops,
        2.0 * sum(counts[part.name] for part in simulated.parts if part.layer is not None),
    )
    return Report(points, told, totals, integer, left_in_float(simulated, integer))


def _integer(model: Module, mapping: Any, batches: list[Batch]) -> Any:
    prepared = prepare_fx(model, mapping, batches[0].sample)
    with dispatch.no_grad():
        for batch in batches:
            prepared(*batch.arguments)
    return convert_fx(prepared)


def _point(
    simulated: Simulated, node: Node, values: Values, costs: dict[str, float], counts: dict[str, int]
) -> PointFigures:
    part = simulated.part_of(node)
    again = part is not None and simulated.source(node) is not part.node
    observer: Any = simulated.observer(node)
    scale, zero = (float(one) for one in observer.qparams())
    low, high = (observer.quant_min - zero) * scale, (observer.quant_max - zero) * scale
    density = values.density
    # A value that rounds to the last code is not clipped.
    below, above = density.clipped(low - scale / 2, high + scale / 2)
    weight = None if part is None or part.layer is None else weight_figures(simulated, part)
    bins, ends = picture(values)
    return PointFigures(
        name=node.name if part is None else part.name,
        kind=_kind(node, part) + (", called again" if again else ""),
        cost=None if part is None or again else costs[part.name],
        output_sqnr=_ratio(values.signal, values.noise),
        rounding_sqnr=_ratio(values.signal, values.rounding),
        weight_sqnr=None if weight is None else weight[0],
        low=low,
        high=high,
        clipped=below + above,
        bits=observer.bits,
        bits_used=bits_used(density, low, high, observer.bits),
        outlier_channels=values.outlier_channels(),
        weight_bits_used=None if weight is None else weight[1],
        per_channel=None if weight is None else weight[2],
        products=counts.get(part.name, 0) if part is not None and not again else 0,
        size=(0, 0) if again else _sizes(simulated, part),
        counts=bins,
        ends=ends,
    )


def _kind(node: Node, part: Part | None) -> str:
    if part is not None:
        return part.kind
    return "input" if node.op == "placeholder" else str(getattr(node.target, "__name__", node.target))


def _sizes(simulated: Simulated, part: Part | None) -> tuple[int, int]:
    if part is None or part.layer is None:
        return 0, 0
    return int(part.layer.weight.payload.nbytes), int(layer_bytes(simulated, part, "int8"))


def _ratio(signal: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else math.nan
