"""What the present ranges do to the whole model, measured on a small batch in a thread beside the calibration.

The integer model is built once; where a range changes, only the scale of that layer is brought up to date. While data
flows, measuring takes at most a sixtieth of the time. After a person changed a range it starts at once, leaves what it
was at, and tells what the first samples give while it goes on with the others.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from operator import ge
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError, DTypeError, NoNumbersError, QuantizationError
from workbench.core import dispatch
from workbench.core.value import Value
from workbench.graph import Graph, GraphError, tracing
from workbench.quantization.analysis import hit, sqnr, together
from workbench.quantization.held_batch import HeldBatch, rows_of
from workbench.quantization.held_twin import HeldTwin
from workbench.quantization.learnable_fake_quantize import check_learned
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.points import Point, followed
from workbench.quantization.prepared_form import form_of
from workbench.quantization.turns import turns

__all__ = ["Figures", "Measurement"]

Array = np.ndarray[Any, Any]

REST = 60.0
"""After a measurement that took t seconds, the next one waits for `REST`·t seconds, unless it is urgent."""

PATIENCE = 0.4
"""Seconds after which a person is told what is known by then."""

PIECE = 0.1
"""Seconds that one piece of the held batch is to take."""

_NOT_FINITE = "results on the held batch are not finite: look where NaN comes from, or hold another batch"

_KNOWN = (QuantizationError, DTypeError, DimensionError)


class _Left(Exception):
    """What was computed is of no use any more."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Figures:
    """Figures of a whole model; None where they are not known."""

    sqnr: float | None = None
    """Of the scores against those of the floating point model, in dB."""
    accuracy: float | None = None
    """Of the integer model, 0 to 1."""
    float_accuracy: float | None = None
    """Of the floating point model, 0 to 1."""
    samples: int | None = None
    """How many samples of the held batch these are of, where others follow; None for all of them."""


