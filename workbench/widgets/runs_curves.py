"""The scalars of a page of a log, thinned out: looking again costs what came since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.live.messages import RunsChart, RunsLine
from workbench.tensorboard import Run, Series
from workbench.train import downsampling
from workbench.widgets.runs_cards import cut

__all__ = ["Curves"]

Array = np.ndarray[Any, Any]

MOST_POINTS = 1 << 16
"""Points of all curves of a page together."""
FEWEST, MOST = 32, 512
"""Stretches of one curve."""


class Curves:
    """Follows the scalars of the cards that are shown, and forgets those of others.

    >>> from pathlib import Path
    >>> curves = Curves()
    >>> series = Series(np.array([0, 1]), np.array([2.0, 1.0]), np.array([10.0, 11.0]))
    >>> [chart] = curves.charts([("loss", {0: Run("a", Path("a"), scalars={"loss": series})})], buffers := [])
    >>> np.frombuffer(buffers[0]).tolist()
    [0.0, 1.0, 2.0, 1.0, 10.0, 11.0]
    """

    def __init__(self) -> None:
        self._followed: dict[tuple[str, str], _Followed] = {}

    def charts(
        self, wanted: Sequence[tuple[str, Mapping[int, Run]]], buffers: list[bytes]
    ) -> list[RunsChart]:
        """Return a chart for each tag, of its runs by their numbers, and put their points behind `buffers`."""
        lines = max(1, sum(len(runs) for _, runs in wanted))
        # Powers of two, so that a run more changes nothing.
        most = int(np.clip(1 << (MOST_POINTS // (2 * lines)).bit_length() - 1, FEWEST, MOST))
        kept: dict[tuple[str, str], _Followed] = {}
        charts = []
        for tag, runs in wanted:
            drawn = []
            for number, run in runs.items():
                series, key = run.scalars[tag], (run.name, tag)
                known = self._followed.get(key)
                if known is None or known.series is not series or known.most != most:
                    known = _Followed(series, most)
                kept[key] = known
                drawn.append(known.line(number, buffers))
            charts.append(RunsChart(cut(tag), drawn))
        self._followed = kept
        return charts


class _Values:
    """The values of a series as they are by now: one list that grows."""

    def __init__(self, series: Series) -> None:
        self._series = series

    def __getitem__(self, key: Any) -> Any:
        return self._series.values[key]

    def __len__(self) -> int:
        return len(self._series)


class _Followed:
    """One series, and what of it is drawn."""

    def __init__(self, series: Series, most: int) -> None:
        self.series, self.most = series, most
        self._values: Any = _Values(series)
        self._thin = downsampling.Series(most)
        self._seen = 0
        self._ordered = True

    def line(self, number: int, buffers: list[bytes]) -> RunsLine:
        series, count = self.series, len(self.series)
        new = series.steps[max(0, self._seen - 1) : count]
        self._ordered = self._ordered and bool((np.diff(new) >= 0).all())
        self._seen = count
        steps, values, times = series.steps, series.values, series.times
        if self._ordered:
            self._thin.follow(self._values, count)
        else:
            # Several programs wrote into one run, or one began again: each time all of it is sorted.
            order = np.argsort(steps, kind="stable")
            steps, values, times = steps[order], values[order], times[order]
            self._thin.follow(values, count)  # type: ignore[arg-type]
        places = np.asarray(self._thin.points()[0], np.int64)
        ends, means, counts = self._thin.means()
        drawn = values[places]
        buffers.append(_rows(steps[places], np.where(np.isfinite(drawn), drawn, np.nan), times[places]))
        middle = [np.nan if one is None else one for one in means]
        buffers.append(_rows(steps[ends] if ends else [], middle, counts, times[ends] if ends else []))
        last = int(steps[-1]) if count else 0
        return RunsLine(
            number,
            len(places),
            len(buffers) - 2,
            len(ends),
            len(buffers) - 1,
            self._thin.missing,
            count,
            last,
        )


def _rows(*rows: Any) -> bytes:
    return np.array([np.asarray(row, np.float64) for row in rows], "<f8").tobytes()
