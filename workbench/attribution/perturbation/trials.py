"""Perturbed inputs go through the model: in batches where each row has an output of its own, else one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.evaluation import MOST_ROWS, Evaluation
from workbench.attribution.precision import is_floating
from workbench.attribution.target import select
from workbench.base.errors import DimensionError
from workbench.core.dispatch import no_grad
from workbench.tensor import Tensor

__all__ = ["Trials", "check_count"]

Array = np.ndarray[Any, Any]
Rows = Callable[[Array, Array], Sequence[Array]]
"""From numbers of perturbations [rows] and of samples [rows] to perturbed inputs, one array [rows, …] an input."""


BATCH_BYTES = 5 << 18
"""Large inputs go through a model as many at once as have so many bytes: its values then stay near the processor."""


class Trials:
    """How the perturbed inputs of one question go through the model.

    A model whose output has a row for each row of its input may be given many perturbations at once. One that
    makes one output of the whole batch, such as a loss, is given one perturbation of all samples at a time. Which it
    is shows when one sample goes in once and twice.

    `output_shape` is the shape of what is explained: [N, …] of the target's values, or that of a batch's one output.

    Raises:
        ValueError: `perturbations_per_eval` is more than 1 for a model that makes one output of a batch.
    """

    output_shape: tuple[int, ...]
    dtype: Any

    def __init__(
        self, forward: Callable[..., Any], evaluation: Evaluation, perturbations_per_eval: int = 1
    ) -> None:
        self.evaluation = evaluation
        self.question: Question = evaluation.question
        self._forward = forward
        check_count(self.question.method, "perturbations_per_eval", perturbations_per_eval)
        self.by_row = self._has_rows()
        if not self.by_row:
            if perturbations_per_eval > 1:
                raise ValueError(
                    f"{self.question.method}: the model makes one output of a whole batch, and "
                    f"perturbations_per_eval={perturbations_per_eval} asks for several perturbations in one; leave it "
                    "at 1, or return the scores of each sample"
                )
            evaluation.internal_batch_size = 1
        elif perturbations_per_eval > 1:
            evaluation.internal_batch_size = perturbations_per_eval * self.question.samples
        elif self._large_rows() < MOST_ROWS:
            evaluation.internal_batch_size = self._large_rows()

    def _large_rows(self) -> int:
        """Return how many rows of the inputs' size are enough for a batch."""
        inputs = self.question.inputs
        return int(max(1, BATCH_BYTES // sum(one.payload.nbytes // len(one.payload) for one in inputs)))

    def at_inputs(self) -> Array:
        """Return the model's values for the inputs themselves, of `output_shape`."""
        values = [one.payload for one in self.question.inputs]
        return self._first(lambda _, samples: [one[samples] for one in values])

    def at_baselines(self) -> Array:
        """Return the model's values for the baselines, of `output_shape`."""
        shapes = [one.shape for one in self.question.inputs]
        whole = [
            np.broadcast_to(one, shape) for one, shape in zip(self.question.baselines, shapes, strict=True)
        ]
        return self._first(lambda _, samples: [one[samples] for one in whole])

    def outputs(self, count: int, make: Rows) -> Array:
        """Return the model's values for `count` perturbations of all samples, [count, *output_shape].

        Those that were not reached before a stop are NaN.
        """
        samples = self.question.samples
        # Rows of one perturbation follow each other, sample by sample.
        each = samples if self.by_row else 1

        def rows(start: int, stop: int) -> tuple[Sequence[Array], Array]:
            if self.by_row:
                numbers, chosen = np.divmod(np.arange(start, stop), samples)
            else:
                numbers = np.repeat(np.arange(start, stop), samples)
                chosen = np.tile(np.arange(samples), stop - start)
            return make(numbers, chosen), chosen

        found, done = np.zeros((count * each, 0)), 0
        for batch in self.evaluation.stream(count * each, rows, self._run):
            result = batch.result
            if not done:
                found = np.empty((count * each, *result.shape[1:]), result.dtype)
            found[batch.start : batch.stop] = result
            done = batch.stop
        if done < count * each:
            # Nothing is known of the rest; whole numbers have no word for that.
            found = found if is_floating(found.dtype) else found.astype(np.float64)
            found[done:] = np.nan
        return found.reshape(count, samples, *found.shape[1:]) if self.by_row else found

    def _first(self, make: Rows) -> Array:
        found = self.outputs(1, make)[0]
        self.output_shape, self.dtype = found.shape, found.dtype
        return np.asarray(found)

    def _run(self, values: Sequence[Array], rows: Array) -> Array:
        """Return the target's values, [rows, …]; for a model with one output a batch [1, …]."""
        output = self._output(values, rows)
        if not self.by_row:
            return self._of_batch(output)[None]
        if not isinstance(output, Tensor) or output.ndim == 0 or output.shape[0] != len(rows):
            shape = list(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise DimensionError(
                f"{len(rows)} samples went into the model and an output of shape {shape} came out, though it had a row "
                "for each of fewer samples",
                op=self.question.method,
            )
        return self._of_rows(output, rows)

    def _of_rows(self, output: Tensor, rows: Array) -> Array:
        target = self.question.target
        found = _numbers(output)
        if target is None:
            return found
        # Fewer indices than dims pick several numbers a sample: the rest of the dims is explained as it is.
        rest = output.ndim - 1 - target.shape[1]
        first = output[(slice(None),) * (1 + target.shape[1]) + (0,) * rest] if rest > 0 else output
        index = select(first, target, rows, self.question.method, gradients=False)
        return np.asarray(found[index])

    def _of_batch(self, output: Any) -> Array:
        """Return the values of the one output of a batch, with the target's picked where it has one."""
        target = self.question.target
        found = _numbers(output)
        if target is None:
            return found
        place = tuple(target[0])
        if found.ndim < 1 + len(place) or (target != target[0]).any():
            raise DimensionError(
                f"the model makes one output of shape {list(found.shape)} of a whole batch: a target a sample picks "
                "nothing of it; leave the target out",
                op=self.question.method,
            )
        return np.asarray(found[(slice(None), *place)])

    def _output(self, values: Sequence[Array], rows: Array) -> Any:
        question = self.question
        with no_grad():
            output = self._forward(*question.tensors(values), *question.arguments(rows))
        if not isinstance(output, Tensor | int | float):
            raise TypeError(
                f"{question.method}: the model must return a tensor or a number, it returned {type(output).__name__}"
            )
        return output

    def _has_rows(self) -> bool:
        """Say whether the output has a row for each row of the input."""
        value = self.question.inputs
        for rows in (np.zeros(1, np.int64), np.zeros(2, np.int64)):
            try:
                output = self._output([one.payload[rows] for one in value], rows)
            except (RuntimeError, ValueError, IndexError):
                # Made for one number of rows, such as a network with a fixed batch: what is wrong with
                # the inputs themselves shows when they go through as they are.
                return False
            if not isinstance(output, Tensor) or output.ndim == 0 or output.shape[0] != len(rows):
                return False
        return True


def _numbers(output: Any) -> Array:
    found = output.numpy(force=True) if isinstance(output, Tensor) else np.asarray(output)
    return found.astype(np.int64) if found.dtype.kind == "b" else found


def check_count(method: str, name: str, value: Any) -> None:
    """Raise where `value` is not a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{method}: {name} is a whole number, got {value!r}")
    if value < 1:
        raise ValueError(f"{method}: {name} is at least 1, got {value}")
