"""The one way in which rows go through a model: in batches under a limit of memory, with progress, until stopped."""

from __future__ import annotations

import contextvars
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.measuring import Cost, measured, memory_limit, size_text
from workbench.attribution.model_runs import differentiated, gradients_of, run_rows
from workbench.attribution.precision import is_floating
from workbench.attribution.target import select
from workbench.data.progress import progress
from workbench.tensor.interchange import plain

__all__ = [
    "DEFAULT_MEMORY",
    "MOST_ROWS",
    "Batch",
    "Evaluation",
    "Forecast",
    "Make",
    "Stopped",
    "forecasting",
]

Array = np.ndarray[Any, Any]
Forward = Callable[..., Any]
Make = Callable[[int, int], tuple[Sequence[Array], Array]]
"""Rows `start` to `stop` of some work: one array an input, and the number of the sample that each row is of."""
Run = Callable[[Sequence[Array], Array], Any]
"""What is done with the rows of a batch: from arrays, one an input, and numbers of samples to any result."""

MOST_ROWS = 256
"""Most rows that go through a model at once, unless a method is told otherwise."""

DEFAULT_MEMORY = 96 << 20
"""What a batch may take unless a limit is given, in bytes; one row is let through whatever it takes."""

TRIAL_ROWS = 8
"""A forecast times a batch of as many rows: a single one is slower than a row among others."""


class Stopped(Exception):
    """A run was ended before there was anything to show."""


class Batch(NamedTuple):
    """Rows that went through the model together."""

    start: int
    stop: int
    """Which rows of the work these are."""
    rows: Array
    """int64 [rows]: the number of the sample that each is of."""
    values: Sequence[Array]
    """What went in, one array an input."""
    result: Any
    """What came of them."""


@dataclass(frozen=True)
class Forecast:
    """What a run is going to take, from a few of its rows."""

    rows: int
    """How many rows go through the model, all together."""
    batch: int
    """How many at once, at most."""
    seconds: float
    bytes: int
    """How far memory is going to rise."""

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows, up to {self.batch:,} at once: about {self.seconds:.3g} s and "
            f"{size_text(self.bytes)} of memory"
        )


_PLANNED: contextvars.ContextVar[list[Forecast] | None] = contextvars.ContextVar("planned", default=None)


@contextmanager
def forecasting() -> Iterator[list[Forecast]]:
    """Let evaluations only try a few rows of each of their works, and note in the list what all would take."""
    planned: list[Forecast] = []
    token = _PLANNED.set(planned)
    try:
        yield planned
    finally:
        _PLANNED.reset(token)


