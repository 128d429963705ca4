"""What a model's results have lost: against those in floating point, by SQNR, by distribution, by labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.core.value import Value
from workbench.quantization.analysis import hits
from workbench.quantization.batches import Batch
from workbench.quantization.noise import decibels

__all__ = ["Judge", "Loss", "decibel_figure", "divergence", "harm_shares"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Loss:
    """What a model's output is, with some of it in codes."""

    sqnr: float
    """In dB, against the output in floating point; infinite where nothing changed."""
    kl: float
    """Mean divergence KL(p ‖ q) in nats of the softmax over the last dim; p is that in floating point."""
    accuracy: float | None = None
    """0 to 1; None without labels."""
    noise: float = 0.0
    """Sum of the squared errors."""


def decibel_figure(value: float | None) -> str:
    """Return a ratio in dB with one digit; nothing where there is none.

    >>> decibel_figure(31.04), decibel_figure(math.inf), decibel_figure(None)
    ('31.0', '∞', '')
    """
    if value is None or math.isnan(value):
        return ""
    return "∞" if math.isinf(value) else f"{value:.1f}"


def harm_shares(ratios: Sequence[float | None]) -> list[float]:
    """Return for each ratio in dB how bad it is among them: 1 for the lowest, near 0 for the highest, 0 where none is.

    >>> [round(one, 2) for one in harm_shares([30.0, 40.0, None, math.inf])]
    [1.0, 0.08, 0.0, 0.0]
    """
    known = [one for one in ratios if one is not None and math.isfinite(one)]
    best, worst = max(known, default=0.0), min(known, default=0.0)
    return [
        0.0
        if one is None or not math.isfinite(one)
        else 1.0
        if best == worst
        else 1.0 - 0.92 * (one - worst) / (best - worst)
        for one in ratios
    ]


def divergence(scores: Array, others: Array) -> float:
    """Return the mean of KL(softmax(scores) ‖ softmax(others)) over all but the last dim, in nats.

    >>> divergence(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0]]))
    0.0
    """
    p, q = _log_softmax(scores), _log_softmax(others)
    return max(0.0, float((np.exp(p) * (p - q)).sum(-1).mean()))


def _log_softmax(scores: Array) -> Array:
    moved = np.atleast_1d(scores).astype(np.float64)
    moved = moved - moved.max(-1, keepdims=True)
    found: Array = moved - np.log(np.exp(moved).sum(-1, keepdims=True))
    return found


class Judge:
    """Compares results with those of the model in floating point, on the same batches.

    All results of a batch count, value by value: what no codes of a layer reach is not all that the model is for. The
    first are the scores that labels are asked of. Raises `QuantizationError` where these are not finite.
    """

    def __init__(self, batches: list[Batch], outputs: list[tuple[Value, ...]]) -> None:
        self.batches = batches
        self.wanted = [[np.asarray(one.payload, np.float64) for one in results] for results in outputs]
        every = [one for results in self.wanted for one in results]
        if not all(np.isfinite(one).all() for one in every):
            raise QuantizationError(
                "the model itself computes NaN or infinite values on these data: there is nothing to compare with"
            )
        self.signal = float(sum(np.sum(one * one) for one in every))
        self.labelled = all(batch.labels is not None for batch in batches)
        self.accuracy = self._accuracy(outputs)

    def _accuracy(self, outputs: list[tuple[Value, ...]]) -> float | None:
        if not self.labelled:
            return None
        right: int = sum(
            hits(results[0], batch.labels) for results, batch in zip(outputs, self.batches, strict=True)
        )
        return right / int(sum(batch.labels.shape[0] for batch in self.batches))

    def loss(self, outputs: list[tuple[Value, ...]]) -> Loss:
        """Return what these results have lost."""
        noise, spread, count = 0.0, 0.0, 0
        pairs = (pair for both in zip(self.wanted, outputs, strict=True) for pair in zip(*both, strict=True))
        for wanted, one in pairs:
            found = np.asarray(one.payload, np.float64)
            noise += float(np.sum((found - wanted) ** 2))
            many = max(1, wanted.size // max(1, wanted.shape[-1] if wanted.ndim else 1))
            spread += divergence(wanted, found) * many
            count += many
        return Loss(self.sqnr(noise), spread / count, self._accuracy(outputs), noise)

    def sqnr(self, noise: float) -> float:
        """Return the ratio of the output to so much noise, in dB."""
        ratio = float(decibels(self.signal, noise))
        return math.inf if math.isnan(ratio) and noise == 0 else ratio
