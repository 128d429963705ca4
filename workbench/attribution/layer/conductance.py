"""Layer conductance: Integrated Gradients, as it flows through a layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution, tolerance_of, total_of
from workbench.attribution.evaluation import Batch
from workbench.attribution.layer.base import LayerAttribution, LayerRuns, check_no_keywords
from workbench.attribution.paths import along_path
from workbench.attribution.precision import widened
from workbench.attribution.quadrature import quadrature

__all__ = ["LayerConductance"]

Array = np.ndarray[Any, Any]


class LayerConductance(LayerAttribution, GradientAttribution):
    """What each value y of a layer contributed to the output's change from a baseline b to the input x.

    ``∫₀¹ ∂F/∂y · ∂y/∂α dα`` along ``b + α (x − b)``: Integrated Gradients through the layer, added up over the inputs.
    It is summed as changes of y from one of ``n_steps + 1`` points to the next, times the gradient at the first of the
    two, so that it costs no more for wide layers.

    Source: Dhamdhere, Sundararajan, Yan: How Important Is a Neuron? (2018); Shrikumar, Su, Kundaje: Computationally
    Efficient Measures of Internal Neuron Importance (2018).

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(2, 1, bias=False))
    >>> _ = wb.nn.init.constant_(model[1].weight, 3)
    >>> LayerConductance(model.eval(), "0").attribute(wb.tensor([[1.0, -2.0]])).numpy().round(1).tolist()
    [[3.0, -6.0]]
    """

    name = "Layer Conductance"
    multiplies_by_inputs = True

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
        attribute_to_layer_input: bool = False,
        grad_kwargs: dict[str, Any] | None = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the layer's shape; the settings are those of `IntegratedGradients.attribute`.

        Raises as `IntegratedGradients.attribute` does, and ValueError where the layer does not run, or several times.
        """
        check_no_keywords(grad_kwargs, type(self).__name__)
        question = ask(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            n_steps=n_steps,
            method=method,
            internal_batch_size=internal_batch_size,
            attribute_to_layer_input=attribute_to_layer_input,
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
        attribute_to_layer_input: bool = False,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        evaluation = self.evaluation(question, memory, internal_batch_size, show_progress)
        runs = LayerRuns(evaluation, self.layers(attribute_to_layer_input))
        _, places = quadrature(method, n_steps + 1)
        before = evaluation.at_baselines()
        after, scores = evaluation.at_inputs()
        change = after.astype(np.float64) - before
        rows = runs.gradients(question.samples * len(places), along_path(question, places))
        sums, types = _changes_times_gradients(rows, question.samples)
        return Answer(
            [one.astype(kind) for one, kind in zip(sums, types, strict=True)],
            scores,
            total_of(sums) - change,
            tolerance_of(question, after, before, sums),
            names=runs.names,
            groups=runs.counts if self.listed else None,
            **evaluation.state(),
        )


def _changes_times_gradients(batches: Iterator[Batch], samples: int) -> tuple[list[Array], list[Any]]:
    """Return for each tensor of the layer Σ (change to the next point) · (gradient at this point), [N, …]."""
    sums: list[Array] = []
    types: list[Any] = []
    # Of the point before: a batch may end in the middle of a path.
    last: tuple[int, list[Array], list[Array]] | None = None
    for batch in batches:
        gradients, values, _ = batch.result
        if not sums:
            sums = [np.zeros((samples, *one.shape[1:])) for one in values]
            types = [one.dtype for one in values]
        gradients, values = ([widened(one) for one in several] for several in (gradients, values))
        if last is not None and last[0] == batch.rows[0]:
            for total, gradient, old, new in zip(sums, last[1], last[2], values, strict=True):
                total[last[0]] += gradient * (new[0] - old)
        for total, gradient, value in zip(sums, gradients, values, strict=True):
            _add_changes(total, gradient, value, batch.rows)
        last = (int(batch.rows[-1]), [one[-1] for one in gradients], [one[-1] for one in values])
    return sums, types


def _add_changes(total: Array, gradient: Array, value: Array, rows: Array) -> None:
    for sample in range(int(rows[0]), int(rows[-1]) + 1):
        first, end = np.searchsorted(rows, [sample, sample + 1])
        changes = np.diff(value[first:end], axis=0)
        total[sample] += np.einsum("p...,p...->...", gradient[first : end - 1], changes)
