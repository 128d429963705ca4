"""`Timer`: time a statement or a callable, on as many threads as asked, with the work of timing kept out of it."""

from __future__ import annotations

import sys
import textwrap
import time
import timeit
from collections.abc import Callable
from typing import Any

from workbench.kernels import get_num_threads, set_num_threads
from workbench.utils.benchmark import instructions
from workbench.utils.benchmark.measurement import Callback, Measurement, TaskSpec

__all__ = ["Timer"]

OVERHEAD = 1e-3
"""The largest share of a block's time that asking the clock may take."""
MOST_RUNS = 10**8


class Timer:
    """Times ``stmt``: Python source, or anything that can be called without arguments.

    `setup` runs before each measurement, `global_setup` once; `globals` are the names that the source sees. `label`,
    `sub_label`, `description` and `env` are how `Compare` lays results out. OpenMP, BLAS and torch (if it is loaded)
    are set to `num_threads`, by default 1, while it runs.

    >>> timer = Timer("x + x", globals={"x": 2})
    >>> timer.timeit(100).number_per_run
    100
    """

    def __init__(
        self,
        stmt: str | Callable[[], Any] = "pass",
        setup: str | Callable[[], Any] = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
    ) -> None:
        if num_threads < 1:
            raise ValueError(f"num_threads must be at least 1, got {num_threads}")
        names = dict(globals or {})
        if global_setup:
            exec(compile(textwrap.dedent(global_setup), "<global_setup>", "exec"), names)
        self._statement, self._names = stmt, names
        source = stmt if isinstance(stmt, str) else getattr(stmt, "__name__", repr(stmt))
        self._spec = TaskSpec(
            stmt=textwrap.dedent(source).strip(),
            setup=textwrap.dedent(setup).strip()
            if isinstance(setup, str)
            else getattr(setup, "__name__", ""),
            label=label,
            sub_label=sub_label,
            description=description,
            env=env,
            num_threads=num_threads,
        )
        self._timer = timeit.Timer(
            stmt=textwrap.dedent(stmt).strip() or "pass" if isinstance(stmt, str) else stmt,
            setup=textwrap.dedent(setup).strip() or "pass" if isinstance(setup, str) else setup,
            timer=timer,
            globals=names,
        )
        self._clock = timer

    def _run(self, number: int) -> float:
        # timeit switches the garbage collector off meanwhile.
        # A clock may stand still over a short block, and nothing can be divided by 0.
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Time one block of `number` runs, after a few to warm up."""
        if number < 1:
            raise ValueError(f"number must be at least 1, got {number}")
        with _threads(self._spec.num_threads):
            # The first runs fill caches, here and in the machine.
            self._run(max(number // 100, 2))
            return Measurement(number, [self._run(number)], self._spec)

    def _block_size(self, min_run_time: float) -> int:
        """Return how many runs make a block of which asking the clock is less than `OVERHEAD`."""
        # The least of five: whatever else runs only makes it longer.
        overhead = min(self._ask_clock() for _ in range(5))
        number = 1
        while True:
            taken = self._run(number)
            if overhead / taken <= OVERHEAD and taken >= min_run_time / 1000:
                return number
            if taken > min_run_time or number >= MOST_RUNS:
                return number
            number *= 10

    def _ask_clock(self) -> float:
        start = self._clock()
        return max(self._clock() - start, 1e-9)

    def blocked_autorange(self, callback: Callback | None = None, min_run_time: float = 0.2) -> Measurement:
        """Time blocks, each large enough for the clock not to matter, for `min_run_time` seconds altogether.

        ``callback(number, seconds)`` hears of each block.
        """
        with _threads(self._spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._run(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callback | None = None,
    ) -> Measurement:
        """Time blocks until the distance between quartiles is below `threshold` of the median, or time is up."""
        with _threads(self._spec.num_threads):
            number = self._block_size(0.05)
            times: list[float] = []
            while True:
                times.append(self._run(number))
                if callback is not None:
                    callback(number, times[-1])
                found = Measurement(number, times, self._spec)
                total = sum(times)
                if total >= max_run_time or (
                    total >= min_run_time and len(times) > 3 and found.meets_confidence(threshold)
                ):
                    return found

    def collect_callgrind(
        self, number: int = 100, collect_baseline: bool = True
    ) -> instructions.CallgrindStats:
        """Count the instructions of `number` runs under valgrind, in a process of its own.

        The statement must be source, and the globals numbers, strings, arrays or tensors: they travel by pickle to a
        process that this one starts. Raises RuntimeError where valgrind is not installed.
        """
        if not isinstance(self._statement, str):
            raise TypeError(
                "collect_callgrind runs the statement in another process: give it as source, not as a callable"
            )
        return instructions.collect(self._spec, self._names, number, collect_baseline)


class _threads:
    """Set the number of threads for a block, of the workbench and of torch if somebody imported it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        self._before = get_num_threads()
        # Only where it was imported already, which takes seconds.
        self._torch = sys.modules.get("torch")
        self._torch_before = self._torch.get_num_threads() if self._torch is not None else 0
        self._set(self._number, self._number)

    def _set(self, own: int, other: int) -> None:
        set_num_threads(own)
        if self._torch is not None:
            self._torch.set_num_threads(other)

    def __exit__(self, *exception: object) -> None:
        self._set(self._before, self._torch_before)
