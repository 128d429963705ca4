"""What is known of the values behind one observer, in a form that ranges can be judged by."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from workbench.quantization.histogram import RunningHistogram, extremes
from workbench.quantization.noise import Density, decibels
from workbench.quantization.schemes import Scheme

__all__ = ["ChannelValues", "ErrorStatistics", "density_of"]

Array = np.ndarray[Any, Any]

MOST_SAMPLED = 16384
"""Values of a weight that candidates are judged by; of the range in force all values are."""


class ErrorStatistics(Protocol):
    """Values of which histogram, clipping and quantization noise are known."""

    @property
    def density(self) -> Density:
        """All values as one histogram."""
        ...

    def sqnr(self, scheme: Scheme, low: float, high: float) -> float:
        """Return the signal to quantization noise ratio under one range, in dB."""
        ...

    def sqnrs(self, scheme: Scheme, lows: Array, highs: Array) -> Array:
        """Return the ratio under each of several ranges, in dB."""
        ...


def density_of(values: Array, bins: int = 2048) -> Density | None:
    """Return the histogram of the finite values of an array; None if there are none."""
    low, high, _, _ = extremes(values)
    if np.isnan(low):
        return None
    running = RunningHistogram.of(bins)
    running.add(values, low, high)
    return Density(*running.used())


class ChannelValues:
    """A weight with a range for each of its channels; one range given for all of them limits each.

    `values` are float32 with the channels along `axis`.
    """

    def __init__(self, values: Array, axis: int) -> None:
        rows = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1).astype(np.float64)
        # What is not finite has no say; as 0 it is in every range, and exact.
        rows = np.where(np.isfinite(rows), rows, 0.0)
        self.low: Array = rows.min(axis=1)
        self.high: Array = rows.max(axis=1)
        found = density_of(values)
        self.density = Density(np.ones(1), 0.0, 1.0) if found is None else found
        every = max(1, -(-rows.size // MOST_SAMPLED))
        self._rows = rows
        # Every so many of each channel, so that no channel is left out.
        self._sampled = rows[:, ::every]

    def _noise(self, rows: Array, scheme: Scheme, low: float, high: float) -> float:
        scale, zero = scheme.qparams(np.maximum(self.low, low), np.minimum(self.high, high))
        step = scale.astype(np.float64)[:, None]
        least, most = scheme.quant_min - zero[:, None], scheme.quant_max - zero[:, None]
        rest = rows - np.clip(np.rint(rows / step), least, most) * step
        return float(np.sum(rest * rest))

    def sqnr(self, scheme: Scheme, low: float, high: float) -> float:
        """Return the ratio with each channel's range limited to [low, high], in dB."""
        return float(decibels(np.sum(self._rows**2), self._noise(self._rows, scheme, low, high)))

    def sqnrs(self, scheme: Scheme, lows: Array, highs: Array) -> Array:
        """Return the ratio for several limits, in dB, judged by a sample of the values."""
        signal = np.sum(self._sampled**2)
        noises = [
            self._noise(self._sampled, scheme, low, high) for low, high in zip(lows, highs, strict=True)
        ]
        found: Array = decibels(signal, np.array(noises))
        return found
