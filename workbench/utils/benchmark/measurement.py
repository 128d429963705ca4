"""What a measurement found: the times of blocks of runs, and what they say."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Measurement", "TaskSpec", "select_unit"]

_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))
UNIT_NAMES = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}


def select_unit(seconds: float) -> tuple[str, float]:
    """Return the unit in which a time reads well, and its length in seconds.

    >>> select_unit(0.0042)
    ('ms', 0.001)
    """
    for name, length in reversed(_UNITS):
        if seconds >= length:
            return name, length
    return _UNITS[0]


@dataclass(frozen=True)
class TaskSpec:
    """What is measured: the statement and the words it is shown under."""

    stmt: str
    setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """What a table calls it."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        first = self.stmt.strip().splitlines()
        return first[0] if len(first) == 1 else f"{first[0]} …" if first else ""


@dataclass
class Measurement:
    """The times of several blocks of runs of one statement.

    `raw_times` are the seconds of each block of `number_per_run` runs; `times` are those of one run.

    >>> found = Measurement(10, [0.1, 0.2, 0.3], TaskSpec("f(x)"))
    >>> found.median, found.iqr, found.number_per_run
    (0.02, 0.01, 10)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[str, Any] | None = None
    _sorted: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.number_per_run < 1:
            raise ValueError(f"number_per_run must be at least 1, got {self.number_per_run}")
        self._sorted = tuple(sorted(self.times))

    @property
    def times(self) -> list[float]:
        """Seconds a run, for each block."""
        return [one / self.number_per_run for one in self.raw_times]

    def _ask(self) -> None:
        if not self.raw_times:
            raise ValueError("nothing was measured: there are no times")

    @property
    def median(self) -> float:
        """Half of the blocks were faster."""
        self._ask()
        return round(statistics.median(self._sorted), 15)

    @property
    def mean(self) -> float:
        """Arithmetic mean over blocks."""
        self._ask()
        return statistics.fmean(self._sorted)

    @property
    def iqr(self) -> float:
        """Distance from the first to the third quartile."""
        self._ask()
        return round(_quantile(self._sorted, 0.75) - _quantile(self._sorted, 0.25), 15)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread lets one believe, 1 … 5.

        The distance between quartiles shrinks with the number of blocks as a standard error does.
        """
        self._ask()
        blocks = len(self._sorted)
        # No spread at all is not believed: clocks go in steps.
        spread = max(self.iqr / math.sqrt(blocks), statistics.median(self._sorted) * 1e-6, 1e-12)
        typical = max(self.median, 1e-12)
        return int(min(max(math.ceil(math.log10(typical / spread)), 1), 5))

    @property
    def has_warnings(self) -> bool:
        """True if the figures deserve a doubt."""
        return bool(self.warnings)

    @property
    def warnings(self) -> str:
        """The doubt, in one sentence; empty without one."""
        if len(self.raw_times) < 2:
            return ""
        share = self.iqr / self.median if self.median else 0.0
        if share > 0.25:
            return (
                f"WARNING: Interquartile range is {share * 100:.1f}% of the median measurement. This suggests "
                "significant environmental influence."
            )
        return (
            f"Note: Interquartile range is {share * 100:.1f}% of the median measurement."
            if share > 0.1
            else ""
        )

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Say whether the distance between quartiles is below that share of the median."""
        return self.iqr / self.median < threshold if self.median else True

    @property
    def title(self) -> str:
        """What was measured."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """Name of its row in a table."""
        spec = self.task_spec
        return (
            spec.sub_label or spec.stmt.strip().splitlines()[0]
            if spec.stmt.strip()
            else spec.sub_label or "[Unknown]"
        )

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Join the measurements of the same task with the same block size."""
        groups: dict[tuple[TaskSpec, int], list[Measurement]] = {}
        for one in measurements:
            groups.setdefault((one.task_spec, one.number_per_run), []).append(one)
        return [
            Measurement(number, [time for one in group for time in one.raw_times], spec)
            for (spec, number), group in groups.items()
        ]

    def __repr__(self) -> str:
        unit, length = select_unit(self.median) if self.raw_times else ("s", 1.0)
        spec = self.task_spec
        lines = [f"<{type(self).__module__}.{type(self).__name__} of {self.title}>"]
        if spec.description:
            lines.append(spec.description)
        if spec.setup and spec.setup != "pass":
            lines.append("setup: " + spec.setup.strip().splitlines()[0])
        if not self.raw_times:
            return "\n".join([*lines, "nothing was measured"])
        # Quartiles of three values say nothing.
        few = len(self.raw_times) < 4
        figures = self.significant_figures if not few else 4
        word = "Median" if len(self.raw_times) > 1 else "Time"
        lines.append(f"{word}: {_round(self.median / length, figures)} {unit}")
        if not few:
            low, high = _quantile(self._sorted, 0.25), _quantile(self._sorted, 0.75)
            lines.append(
                f"IQR:    {_round(self.iqr / length, figures)} {unit} ({_round(low / length, figures)} to "
                f"{_round(high / length, figures)})"
            )
        threads = f"{spec.num_threads} thread{'' if spec.num_threads == 1 else 's'}"
        count = len(self.raw_times)
        lines.append(
            f"{count} measurement{'' if count == 1 else 's'}, {self.number_per_run} runs per measurement, {threads}"
        )
        if self.warnings:
            lines.append(self.warnings)
        return "\n".join(lines)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics."""
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _round(value: float, figures: int) -> str:
    """Write a number with so many significant figures, never in exponents."""
    if value == 0:
        return "0"
    digits = max(figures - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{round(value, figures - 1 - math.floor(math.log10(abs(value)))):.{digits}f}"


Callback = Callable[[int, float], None]