@dataclass
class Evaluation:
    """How the rows of one question go through the model.

    A method says which rows there are and what is done with a batch of them (`stream`, or `outputs` and `gradients`,
    which are made of it); how many go together, progress, and an end before the last are decided here. Rows are
    made when they are needed, so that thousands of perturbed inputs are never in memory at once.

    At most `internal_batch_size` rows go together. Without it their number is chosen by what one row takes, which
    is measured, so that a batch stays under `memory` bytes (or ``"512 MB"``), 96 MiB without it.

    A KeyboardInterrupt, or `stop` from another thread, ends a stream after the last batch that is done; the method
    makes of it what it can. Before the first batch a KeyboardInterrupt goes on to the caller.

    Raises:
        TypeError: a number of rows or a limit of a wrong type.
        ValueError: an impossible number of rows or limit, or a limit that is too small for one row.

    >>> import workbench as wb
    >>> from workbench.attribution.arguments import ask
    >>> question = ask("Example", wb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> evaluation = Evaluation(question, lambda x: (x * x).sum(1), internal_batch_size=1)
    >>> [batch.result.tolist() for batch in evaluation.outputs(2, question.part)]
    [[5.0], [25.0]]
    """

    question: Question
    forward: Forward
    memory: int | str | None = None
    internal_batch_size: int | None = None
    show_progress: bool = False
    on_progress: Callable[[int, int], None] | None = None
    """Called after each batch with the number of rows done and of all rows of the stream."""
    interrupted: bool = field(default=False, init=False)
    """Whether a stream ended before its last row."""
    done: int = field(default=0, init=False)
    """Rows that went through, of all streams."""
    planned: int = field(default=0, init=False)
    """Rows that were to go through, of all streams that began."""

    def __post_init__(self) -> None:
        size: Any = self.internal_batch_size  # settings come unchecked from `explain`
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise ValueError(
                f"{self.question.method}: internal_batch_size is a number of rows from 1, got {size!r}"
            )
        self._limit = memory_limit(self.memory, self.question.method)
        self._stopped = False
        self._measured: dict[Any, dict[str, Cost]] = {}

    def state(self) -> dict[str, Any]:
        """Return what an `Answer` says of how far this came: `interrupted` and `progress`."""
        return {
            "interrupted": self.interrupted,
            "progress": self.done / self.planned if self.planned else 1.0,
        }

    def stop(self) -> None:
        """End after the batch that runs; may be called from another thread."""
        self._stopped = True

    def stream(self, count: int, make: Make, run: Run, kind: str = "") -> Iterator[Batch]:
        """Yield the batches of `count` rows in order, each with what `run` makes of it.

        `make(start, stop)` returns those rows: one array an input, and which sample each is of. What a row takes is
        measured once for each `kind` of work on a model.

        Raises:
            Stopped: an earlier stream of this evaluation was ended already.
        """
        if self.interrupted:
            raise Stopped(f"{self.question.method} was stopped before there was anything to show")
        kind = kind or getattr(run, "__qualname__", "")
        forecasts = _PLANNED.get()
        if forecasts is not None:
            yield from self._try(count, make, run, kind, forecasts)
            return
        self.planned += count
        bar = progress(range(count), self.question.method, unit="row") if self.show_progress else None
        try:
            for batch in self._batches(count, make, run, kind):
                self.done += batch.stop - batch.start
                if bar is not None:
                    bar.update(batch.stop - batch.start)
                if self.on_progress is not None:
                    self.on_progress(batch.stop, count)
                yield batch
        finally:
            if bar is not None:
                bar.close()

    def outputs(self, count: int, make: Make) -> Iterator[Batch]:
        """Yield batches whose results are the targets' values, [rows]; no gradients are kept."""
        method = self.question.method

        def run(values: Sequence[Array], rows: Array) -> Array:
            output = run_rows(self.forward, self.question, values, rows)
            index = select(output, self.question.target, rows, method, gradients=False)
            return np.asarray(plain(output)[index])

        return self.stream(count, make, run, "outputs")

    def gradients(self, count: int, make: Make) -> Iterator[Batch]:
        """Yield batches whose results are (gradients of the targets, one array an input; the targets' values).

        Raises:
            AutogradError: the output does not depend on the inputs through ops that have gradients.
            ValueError: gradients are NaN or infinite.
        """
        return self.stream(count, make, self._gradients, "gradients")

    def input_gradients(self) -> list[Array]:
        """Return the gradients of the targets for the inputs themselves, one array an input.

        Raises as `gradients` does.
        """
        question, forward = self.question, self.forward
        batches = self.stream(
            question.samples,
            question.part,
            lambda values, rows: differentiated(forward, question, values, rows)[0],
            "gradients",
        )
        return self.gather(batches)

    def at_inputs(self) -> tuple[Array, Array]:
        """Return the targets' values for the inputs themselves, [N], and the model's whole outputs for them."""
        return self._ends(self.question.part)

    def at_baselines(self) -> Array:
        """Return the targets' values for the baselines, [N]."""
        return self._ends(self.question.baseline_part)[0]

    def gather(self, batches: Iterator[Batch], count: int | None = None) -> list[Array]:
        """Return results that are lists of arrays [rows, …], each put together; NaN for rows that were not reached.

        `count` is the number of rows of the stream, without it that of samples.
        """
        parts = [batch.result for batch in batches]
        joined = [
            np.concatenate(pieces) if len(pieces) > 1 else pieces[0] for pieces in zip(*parts, strict=True)
        ]
        count = self.question.samples if count is None else count
        return [_filled(one, count) for one in joined]

    def _ends(self, make: Make) -> tuple[Array, Array]:
        method = self.question.method

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            output = run_rows(self.forward, self.question, values, rows)
            index = select(output, self.question.target, rows, method, gradients=False)
            whole = plain(output)
            return [whole[index], whole]

        picked, whole = self.gather(self.stream(self.question.samples, make, run, "outputs"))
        return picked, whole

    def _gradients(self, values: Sequence[Array], rows: Array) -> tuple[list[Array], Array]:
        return gradients_of(self.forward, self.question, values, rows)

    def _batches(self, count: int, make: Make, run: Run, kind: str) -> Iterator[Batch]:
        start = 0
        size = self.internal_batch_size
        # As many rows as came go together as they came, unless a limit is given: a model may take no other number.
        as_given = count <= min(self.question.samples, MOST_ROWS)
        if self._limit is not None or (size is None and not as_given):
            cost = self._costs().get(kind)
            if cost is None:
                batch, cost = self._measure(make, run, kind)
                self._most(cost)  # a limit that is too small is refused before anything is made of the row
                yield batch
                start = 1
            size = min(size or MOST_ROWS, self._most(cost))
        size = size or MOST_ROWS
        while start < count:
            # What there is to show is one batch at least.
            if self._stopped and start:
                self.interrupted = True
                return
            stop = min(start + size, count)
            try:
                batch = _batch(make, run, start, stop)
            except KeyboardInterrupt:
                if not start:
                    raise
                self.interrupted = True
                return
            yield batch
            start = stop

    def _measure(self, make: Make, run: Run, kind: str) -> tuple[Batch, Cost]:
        prepares = getattr(self.forward, "_prepares", False)
        if prepares:
            # What is compiled is made in the first call, and that takes more than all that follow.
            _batch(make, run, 0, 1)
        batch, cost = measured(lambda: _batch(make, run, 0, 1), 1)
        if prepares:
            # What its programs work in was there before, and grows with the rows.
            shapes = [(1, *value.shape[1:]) for value in self.question.inputs]
            cost = replace(cost, bytes=cost.bytes + self.forward._working_bytes(shapes))  # type: ignore[attr-defined]
        self._costs()[kind] = cost
        return batch, cost

    def _most(self, cost: Cost) -> int:
        """Return how many rows go under the limit."""
        limit = self._limit
        if limit is not None and cost.bytes > limit:
            raise ValueError(
                f"{self.question.method}: memory={size_text(limit)} is too small for one example, which takes about "
                f"{size_text(cost.bytes)}; give at least memory={int(cost.bytes * 1.1)}, or smaller inputs"
            )
        return max(1, (DEFAULT_MEMORY if limit is None else limit) // cost.bytes)

    def _costs(self) -> dict[str, Cost]:
        """Return what is known of the model's costs for inputs of these shapes."""
        shapes = tuple((value.shape[1:], value.payload.dtype.str) for value in self.question.inputs)
        try:
            known = _MEASURED.setdefault(self.forward, {})
        except TypeError:  # a callable that cannot be a key, or not a weak one
            known = self._measured
        return known.setdefault(shapes, {})

    def _try(self, count: int, make: Make, run: Run, kind: str, forecasts: list[Forecast]) -> Iterator[Batch]:
        """Yield one batch only, and note what all of them would take."""
        batch, cost = self._measure(make, run, kind)
        size = min(self.internal_batch_size or MOST_ROWS, self._most(cost), count)
        some = min(size, TRIAL_ROWS)
        start = time.perf_counter()
        _batch(make, run, 0, some)
        seconds = (time.perf_counter() - start) / some
        forecasts.append(Forecast(count, size, seconds * count, cost.bytes * size))
        yield batch


_MEASURED: weakref.WeakKeyDictionary[Any, dict[Any, dict[str, Cost]]] = weakref.WeakKeyDictionary()
"""What one row took: by model, by shapes of inputs, by kind of work. Measuring makes small calls slower."""


def _batch(make: Make, run: Run, start: int, stop: int) -> Batch:
    values, rows = make(start, stop)
    return Batch(start, stop, rows, values, run(values, rows))


def _filled(array: Array, count: int) -> Array:
    """Return an array with rows of NaN added up to `count`."""
    if len(array) == count:
        return array
    missing = np.full((count - len(array), *array.shape[1:]), np.nan)
    return np.concatenate([array, missing.astype(array.dtype if is_floating(array.dtype) else np.float64)])
