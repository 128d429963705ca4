"""Timing two things against each other in one process: interleaved, so that both meet the same machine."""

from __future__ import annotations

import gc
import importlib.util
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


def compare_alone(ours: Work, theirs: Work, rounds: int = 5, seconds: float = 0.35) -> Timing:
    """Time both in turn, each alone for `seconds` at a time; return the medians of one call.

    For peers whose threads go on spinning after a call, as ours do: each turn begins when those of the other sleep, and
    its first fifth, in which threads and caches come back, is not counted.
    """
    times: tuple[list[float], list[float]] = ([], [])
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for work, kept in zip((ours, theirs), times, strict=True):
                time.sleep(_FALLING_ASLEEP)
                begin = time.perf_counter()
                work()
                while time.perf_counter() - begin < seconds / 5:
                    work()
                found: list[float] = []
                while not found or time.perf_counter() - begin < seconds:
                    start = time.perf_counter()
                    work()
                    found.append(time.perf_counter() - start)
                kept.append(statistics.median(found))
    finally:
        gc.enable()
    return Timing(statistics.median(times[0]), statistics.median(times[1]))


_FALLING_ASLEEP = 0.05
"""Seconds after which the threads of every library have stopped waiting for more."""


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
    alone: bool = False
    """Whether the peer's threads would disturb ours between its calls: each then runs by itself for a while."""
    needs: str = ""
    """A module that not everybody has installed, without which there is nothing to measure against."""

    @property
    def is_there(self) -> bool:
        """Whether what it is measured against is installed."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None

    def run(self) -> Timing:
        """Measure it."""
        if self.alone:
            return compare_alone(*self.make())
        return compare(*self.make(), rounds=self.rounds)
