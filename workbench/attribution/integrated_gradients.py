"""Integrated Gradients: gradients summed up along the straight path from a baseline to the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import Answer, Attribution, warn_of_delta
from workbench.attribution.gradients import MOST_ROWS, gradients, outputs
from workbench.attribution.quadrature import quadrature
from workbench.core.value import new

__all__ = ["IntegratedGradients"]

Array = np.ndarray[Any, Any]

TOLERANCE = 0.05
"""Share of the output's change that a delta may be, as the method's authors advise."""

LEAST_TOLERANCE = 1e-3
"""A delta below this is rounding, however small the change."""


class IntegratedGradients(Attribution):
    """What each value of the input contributed to the output's change from a baseline b to the input x.

    ``(x − b) · ∫₀¹ ∂F(b + α (x − b)) / ∂x dα``. A sample's attributions sum to ``F(x) − F(b)`` but for the error of the
    numerical integral, the convergence delta.

    Source: Sundararajan, Taly, Yan: Axiomatic Attribution for Deep Networks (2017).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> method = IntegratedGradients(lambda x: (x * x).sum("features"))
    >>> method.attribute(x).numpy().round(4).tolist()
    [[1.0, 9.0]]
    """

    name = "Integrated Gradients"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
        return_convergence_delta: bool = False,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names, and with `return_convergence_delta` the deltas [N].

        The delta is ``Σ attributions − (F(x) − F(b))``. `method` is a rule of `workbench.attribution.quadrature`. At
        most `internal_batch_size` rows, 256 without it, go through the model at once: rows are samples times steps.

        Raises:
            TypeError: inputs or baselines are not tensors, or a setting has a wrong type.
            DTypeError: values that have no gradients, or targets that are not whole numbers.
            DimensionError: sizes or names that do not go together, or a target that does not fit the output.
            ValueError: values that are not finite, an unknown `method`, or an impossible number of steps or rows.
            AutogradError: the output does not depend on the inputs through ops that have gradients.
        """
        question = ask(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question, n_steps=n_steps, method=method, internal_batch_size=internal_batch_size
        )
        assert answer.delta is not None and answer.tolerance is not None
        if return_convergence_delta:
            return question.named(answer.attributions), new(answer.delta)
        warn_of_delta(type(self).__name__, answer)
        return question.named(answer.attributions)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
    ) -> Answer:
        weights, places = quadrature(method, n_steps)
        ends = [one.numpy() for one in question.inputs]
        starts = [np.broadcast_to(one, end.shape) for one, end in zip(question.baselines, ends, strict=True)]
        # Summed in float64, whatever the type of the model.
        sums = [np.zeros(end.shape) for end in ends]
        for some, rows in _batches(n_steps, question.samples, internal_batch_size):
            values = [_path(b[rows], x[rows], places[some]) for b, x in zip(starts, ends, strict=True)]
            count = len(values[0]) // len(places[some])
            # Which sample each row belongs to, for its target and its further arguments.
            numbers = np.tile(np.arange(rows.start, rows.start + count), len(places[some]))
            found, _ = gradients(self.forward, question, values, numbers)
            for total, gradient in zip(sums, found, strict=True):
                by_place = gradient.reshape(-1, count, *gradient.shape[1:])
                total[rows] += np.tensordot(weights[some], by_place, 1)
        exact = [(x - b) * total for b, x, total in zip(starts, ends, sums, strict=True)]
        after, scores = outputs(self.forward, question, ends)
        before, _ = outputs(self.forward, question, starts)
        # In float64: the difference of two scores that are close is not to be rounded once more.
        change = after.astype(np.float64) - before
        delta = sum(one.reshape(len(one), -1).sum(axis=1) for one in exact) - change
        return Answer(
            [one.astype(x.dtype) for one, x in zip(exact, ends, strict=True)],
            scores,
            delta,
            np.maximum(TOLERANCE * np.abs(change), LEAST_TOLERANCE),
        )


def _path(start: Array, end: Array, places: Array) -> Array:
    """Return the points at `places` on the way from `start` to `end`, [places · samples, …], place by place."""
    # In the type of the inputs, or the model would be run in float64.
    at = places.astype(end.dtype).reshape(-1, *(1,) * end.ndim)
    return np.asarray((start + at * (end - start)).reshape(-1, *end.shape[1:]))


def _batches(n_steps: int, samples: int, size: int | None) -> Iterator[tuple[slice, slice]]:
    """Yield which steps of which samples go through the model together: never more than `size` rows."""
    size = MOST_ROWS if size is None else size
    whole: Any = size  # settings come unchecked from `explain`
    if isinstance(whole, bool) or not isinstance(whole, int) or size < 1:
        raise ValueError(f"IntegratedGradients: internal_batch_size is a number of rows from 1, got {size!r}")
    # As many places at once as there are rows for; of too many samples some at a time.
    together, group = max(1, size // samples), min(size, samples)
    for step in range(0, n_steps, together):
        for row in range(0, samples, group):
            yield slice(step, min(step + together, n_steps)), slice(row, min(row + group, samples))