class Measurement:
    """Compares a prepared model, as it would be converted now, with its floating point form on one batch.

    `done` is called in the measuring thread when new figures are there.
    """

    def __init__(self, model: Any, batch: Any, done: Callable[[], None]) -> None:
        self.model = model
        self.batch = HeldBatch(batch)
        self.trouble = ""
        """Why the model cannot be measured; empty if it can."""
        self._form = form_of(model)
        self._points = self._form.points()
        self._weights = [point for point in self._points if point.layer is not None]
        self._done = done
        self._lock = threading.Lock()
        # A measurement takes its time under `_lock`; `_state` is held for a moment, so that nobody who looks
        # waits for one.
        self._state = threading.Lock()
        self._figures = Figures()
        self._measured: tuple[int, ...] = ()
        self._answered: tuple[int, ...] = ()
        self._converted: Any = None
        self._twin: Any = None
        self._quantized: dict[str, int] = {}
        self._scores = _Results(self.batch)
        """Of the floating point model, with the weights that it was given last."""
        self._seen: tuple[int, ...] = ()
        self._leave: Callable[[], bool] = _never
        self._busy = False
        self._urgent = False
        self._hurried = False
        self._again = 0.0
        self._timer: threading.Timer | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the model is called with."""
        return self.batch.arguments

    @property
    def samples(self) -> int:
        """How many samples are held."""
        return self.batch.samples

    def follow(self, old: ObserverBase, new: ObserverBase) -> None:
        """Go by `new`, which was put in the place of `old`."""
        self._points = followed(self._points, old, new)
        self._weights = followed(self._weights, old, new)

    def versions(self) -> tuple[int, ...]:
        """Return numbers that change whenever a range, or what is known of the values, does."""
        return tuple(point.observer.version for point in self._points)

    def now(self) -> Figures:
        """Measure and return the figures."""
        with self._lock:
            versions = self.versions()
            if versions != self._measured or self.trouble:
                for figures in self._measure():
                    self._figures = figures
                self._measured = self._answered = versions
            return self._figures

    @property
    def outdated(self) -> bool:
        """Whether something has changed since the last figures of the whole batch."""
        return self._measured != self.versions()

    def covers(self, versions: tuple[int, ...]) -> bool:
        """Say whether the last figures are of observers that were as far as `versions`, or further."""
        return len(self._answered) >= len(versions) and all(map(ge, self._answered, versions))

    def latest(self, urgent: bool = False) -> Figures:
        """Return the last figures; where they are outdated, measure in the background as soon as it is time to.

        If `urgent`, because a person waits, it is measured at once, and figures of some samples come first.
        """
        with self._state:
            if self.outdated:
                wait = 0.0 if urgent else self._again - time.monotonic()
                if self._busy:
                    # What is measured now may be older than what is asked for.
                    self._hurried = self._hurried or urgent
                elif wait <= 0:
                    self._urgent = urgent
                    self._begin()
                elif self._timer is None:
                    # Nobody may ask again: the last batch of a run is the last that says something.
                    self._timer = threading.Timer(wait, self._due)
                    self._timer.name = "workbench-figures"
                    self._timer.daemon = True
                    self._timer.start()
        return self._figures

    def _due(self) -> None:
        with self._state:
            self._timer = None
            if not self._busy and self.outdated:
                self._urgent = False
                self._begin()

    def _begin(self) -> None:
        self._busy = True
        # A daemon: Python must not wait for figures when it ends.
        threading.Thread(target=self._run, name="workbench-figures", daemon=True).start()

    def _run(self) -> None:
        start = time.monotonic()
        try:
            with turns.taken() if self._urgent else nullcontext():
                self._advance(self._urgent)
        except _KNOWN as error:
            self.trouble = str(error)
            # Not tried again before something has changed.
            self._measured = self._answered = self.versions()
        finally:
            with self._state:
                self._busy = False
                self._again = time.monotonic() + REST * (time.monotonic() - start)
                hurried, self._hurried = self._hurried, False
                if hurried and self.outdated:
                    self._urgent = True
                    self._begin()
        self._done()

    def _advance(self, urgent: bool) -> None:
        """Measure up to the end, or until a person asks for something newer; tell what is known by then if `urgent`."""
        with self._lock:
            versions, told = self.versions(), time.monotonic()
            with self._leaving(lambda: self._hurried and not urgent):
                for figures in self._measure(by_pieces=urgent):
                    whole = figures.samples is None
                    if whole or time.monotonic() - told >= PATIENCE:
                        self._figures, self._answered, told = figures, versions, time.monotonic()
                        if whole:
                            self._measured = versions
                            return
                        self._done()
                    # Who drags is answered again and again: what was asked first has had an answer before it is left.
                    if self._hurried and self._answered == versions:
                        return

    @contextmanager
    def _leaving(self, leave: Callable[[], bool]) -> Iterator[None]:
        """Run the forms in this block up to the next layer after `leave` says so; then the block is left."""
        self._leave = leave
        try:
            yield
        except _Left:
            return
        finally:
            self._leave = _never

    def _stop(self, module: Any, inputs: Any) -> None:
        if self._leave():
            raise _Left

    def _measure(self, by_pieces: bool = False) -> Iterator[Figures]:
        """Yield figures of all samples of the batch, and if `by_pieces` first those of ever more of them."""
        with dispatch.no_grad():
            self._bring_up_to_date()
        batch, found = self.batch, _Results(self.batch)
        size = 1 if by_pieces else batch.pieces
        while found.known < batch.pieces:
            begun, before = time.perf_counter(), found.known
            stop = min(before + size, batch.pieces)
            with dispatch.no_grad():
                if self._scores.known < stop:
                    self._scores.add(self._twin.module, stop)
                found.add(self._converted, stop)
            yield self._figures_of(found)
            # As many as take about `PIECE` seconds, so that nobody waits long for the end of one.
            took = (time.perf_counter() - begun) / (stop - before)
            size = max(1, min(4 * size, int(PIECE / max(took, 1e-9))))

    def _figures_of(self, found: _Results) -> Figures:
        known, batch = found.known, self.batch
        ratio = sqnr(self._scores.rows[:known], found.rows[:known])
        self.trouble = _NOT_FINITE if math.isnan(ratio) else ""
        # It is infinite where both agree exactly, which is no number to show.
        return Figures(
            ratio if math.isfinite(ratio) else None,
            found.accuracy(known),
            self._scores.accuracy(known),
            None if known == batch.pieces else known,
        )

    def values_at(self, point: Point) -> tuple[Any, Any] | None:
        """Return the values of an observed point on the batch, in the floating point model and in the integer one.

        Those of all calls stand in one row. None where it was left for somebody who waits for figures. Raises
        `QuantizationError` where the integer model does not compute them by themselves.
        """
        before: list[Any] = []
        after: list[Any] = []
        with self._lock, dispatch.no_grad():
            self._bring_up_to_date()
            place = self._form.integer_place(point)
            if place is None:
                raise QuantizationError(f"the integer model does not compute {point.name} by itself")
            ran = False
            with (
                self._leaving(lambda: not turns.free),
                _caught(self._twin.module, point.slot, before),
                _caught(self._converted, place, after),
            ):
                self._twin.module(*self.arguments)
                self._converted(*self.arguments)
                ran = True
        if not ran:
            return None
        if not before or not after:
            raise QuantizationError(f"the integer model computes {point.name} within another step")
        return together(before), together(after)

    def graphs(self) -> tuple[Graph, Graph]:
        """Trace the model in floating point, and what converting it now gives, for the inputs of the batch.

        Raises `QuantizationError` where observers have seen nothing yet, or the model cannot be traced.
        """
        with self._lock, dispatch.no_grad():
            self._bring_up_to_date()
            try:
                # By themselves they are no news: what they differ in is what was asked for.
                before, after = (
                    tracing.followed(form, self.arguments).graph
                    for form in (self._twin.module, self._converted)
                )
            except (GraphError, NoNumbersError) as error:
                raise QuantizationError(f"the model has no graph: {error}") from error
        return before, after

    def places_of(self, point: Point) -> tuple[str, ...]:
        """Return where the integer form has an observed point: paths of modules and names of nodes, nearest first."""
        with self._lock:
            place = None if self._converted is None else self._form.integer_place(point)
        return tuple(dict.fromkeys(one for one in (place, point.path, *point.nodes) if one))

    def _bring_up_to_date(self) -> None:
        """Have both forms as the model is now: weights, where they were trained since, and scales.

        Raises `QuantizationError` where observers have seen nothing yet.
        """
        check_learned(self.model)
        missing = self._form.missing()
        if missing:
            raise QuantizationError(f"not calibrated yet: {', '.join(missing)}")
        seen = tuple(point.observer.data_version for point in self._weights)
        weights = {point.path: point.observer.version for point in self._weights}
        if self._twin is None:
            self._twin = HeldTwin(self.model, self._stop)
            if any(point.layer.training for point in self._weights):
                self._twin.take()
            self.batch.divide(self._twin.module)
        elif self._seen != seen:
            self._twin.take()
        if self._seen != seen:
            self._scores, self._seen = _Results(self.batch), seen
        if self._converted is None:
            self._converted = self._form.integer()
            for part in self._converted.modules():
                part.register_forward_pre_hook(self._stop)
        stale = {path for path, version in weights.items() if self._quantized.get(path) != version}
        self._form.refresh(self._converted, stale, self._twin.module)
        self._quantized = weights


@contextmanager
def _caught(model: Any, place: str, seen: list[Any]) -> Iterator[None]:
    """Put into `seen` what the module at `place` returns, call by call, when `model` runs in this block."""

    def keep(module: Any, inputs: Any, output: Any) -> None:
        if isinstance(output, Value):
            seen.append(output)

    handle = model.get_submodule(place).register_forward_hook(keep)
    try:
        yield
    finally:
        handle.remove()


class _Results:
    """What a model gives for the first pieces of a batch, and which labels it hits."""

    def __init__(self, batch: HeldBatch) -> None:
        self._batch = batch
        self.known = 0
        """Of how many pieces."""
        self.rows: Any = None
        """float [pieces, …]; what is not known yet is not set."""
        self._hits: list[Array | None] = []

    def add(self, model: Any, stop: int) -> None:
        """Run `model` on the pieces up to `stop` of which nothing is known."""
        arguments, labels = self._batch.part(self.known, stop)
        output = model(*arguments)
        found = rows_of(output, stop - self.known)
        if self.rows is None:
            self.rows = np.empty((self._batch.pieces, found.shape[1]), found.dtype)
        self.rows[self.known : stop] = found
        judged = labels is not None and isinstance(output, Value)
        self._hits.append(hit(output, labels) if judged else None)
        self.known = stop

    def accuracy(self, pieces: int) -> float | None:
        """Return the part of the labels of the first pieces that was hit; None where nobody can tell."""
        found = [one for one in self._hits if one is not None]
        if not found or len(found) < len(self._hits):
            return None
        right = np.concatenate(found)
        right = right if pieces == self._batch.pieces else right[:pieces]
        return int(np.count_nonzero(right)) / max(1, len(right))
