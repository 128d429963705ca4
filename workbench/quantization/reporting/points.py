"""What is measured at each point of a model that becomes codes: its weight, its values, what codes make of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.core.value import Value
from workbench.fx import Node
from workbench.quantization.batches import Batch
from workbench.quantization.histogram import RunningHistogram, extremes
from workbench.quantization.noise import Density, decibels
from workbench.quantization.simulation.simulated import Part, Simulated

__all__ = ["BULK", "PointFigures", "Values", "bits_used", "measure", "weight_figures"]

Array = np.ndarray[Any, Any]

BULK = 0.999
"""Part of the values that the bits in use are counted for; what lies beyond are outliers."""
OUTLYING = 8.0
"""How many times as far as that of the median channel an outlier channel's values reach."""
BINS = 4096
DRAWN = 48
"""Bins of the small picture of a histogram."""


@dataclass(frozen=True)
class PointFigures:
    """One point: a layer, a function whose result has a scale of its own, or what comes in."""

    name: str
    kind: str
    cost: float | None
    """SQNR of the model's output, in dB, with this one alone in codes; None for what comes in."""
    output_sqnr: float
    """Of its values in the integer model against those in floating point, in dB: all that codes did up to here."""
    rounding_sqnr: float
    """Of its own values as codes, in dB: what its range and its bits do by themselves."""
    weight_sqnr: float | None
    """Of its weight as codes, in dB; None without a weight."""
    low: float
    high: float
    """What its codes span."""
    clipped: float
    """Part of its values that lies beyond."""
    bits: int
    bits_used: float
    """Of these, those that 99.9 % of its values are told apart by."""
    outlier_channels: tuple[int, ...]
    """Channels of its values that reach eight times as far as the median one."""
    weight_bits_used: float | None
    """Bits that the median channel of the weight is told apart by; None without a weight."""
    per_channel: bool | None
    """Whether its weight has a scale for each channel; None without a weight."""
    products: int
    """Products that it computes for one sample."""
    size: tuple[int, int]
    """Bytes of its weight, before and as codes."""
    counts: tuple[int, ...] = field(repr=False, default=())
    """A histogram of its values."""
    ends: tuple[float, float] = field(repr=False, default=(0.0, 0.0))
    """Of the histogram."""


class Values:
    """What is known of the values at one point: a histogram, the reach of each channel, what codes did to them."""

    def __init__(self) -> None:
        self.histogram = RunningHistogram.of(BINS)
        self.reach: Array | None = None
        self.signal = self.noise = self.rounding = 0.0

    def add(self, values: Array, rounded: Array, coded: Array) -> None:
        """Take note of a batch: values in floating point, as codes, and in the integer model."""
        low, high, _, _ = extremes(values)
        if not math.isnan(low):
            self.histogram.add(values, low, high)
        wide = values.astype(np.float64)
        self.signal += float(np.sum(wide * wide))
        self.rounding += float(np.sum((rounded - wide) ** 2))
        self.noise += float(np.sum((coded - wide) ** 2))
        if values.ndim >= 2:
            # Channels: the second dim of images, the last of rows.
            axis = 1 if values.ndim >= 4 else values.ndim - 1
            others = tuple(i for i in range(values.ndim) if i != axis)
            reach = np.abs(values).max(axis=others, initial=0)
            same = self.reach is not None and self.reach.shape == reach.shape
            self.reach = np.maximum(self.reach, reach) if same else reach  # type: ignore[arg-type]

    @property
    def density(self) -> Density:
        """The values' distribution."""
        return Density(*self.histogram.used())

    def outlier_channels(self) -> tuple[int, ...]:
        """Return the channels that reach far beyond the others."""
        if self.reach is None or self.reach.size < 4:
            return ()
        middle = float(np.median(self.reach))
        return tuple(int(i) for i in np.flatnonzero(self.reach > OUTLYING * middle)) if middle > 0 else ()


def bits_used(density: Density, low: float, high: float, bits: int) -> float:
    """Return the bits that tell 99.9 % of the values apart, of those that [low, high] is divided by.

    >>> counts = np.zeros(100)
    >>> counts[:50] = 1000
    >>> counts[99] = 1
    >>> round(bits_used(Density(counts, 0.0, 100.0), 0.0, 100.0, 8), 2)
    7.0
    """
    if density.total == 0 or not high > low:
        return 0.0
    mass = np.concatenate([[0.0], np.cumsum(density.counts)]) / density.total
    tail = (1 - BULK) / 2 if density.low < 0 < density.high else 1 - BULK
    ends = np.interp(
        [tail if density.low < 0 else 0.0, 1 - tail if density.high > 0 else 1.0], mass, density.edges
    )
    # Codes hold zero, and what lies beyond the range has none of its own.
    first, last = max(low, min(0.0, float(ends[0]))), min(high, max(0.0, float(ends[1])))
    share = (last - first) / (high - low)
    return float(np.clip(bits + math.log2(share), 0.0, bits)) if share > 0 else 0.0


def measure(simulated: Simulated, batches: list[Batch]) -> dict[Node, Values]:
    """Return what is known of the values of each point, in the order of the graph."""
    found = {node: Values() for node in simulated.points()}
    scales = simulated.scales(simulated.full)
    for batch in batches:
        plain: dict[Node, Any] = {}
        simulated.run(batch.arguments, watch=_into(plain, found))
        coded: dict[Node, Any] = {}
        simulated.run(batch.arguments, simulated.everything(), watch=_into(coded, found))
        for node, values in found.items():
            rounded = simulated.quantized(scales[node], plain[node]).dequantize()
            after = simulated.quantized(scales[node], coded[node]).dequantize()
            values.add(*(np.asarray(one.payload) for one in (plain[node], rounded, after)))
    return found


def _into(kept: dict[Node, Any], wanted: dict[Node, Values]) -> Any:
    def watch(node: Node, result: Any) -> None:
        if node in wanted and isinstance(result, Value):
            kept[node] = result

    return watch


def weight_figures(simulated: Simulated, part: Part) -> tuple[float, float, bool]:
    """Return the SQNR of a weight as codes, the bits that its median channel has, and if each has its own scale."""
    codes = simulated.weight(part).payload
    weight = np.asarray(part.layer.weight.detach().payload, np.float64)
    ratio = float(decibels(np.sum(weight**2), np.sum((codes.dequantize() - weight) ** 2)))
    axis = 0 if codes.axis is None else codes.axis
    rows = np.moveaxis(codes.codes.astype(np.int64), axis, 0).reshape(weight.shape[axis], -1)
    spans = rows.max(1) - rows.min(1) + 1
    return ratio, float(np.median(np.log2(spans))), codes.axis is not None


def picture(values: Values) -> tuple[tuple[int, ...], tuple[float, float]]:
    """Return a histogram of few bins, and its ends."""
    counts, low, high = values.histogram.used()
    if not len(counts):
        return (), (0.0, 0.0)
    edges = np.linspace(0, len(counts), DRAWN + 1).round().astype(int)
    return tuple(int(counts[a:b].sum()) for a, b in pairwise(edges)), (low, high)
