"""What each layer's codes cost the model: the layer alone in codes, and everything but the layer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from workbench.base import renderer_lookup
from workbench.base.errors import QuantizationError
from workbench.base.number_format import percent
from workbench.data.progress import progress as bar
from workbench.nn import Module
from workbench.quantization.batches import batches_of, require_labels
from workbench.quantization.layerwise import drawing
from workbench.quantization.layerwise.judge import Judge, Loss, decibel_figure, harm_shares
from workbench.quantization.qconfig_mapping import get_default_qconfig_mapping
from workbench.quantization.quantize_fx import as_mapping
from workbench.quantization.simulation.simulated import Simulated

__all__ = ["LayerCost", "Sensitivity", "sensitivity"]


@dataclass(frozen=True)
class LayerCost:
    """What the codes of one layer, or of one function whose result has a scale of its own, cost the model."""

    name: str
    kind: str
    weights: int
    """How many numbers its weight has; 0 for a function."""
    alone: Loss
    """With this one in codes and everything else in floating point."""
    others: Loss | None
    """With everything in codes but this one; None where that was not looked at."""


class Sensitivity:
    """What the codes of each layer cost the model, the dearest first; prints and shows as a table."""

    def __init__(
        self,
        costs: list[LayerCost],
        whole: Loss,
        accuracy: float | None,
        left: tuple[str, ...],
        seconds: float,
    ) -> None:
        self.costs = sorted(costs, key=lambda one: (one.alone.sqnr, one.name))
        self.whole = whole
        """With everything in codes."""
        self.accuracy = accuracy
        """Of the model in floating point, 0 to 1; None without labels."""
        self.left = left
        """What was not looked at, because it was interrupted."""
        self.seconds = seconds

    @property
    def complete(self) -> bool:
        """Whether every layer was looked at."""
        return not self.left

    def __iter__(self) -> Iterator[LayerCost]:
        return iter(self.costs)

    def __len__(self) -> int:
        return len(self.costs)

    def __getitem__(self, name: str) -> LayerCost:
        found = next((one for one in self.costs if one.name == name), None)
        if found is None:
            known = ", ".join(one.name for one in self.costs)
            raise KeyError(f"nothing is known of {name!r}; looked at were {known}")
        return found

    def columns(self) -> list[tuple[str, str]]:
        """Return the heads of the table, each with what it means."""
        found = [
            ("layer", "as the model calls it"),
            ("alone dB", "SQNR of the model's output with this one in codes and all else in floating point"),
            ("KL", "mean divergence of the output's softmax, in nats, with this one alone in codes"),
        ]
        if self.accuracy is not None:
            found.append(("accuracy", "with this one alone in codes"))
        if any(one.others is not None for one in self.costs):
            found.append(
                ("gain dB", "what the whole model in codes gains where this one stays in floating point")
            )
        return found

    def rows(self) -> list[list[str]]:
        """Return the table's cells as text."""
        made = []
        for one in self.costs:
            row = [f"{one.name} ({one.kind})", decibel_figure(one.alone.sqnr), f"{one.alone.kl:.2g}"]
            if one.alone.accuracy is not None:
                row.append(percent(one.alone.accuracy))
            if one.others is not None:
                row.append(f"{one.others.sqnr - self.whole.sqnr:+.1f}")
            made.append(row)
        return made

    barred = 1
    """The column that `shares` are about."""

    def shares(self) -> list[float]:
        """Return how bad each row is among them, 0 to 1."""
        return harm_shares([one.alone.sqnr for one in self.costs])

    def summary(self) -> str:
        """Return what is known of the whole model, in words."""
        told = f"all in codes: {decibel_figure(self.whole.sqnr)} dB, KL {self.whole.kl:.2g}"
        if self.whole.accuracy is not None and self.accuracy is not None:
            told += f", accuracy {percent(self.whole.accuracy)} ({percent(self.accuracy)} in floating point)"
        if self.left:
            told += f" · interrupted, {len(self.left)} not looked at"
        return told

    def __repr__(self) -> str:
        return drawing.text_table([head for head, _ in self.columns()], self.rows()) + "\n" + self.summary()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "layers": [asdict(one) for one in self.costs],
            "whole": asdict(self.whole),
            "accuracy": self.accuracy,
            "left": list(self.left),
        }

    def plot(self) -> Any:
        """Return a matplotlib figure: what each layer alone costs, the dearest on top."""
        return drawing.bars(
            [one.name for one in self.costs],
            [one.alone.sqnr for one in self.costs],
            "SQNR of the output with this one alone in codes, dB: the shorter, the dearer",
            self.whole.sqnr,
            "all in codes",
        )


def sensitivity(
    model: Module,
    data: Any,
    *,
    qconfig_mapping: Any = None,
    others: bool = True,
    accuracy: bool | None = None,
    progress: bool = True,
) -> Sensitivity:
    """Find what the codes of each layer cost the model: each alone in codes, and everything but it.

    The model, which is in use, is traced and calibrated with `data` once; then each choice is computed on the same
    data, with values rounded where the integer graph would round them. `data` gives batches, with labels or without;
    where the model takes several inputs, a batch has a tuple or a dict of them in the place of the one.
    Where it gives several results, all count, value by value; labels are asked of the first.
    `qconfig_mapping` says what codes are like, `get_default_qconfig_mapping("onednn")` if not given. `others=False`
    leaves the second half of the work. `accuracy` True asks for labels, False leaves them aside. What it will take
    stands in the bar of `progress`; an interrupt ends it with what is known so far.

    Raises `QuantizationError` for a model in training, where there is nothing to quantize, without data, for NaN or
    infinite values, and where labels are asked for and not given; `DimensionError` where there is not one label a
    sample.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(8, 4), wb.nn.ReLU(), wb.nn.Linear(4, 3)).eval()
    >>> found = sensitivity(model, wb.rand(32, 8), progress=False)
    >>> sorted(one.name for one in found)
    ['0', '2']
    """
    begun = time.perf_counter()
    batches = batches_of(data, model)
    if accuracy:
        require_labels(batches)
    if accuracy is False:
        batches = [batch._replace(labels=None) for batch in batches]
    given = get_default_qconfig_mapping("onednn") if qconfig_mapping is None else qconfig_mapping
    simulated = Simulated(model, as_mapping(given), batches)
    judge = Judge(batches, simulated.outputs(batches))
    everything = simulated.everything()
    whole = judge.loss(simulated.outputs(batches, everything))
    found: list[LayerCost] = []
    try:
        for part in bar(simulated.parts, "sensitivity", unit="layer", disable=not progress, leave=False):
            alone = judge.loss(simulated.outputs(batches, {part.name: None}))
            rest = {name: None for name in everything if name != part.name}
            without = judge.loss(simulated.outputs(batches, rest)) if others else None
            found.append(LayerCost(part.name, part.kind, part.weights, alone, without))
    except KeyboardInterrupt:
        if not found:
            raise
    left = tuple(part.name for part in simulated.parts[len(found) :])
    return Sensitivity(found, whole, judge.accuracy, left, time.perf_counter() - begun)


def check_found(found: Sensitivity) -> None:
    """Raise `QuantizationError` where not every layer was looked at."""
    if found.left:
        raise QuantizationError(
            f"the sensitivity was interrupted before {', '.join(found.left[:4])}: find it again to its end"
        )
