"""What the present ranges do to the whole model, measured on a small batch in a thread beside the calibration.

The integer model is built once; where a range changes, only the scale of that layer is brought up to date. While data
flows, measuring takes at most a sixtieth of the time; after a person changed a range it starts at once.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import ge
from typing import Any

from workbench.base.errors import DimensionError, DTypeError, NoNumbersError, QuantizationError
from workbench.core import dispatch
from workbench.core.value import Value
from workbench.graph import Graph, GraphError, tracing
from workbench.quantization.analysis import hits, sqnr, together
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.points import Point, floating_twin, followed
from workbench.quantization.prepared_form import form_of

__all__ = ["Figures", "Measurement"]

REST = 60.0
"""After a measurement that took t seconds, the next one waits for `REST`·t seconds, unless it is urgent."""

_NOT_FINITE = "results on the held batch are not finite: look where NaN comes from, or hold another batch"

_KNOWN = (QuantizationError, DTypeError, DimensionError)


@dataclass(frozen=True)
class Figures:
    """Figures of a whole model; None where they are not known."""

    sqnr: float | None = None
    """Of the scores against those of the floating point model, in dB."""
    accuracy: float | None = None
    """Of the integer model, 0 to 1."""
    float_accuracy: float | None = None
    """Of the floating point model, 0 to 1."""


class Measurement:
    """Compares a prepared model, as it would be converted now, with its floating point form on one batch.

    `done` is called in the measuring thread when new figures are there.
    """

    def __init__(self, model: Any, batch: Any, done: Callable[[], None]) -> None:
        self.model = model
        self.inputs, self.labels = _batch(batch)
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
        self._converted: Any = None
        self._twin: Any = None
        self._quantized: dict[str, int] = {}
        self._scores: Any = None
        self._seen: tuple[int, ...] = ()
        self._float_accuracy: float | None = None
        self._busy = False
        self._hurried = False
        self._again = 0.0
        self._timer: threading.Timer | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the model is called with."""
        return tuple(self.inputs) if isinstance(self.inputs, tuple | list) else (self.inputs,)

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
            if versions != self._measured:
                self._figures = self._measure()
                self._measured = versions
            return self._figures

    @property
    def outdated(self) -> bool:
        """Whether something has changed since the last figures."""
        return self._measured != self.versions()

    def covers(self, versions: tuple[int, ...]) -> bool:
        """Say whether the last figures are of observers that were as far as `versions`, or further."""
        return len(self._measured) >= len(versions) and all(map(ge, self._measured, versions))

    def latest(self, urgent: bool = False) -> Figures:
        """Return the last figures; where they are outdated, measure in the background as soon as it is time to."""
        with self._state:
            if self.outdated:
                wait = 0.0 if urgent else self._again - time.monotonic()
                if self._busy:
                    # What is measured now may be older than what is asked for.
                    self._hurried = self._hurried or urgent
                elif wait <= 0:
                    self._begin()
                elif self._timer is None:
                    # Nobody may ask again: the last batch of a run is the last that says something.
                    self._timer = threading.Timer(wait, self._due)
                    self._timer.daemon = True
                    self._timer.start()
        return self._figures

    def _due(self) -> None:
        with self._state:
            self._timer = None
            if not self._busy and self.outdated:
                self._begin()

    def _begin(self) -> None:
        self._busy = True
        # A daemon: Python must not wait for figures when it ends.
        threading.Thread(target=self._run, name="workbench-figures", daemon=True).start()

    def _run(self) -> None:
        start = time.monotonic()
        try:
            self.now()
        except _KNOWN as error:
            self.trouble = str(error)
            # Not tried again before something has changed.
            self._measured = self.versions()
        finally:
            with self._state:
                self._busy = False
                self._again = time.monotonic() + REST * (time.monotonic() - start)
                hurried, self._hurried = self._hurried, False
                if hurried and self.outdated:
                    self._begin()
        self._done()

    def _measure(self) -> Figures:
        missing = self._form.missing()
        if missing:
            raise QuantizationError(f"not calibrated yet: {', '.join(missing)}")
        with dispatch.no_grad():
            seen = tuple(point.observer.data_version for point in self._weights)
            if self._scores is None or self._seen != seen:
                if self._twin is None:
                    self._twin = floating_twin(self.model)
                self._scores, self._seen = self._called(self._twin), seen
                self._float_accuracy = self._accuracy(self._scores)
            self._bring_up_to_date()
            scores = self._called(self._converted)
        ratio = sqnr(together(self._scores), together(scores))
        self.trouble = _NOT_FINITE if math.isnan(ratio) else ""
        # It is infinite where both agree exactly, which is no number to show.
        return Figures(ratio if math.isfinite(ratio) else None, self._accuracy(scores), self._float_accuracy)

    def values_at(self, point: Point) -> tuple[Any, Any]:
        """Return the values of an observed point on the batch, in the floating point model and in the integer one.

        Those of all calls stand in one row. Raises `QuantizationError` where the integer model does not compute them by
        themselves.
        """
        with self._lock, dispatch.no_grad():
            self._make_forms()
            place = self._form.integer_place(point)
            if place is None:
                raise QuantizationError(f"the integer model does not compute {point.name} by itself")
            before = self._caught(self._twin, point.slot)
            after = self._caught(self._converted, place)
        if not before or not after:
            raise QuantizationError(f"the integer model computes {point.name} within another step")
        return together(before), together(after)

    def graphs(self) -> tuple[Graph, Graph]:
        """Trace the model in floating point, and what converting it now gives, for the inputs of the batch.

        Raises `QuantizationError` where observers have seen nothing yet, or the model cannot be traced.
        """
        with self._lock, dispatch.no_grad():
            self._make_forms()
            try:
                # By themselves they are no news: what they differ in is what was asked for.
                before, after = (
                    tracing.followed(form, self.arguments).graph for form in (self._twin, self._converted)
                )
            except (GraphError, NoNumbersError) as error:
                raise QuantizationError(f"the model has no graph: {error}") from error
        return before, after

    def places_of(self, point: Point) -> tuple[str, ...]:
        """Return where the integer form has an observed point: paths of modules and names of nodes, nearest first."""
        with self._lock:
            place = None if self._converted is None else self._form.integer_place(point)
        return tuple(dict.fromkeys(one for one in (place, point.path, *point.nodes) if one))

    def _make_forms(self) -> None:
        """Have both forms, the integer one by the present ranges."""
        missing = self._form.missing()
        if missing:
            raise QuantizationError(f"not calibrated yet: {', '.join(missing)}")
        if self._twin is None:
            self._twin = floating_twin(self.model)
        self._bring_up_to_date()

    def _caught(self, model: Any, place: str) -> list[Any]:
        """What the module at `place` returns, call by call, when `model`, which is this object's own, runs."""
        seen: list[Any] = []
        handle = model.get_submodule(place).register_forward_hook(
            lambda module, inputs, output: seen.append(output)
        )
        try:
            self._called(model)
        finally:
            handle.remove()
        return [one for one in seen if isinstance(one, Value)]

    def _called(self, model: Any) -> Any:
        return model(*self.arguments)

    def _bring_up_to_date(self) -> None:
        weights = {point.path: point.observer.version for point in self._weights}
        if self._converted is None:
            self._converted = self._form.integer()
        else:
            stale = {path for path, version in weights.items() if self._quantized.get(path) != version}
            self._form.refresh(self._converted, stale)
        self._quantized = weights

    def _accuracy(self, scores: Any) -> float | None:
        if self.labels is None or not isinstance(scores, Value):
            return None
        return hits(scores, self.labels) / max(1, int(self.labels.shape[0]))


def _batch(batch: Any) -> tuple[Any, Any]:
    """Return inputs and labels (None if there are none) of a tensor, a pair, or the first batch of a loader."""
    if isinstance(batch, Value):
        return batch, None
    if not isinstance(batch, tuple | list):
        batch = next(iter(batch), None)
    if isinstance(batch, Value):
        return batch, None
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise QuantizationError(
            "evaluate is a tensor of inputs, a pair (inputs, labels), or a loader of such pairs"
        )
    return batch[0], batch[1]
