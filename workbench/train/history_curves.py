"""The curves of a history, as a view draws them: kept so small that looking again costs what came since."""

from __future__ import annotations

import math
from typing import Any

from workbench.train.downsampling import STRETCHES, Series
from workbench.train.history import Epoch, History
from workbench.train.payload import Curve

__all__ = ["Lines"]

BY_STEP: tuple[tuple[str, Any, str], ...] = (
    ("loss", "loss", "losses"),
    ("learning rate", "rate", "rates"),
    ("gradient norm", "norm", "norms"),
    ("throughput", "throughput", "speeds"),
)
"""Name, kind and list of the history of what there is of every step."""


class Lines:
    """Follows a history; `most` stretches of its steps are kept apart.

    >>> lines = Lines(History(losses=[2.0, 1.0], rates=[0.1, 0.1], norms=[3.0, 2.0], speeds=[9.0, 9.0]))
    >>> [(curve.name, curve.values) for curve in lines.curves()][0]
    ('loss', [2.0, 1.0])
    """

    def __init__(self, history: History, most: int = STRETCHES) -> None:
        self.history = history
        self._series = {name: Series(most) for name, _, _ in BY_STEP}

    @property
    def count(self) -> int:
        """Steps of which everything is there: the training may be writing the next one."""
        return min(len(getattr(self.history, series)) for _, _, series in BY_STEP)

    def curves(self) -> list[Curve]:
        """Return a curve for all that there is of every step, and of every epoch."""
        count = self.count
        by_step = [self._by_step(name, kind, series, count) for name, kind, series in BY_STEP]
        return [*by_step, *_by_epoch(list(self.history.epochs))]

    def _by_step(self, name: str, kind: Any, list_name: str, count: int) -> Curve:
        series, first = self._series[name], self.history.first
        series.follow(getattr(self.history, list_name), count)
        places, values = series.points()
        ends, means, counts = series.means()
        return Curve(
            name, kind, "train", [first + i for i in places], values,
            [first + i for i in ends], means, counts, series.missing,
        )  # fmt: skip


def _by_epoch(epochs: list[Epoch]) -> list[Curve]:
    """The curves with a value an epoch: validation, and the metrics."""
    found: list[Curve] = []
    part: Any
    for part, entries in (
        ("train", [epoch.metrics for epoch in epochs]),
        ("validation", [epoch.validation for epoch in epochs]),
    ):
        for name in dict.fromkeys(key for entry in entries for key in entry):
            series = Series()
            series.follow([entry.get(name, math.nan) for entry in entries], len(entries))
            places, values = series.points()
            kind: Any = "loss" if name == "loss" else "metric"
            steps = [epochs[i].step for i in places]
            found.append(Curve(name, kind, part, steps, values))
    return found
