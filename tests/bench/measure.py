"""Timing two things against each other in one process: interleaved, so that both meet the same machine."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Median seconds of one call of ours and of theirs."""

    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Ours divided by theirs: below 1 we are faster."""
        return self.ours / self.theirs


def repetitions(work: Work, seconds: float) -> int:
    """Return how many calls of `work` fill `seconds`, at least one."""
    start = time.perf_counter()
    work()
    once = max(time.perf_counter() - start, 1e-7)
    return max(1, int(seconds / once))


def compare(ours: Work, theirs: Work, rounds: int = 31, seconds: float = 0.02) -> Timing:
    """Time both in turn, `rounds` times, each time for about `seconds`; return the medians of one call."""
    for work in (ours, theirs, ours, theirs):
        work()
    counts = (repetitions(ours, seconds), repetitions(theirs, seconds))
    times: tuple[list[float], list[float]] = ([], [])
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for work, count, kept in zip((ours, theirs), counts, times, strict=True):
                start = time.perf_counter()
                for _ in range(count):
                    work()
                kept.append((time.perf_counter() - start) / count)
    finally:
        gc.enable()
    return Timing(statistics.median(times[0]), statistics.median(times[1]))


@dataclass(frozen=True)
class Case:
    """One row of the table: what, against what, and the ratio aimed at."""

    name: str
    peer: str
    target: float
    make: Callable[[], tuple[Work, Work]]
    rounds: int = 31
    unit: str = "s"
    """What is measured: seconds, or bytes (B)."""

    def run(self) -> Timing:
        """Measure it."""
        return compare(*self.make(), rounds=self.rounds)
