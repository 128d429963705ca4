"""Values of one observed point on the held batch, in the floating point model and in the integer one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError, DTypeError, QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.quantization.calibration_entry import Entry
from workbench.quantization.fake_quantize import fake_quantize
from workbench.quantization.metrics import Measurement
from workbench.quantization.noise import decibels
from workbench.quantization.observed import float_layer
from workbench.quantization.turns import turns

__all__ = ["LayerValues", "LayerValuesBeside", "compared_values"]

Array = np.ndarray[Any, Any]

BINS = 128
"""Bins that the values are counted in."""

REST = 20.0
"""How many times as long as it worked it rests, while values flow."""

_KNOWN = (QuantizationError, DTypeError, DimensionError)


@dataclass(frozen=True)
class LayerValues:
    """Values before and after quantization, counted in equal bins, and how far they are apart."""

    low: float
    high: float
    before: Array
    """Counts of the floating point model's values."""
    after: Array
    """Counts of the integer model's values."""
    sqnr: float
    """Of the values after against those before, in dB."""
    worst: float
    """Greatest difference of two values."""
    shift: float
    """Mean of the values after less that of those before."""


def compared_values(before: Array, after: Array) -> LayerValues:
    """Return how values that belong to each other are distributed, and how far they are apart.

    Those of which one is not finite have no say. Raises `QuantizationError` where nothing is left, or they do not
    belong to each other.

    >>> found = compared_values(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.5]))
    >>> found.worst, round(found.shift, 3), int(found.before.sum())
    (0.5, -0.167, 3)
    """
    if before.shape != after.shape:
        raise QuantizationError(
            f"the integer model computes this as part of another step: it has {after.shape} values here, and the "
            f"floating point model {before.shape}"
        )
    finite = np.isfinite(before) & np.isfinite(after)
    first, second = before[finite].astype(np.float64), after[finite].astype(np.float64)
    if first.size == 0:
        raise QuantizationError("none of the values on the held batch is finite")
    low, high = float(min(first.min(), second.min())), float(max(first.max(), second.max()))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    counted, counted_after = (np.histogram(one, BINS, (low, high))[0] for one in (first, second))
    rest = second - first
    ratio = float(decibels(np.sum(first * first), np.sum(rest * rest)))
    return LayerValues(
        low, high, counted, counted_after, ratio, float(np.abs(rest).max()), float(rest.mean())
    )


def _numbers(value: Any) -> Array:
    payload = value.payload
    found = payload.dequantize() if isinstance(payload, QuantizedArray) else payload
    return np.asarray(found)


def _found(measurement: Measurement | None, entry: Entry) -> LayerValues:
    if entry.layer is not None:
        observer = entry.observer
        weight = float_layer(entry.layer).weight.detach()
        axis = getattr(observer, "ch_axis", 0) if observer.qscheme.per_channel else None
        return compared_values(
            _numbers(weight), _numbers(fake_quantize(weight, observer.scheme, *observer.qparams(), axis))
        )
    if measurement is None:
        raise QuantizationError(
            "no batch is held: give a small one, Calibration(model, evaluate=(inputs, labels))"
        )
    while (values := measurement.values_at(entry.point)) is None:
        turns.wait()
    return compared_values(*values)


class LayerValuesBeside:
    """Finds them in a thread beside the calibration; `done` is called in it when there is something new."""

    def __init__(self, measurement: Measurement | None, done: Callable[[], None]) -> None:
        self.measurement = measurement
        self.trouble = ""
        """Why there are none; empty if there are, or will be."""
        self._done = done
        self._lock = threading.Lock()
        self._known: tuple[object, LayerValues | None] = (None, None)
        self._busy = False
        self._again = 0.0

    def latest(self, entry: Entry, urgent: bool = False) -> LayerValues | None:
        """Return what was found last for `entry`; where it is outdated, it is found anew beside."""
        versions = () if self.measurement is None else self.measurement.versions()
        key = entry.name, entry.observer.version, versions
        with self._lock:
            known, found = self._known
            same = isinstance(known, tuple) and known[0] == entry.name
            due = urgent or not same or time.monotonic() >= self._again
            if known != key and due and not self._busy:
                self._busy = True
                # A daemon: Python must not wait for a picture when it ends.
                work = threading.Thread(
                    target=self._run, args=(key, entry), name="workbench-values", daemon=True
                )
                work.start()
        return found if same else None

    def _run(self, key: object, entry: Entry) -> None:
        start = time.monotonic()
        found: LayerValues | None = None
        trouble = ""
        try:
            found = _found(self.measurement, entry)
        except _KNOWN as error:
            trouble = str(error)
        finally:
            with self._lock:
                self._known, self.trouble, self._busy = (key, found), trouble, False
                self._again = time.monotonic() + REST * (time.monotonic() - start)
        self._done()
