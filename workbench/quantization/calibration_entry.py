"""One observed point of a calibration: what it is called, what is known of its values, and what ranges give there."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from workbench.quantization.calibration_changes import Setting
from workbench.quantization.error_statistics import ChannelValues, ErrorStatistics, density_of
from workbench.quantization.noise import Density
from workbench.quantization.observed import float_layer
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.observer_succession import successor
from workbench.quantization.points import Point, followed

__all__ = ["Entry"]

Range = tuple[float, float]


class Entry:
    """One observer of a model: what it is called, and the values that it knows."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.name = point.name
        self.observer = point.observer
        self.layer = point.layer
        """The layer whose weight is observed; None for activations."""
        self.path = point.path
        """Path of the layer that it belongs to; empty for functions and inputs."""
        self.nodes = point.nodes
        """Names of the nodes of the graph whose values, or whose weight, have its scale; empty without a graph."""
        # Versions begin at 0: nothing is known yet.
        self._known: tuple[int, ErrorStatistics | None] = (-1, None)
        self._ratio: tuple[int, float | None] = (-1, None)

    @property
    def evidence(self) -> ErrorStatistics | None:
        """The values seen so far, or None where no histogram of them is kept."""
        version = self.observer.data_version
        if self._known[0] != version:
            self._known = version, self._gather()
        return self._known[1]

    def _gather(self) -> ErrorStatistics | None:
        observer = self.observer
        if self.layer is not None:
            values = float_layer(self.layer).weight.payload
            if observer.qscheme.per_channel:
                return ChannelValues(values, getattr(observer, "ch_axis", 0) % values.ndim)
            found = density_of(values)
        else:
            found = observer.density() if hasattr(observer, "density") else None
        return None if found is None else _Whole(found)

    def range(self) -> Range | None:
        """Return the ends of the range in force, over all channels; None before the first value."""
        observer = self.observer
        if not observer.has_range:
            return None
        if observer.qscheme.per_channel and observer.override is not None:
            low, high = observer.override
            least, most = observer.observed_range()
            # Every range holds 0.
            return max(low, float(least.min(initial=0))), min(high, float(most.max(initial=0)))
        low_ends, high_ends = observer.range()
        return float(low_ends.min()), float(high_ends.max())

    def sqnr(self) -> float | None:
        """Return the signal to quantization noise ratio under the range in force, in dB; None where it is not known."""
        version = self.observer.version
        if self._ratio[0] != version:
            limits, evidence = self.range(), self.evidence
            found = None
            if limits is not None and evidence is not None:
                found = evidence.sqnr(self.observer.scheme, *limits)
            self._ratio = version, found
        return self._ratio[1]

    def take(self, observer: ObserverBase) -> None:
        """Have another observer in the place of this one's."""
        (self.point,) = followed([self.point], self.observer, observer)
        self.observer = observer

    def trial(self, setting: Setting) -> Entry:
        """Return the same with an observer that is set so, and knows what this one knows; the model has it not."""
        made = copy.copy(self)
        made._known = made._ratio = (-1, None)
        if setting.factory is not None:
            layer = None if self.layer is None else float_layer(self.layer)
            made.observer = successor(self.observer, setting.factory, layer)
            if setting.range is not None:
                made.observer.set_range(*setting.range)
        return made


@dataclass(frozen=True)
class _Whole:
    """Evidence for one range over all values."""

    density: Density

    def sqnr(self, scheme: Any, low: float, high: float) -> float:
        return self.density.sqnr(scheme, low, high)

    def sqnrs(self, scheme: Any, lows: Any, highs: Any) -> Any:
        return self.density.sqnrs(scheme, lows, highs)
