"""Integrated Gradients: gradients summed up along the straight path from a baseline to the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution, tolerance_of, total_of
from workbench.attribution.evaluation import Evaluation
from workbench.attribution.paths import add_by_sample, along_path
from workbench.attribution.precision import widened
from workbench.attribution.quadrature import quadrature

__all__ = ["IntegratedGradients", "integral"]

Array = np.ndarray[Any, Any]


class IntegratedGradients(GradientAttribution):
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

    def __init__(self, forward_func: Callable[..., Any], multiply_by_inputs: bool = True) -> None:
        super().__init__(forward_func)
        self.multiplies_by_inputs = multiply_by_inputs

    def has_convergence_delta(self) -> bool:
        """Return True: attributions sum to the output's change."""
        return True

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
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names, and with `return_convergence_delta` the deltas [N].

        The delta is ``Σ attributions − (F(x) − F(b))``. `method` is a rule of `workbench.attribution.quadrature`. Rows,
        samples times steps, go through the model at most `internal_batch_size` at once, without it as many as
        `memory` allows. Attributions are summed `over` dims by name.

        Raises:
            TypeError: inputs or baselines are not tensors, or a setting has a wrong type.
            DTypeError: values that have no gradients, or targets that are not whole numbers.
            DimensionError: sizes or names that do not go together, or a target that does not fit the output.
            ValueError: values that are not finite, an unknown `method`, an impossible number of steps or rows, or a
                limit of memory that is too small for one row.
            AutogradError: the output does not depend on the inputs through ops that have gradients.
        """
        question = ask(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            n_steps=n_steps,
            method=method,
            internal_batch_size=internal_batch_size,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over, return_convergence_delta)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        evaluation = self.evaluation(question, memory, internal_batch_size, show_progress)
        quadrature(method, n_steps)  # refuses what cannot be before the model runs
        # Before the gradients: what is there after an interruption can then be judged, too.
        before = evaluation.at_baselines()
        after, scores = evaluation.at_inputs()
        change = after.astype(np.float64) - before
        exact = integral(question, evaluation, n_steps, method)
        if self.multiplies_by_inputs:
            pairs = zip(question.full_baselines(), question.inputs, exact, strict=True)
            exact = [(widened(x.numpy()) - widened(b)) * total for b, x, total in pairs]
        return Answer(
            [one.astype(x.payload.dtype) for one, x in zip(exact, question.inputs, strict=True)],
            scores,
            total_of(exact) - change,
            # Slopes alone need not add up.
            tolerance_of(question, after, before, exact) if self.multiplies_by_inputs else None,
            **evaluation.state(),
        )


def integral(question: Question, evaluation: Evaluation, n_steps: int, method: str) -> list[Array]:
    """Return ``∫₀¹ ∂F(b + α (x − b)) / ∂x dα`` for each input, float64 [N, …]."""
    weights, places = quadrature(method, n_steps)
    # Summed in float64, whatever the type of the model.
    sums = [np.zeros(one.shape) for one in question.inputs]
    for batch in evaluation.gradients(question.samples * n_steps, along_path(question, places)):
        for total, gradient in zip(sums, batch.result[0], strict=True):
            add_by_sample(total, gradient, batch, weights)
    return sums
