"""How much a quantization changes values that are known by their histogram.

Within a bin values are taken to be spread evenly. Then the squared error has an antiderivative in closed form,

    F(x) = k·s³/12 + (x - k·s)³/3,   k = clamp(rne(x / s), qmin - z, qmax - z),

for rounding and clipping alike, and the noise of a range is a weighted sum of its differences at the bins' edges:
a thousand bins against a hundred ranges take a millisecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.quantization.schemes import Scheme

__all__ = ["Density", "decibels"]

Array = np.ndarray[Any, Any]


def decibels(signal: Any, noise: Any) -> Any:
    """Return 10·log10(signal / noise): infinite without noise, NaN without signal.

    >>> float(decibels(100.0, 1.0))
    20.0
    """
    signal, noise = np.asarray(signal, np.float64), np.asarray(noise, np.float64)
    # Without noise it is infinite, which is right; without a signal there is none to tell.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(signal > 0, 10 * np.log10(signal / noise), np.nan)


class Density:
    """Values as a histogram over [low, high]: counts in equal bins."""

    __slots__ = ("counts", "edges", "high", "low", "signal", "total")

    def __init__(self, counts: Array, low: float, high: float) -> None:
        self.counts = counts.astype(np.float64)
        self.low, self.high = low, high
        self.edges = np.linspace(low, high, len(counts) + 1)
        self.total = float(self.counts.sum())
        centres = (self.edges[1:] + self.edges[:-1]) / 2
        # Values lie evenly in a bin: to the square of the middle comes a twelfth of that of the width.
        self.signal = float(self.counts @ (centres * centres + self.width**2 / 12))
        """Sum of the squares of the values."""

    @property
    def width(self) -> float:
        """Width of one bin."""
        return (self.high - self.low) / max(1, len(self.counts))

    def coarse(self, most: int) -> Density:
        """Return the same with neighbouring bins added up, `most` bins or fewer."""
        size = len(self.counts)
        factor = -(-size // most)
        if factor == 1:
            return self
        padded = np.zeros(-(-size // factor) * factor)
        padded[:size] = self.counts
        high = self.low + self.width * len(padded)
        return Density(padded.reshape(-1, factor).sum(axis=1), self.low, high)

    def noise(self, scheme: Scheme, lows: Any, highs: Any) -> Array:
        """Return the sum of squared errors for each of several ranges."""
        scale, zero = scheme.qparams(np.atleast_1d(lows), np.atleast_1d(highs))
        step = scale.astype(np.float64)[:, None]
        least = (scheme.quant_min - zero)[:, None].astype(np.float64)
        most = (scheme.quant_max - zero)[:, None].astype(np.float64)
        places = np.rint(self.edges / step)
        # In place from here on: a hundred ranges by a thousand edges make large arrays.
        np.maximum(places, least, out=places)
        np.minimum(places, most, out=places)
        rest = self.edges - places * step
        integral = rest * rest
        integral *= rest
        integral *= 1 / 3
        places *= step**3 / 12
        integral += places
        found: Array = (integral[:, 1:] - integral[:, :-1]) @ self.counts / self.width
        # Rounding may leave a little less than nothing.
        return np.maximum(found, 0.0)

    def sqnr(self, scheme: Scheme, low: float, high: float) -> float:
        """Return the signal to quantization noise ratio of one range, in dB."""
        return float(decibels(self.signal, self.noise(scheme, low, high)[0]))

    def sqnrs(self, scheme: Scheme, lows: Any, highs: Any) -> Array:
        """Return the ratio of several ranges, in dB."""
        found: Array = decibels(self.signal, self.noise(scheme, lows, highs))
        return found

    def clipped(self, low: float, high: float) -> tuple[float, float]:
        """Return the fractions of the values below `low` and above `high`; a bin that is cut counts in part."""
        if self.total == 0:
            return 0.0, 0.0
        starts, ends = self.edges[:-1], self.edges[1:]
        below = np.clip((low - starts) / self.width, 0, 1)
        above = np.clip((ends - high) / self.width, 0, 1)
        return float(below @ self.counts) / self.total, float(above @ self.counts) / self.total
