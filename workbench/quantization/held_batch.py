"""The batch that a model is measured on: whole, or some of its samples at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.core.value import Value
from workbench.quantization.analysis import float_results, together

__all__ = ["HeldBatch", "rows_of"]

Array = np.ndarray[Any, Any]

CLOSE = 1e-4
"""How far results of a sample alone may be from those that it has among others, as a part of the largest."""

_UNFIT = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)
"""What a program raises for a number of samples that it was not written for."""


class HeldBatch:
    """Inputs and labels held out of `batch`: a tensor of inputs, a pair (inputs, labels), or a loader of such pairs.

    Raises `QuantizationError` for anything else.
    """

    def __init__(self, batch: Any) -> None:
        inputs, self.labels = _parts(batch)
        self.arguments: tuple[Any, ...] = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
        """What the model is called with."""
        sizes = next((tuple(one.shape) for one in self.arguments if hasattr(one, "shape")), ())
        self.samples = int(sizes[0]) if sizes else 1
        self.pieces = 1
        """How many pieces it can be measured in: one a sample where samples have no part in each other's results."""

    def part(self, start: int, stop: int) -> tuple[tuple[Any, ...], Any]:
        """Return the arguments and labels of some of its pieces; what is no row a sample, as a mask, stays."""
        if stop - start == self.pieces:
            return self.arguments, self.labels
        return self._samples(start, stop), None if self.labels is None else self.labels[start:stop]

    def _samples(self, start: int, stop: int) -> tuple[Any, ...]:
        return tuple(
            one[start:stop] if tuple(getattr(one, "shape", ()))[:1] == (self.samples,) else one
            for one in self.arguments
        )

    def divide(self, model: Any) -> None:
        """Find out whether samples can be measured a few at a time: a model that normalises over them, say, cannot.

        Two are tried, each by itself and both together.
        """
        labels = self.labels is None or tuple(self.labels.shape[:1]) == (self.samples,)
        if self.samples < 2 or not labels:
            return
        try:
            first, second, both = (
                rows_of(model(*self._samples(*ends)), count)
                for ends, count in (((0, 1), 1), ((1, 2), 1), ((0, 2), 2))
            )
        except _UNFIT:
            return
        alone = np.concatenate([first, second])
        # Of what is not finite nobody can tell.
        if alone.shape == both.shape and both.size and np.isfinite(both).all():
            apart = np.abs(alone - both).max()
            self.pieces = self.samples if apart <= CLOSE * np.abs(both).max() else 1


def rows_of(output: Any, samples: int) -> Array:
    """Return the floating point results of a model as rows [samples, …].

    Raises `QuantizationError` where a result has no row a sample.
    """
    whole: Array = together(output)
    if samples == 1:
        return whole.reshape(1, -1)
    found: list[Any] = [*float_results(output)]
    if any(not one.shape or int(one.shape[0]) != samples for one in found):
        raise QuantizationError(
            f"results of sizes {[list(one.shape) for one in found]} have no row for each of {samples} samples"
        )
    if len(found) == 1:
        return whole.reshape(samples, -1)
    return np.concatenate([together(one).reshape(samples, -1) for one in found], axis=1)


def _parts(batch: Any) -> tuple[Any, Any]:
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
