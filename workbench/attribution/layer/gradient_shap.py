"""Layer Gradient SHAP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.gradient_shap import deltas_of_draws, draw, means_of_draws
from workbench.attribution.layer.base import LayerAttribution, LayerRuns

__all__ = ["LayerGradientShap"]

Array = np.ndarray[Any, Any]


class LayerGradientShap(LayerAttribution, GradientAttribution):
    """The mean of ``(y(x + ε) − y(b)) · ∂F(b + α (x + ε − b)) / ∂y`` over draws, for what a layer gives, y.

    Draws are those of `GradientShap`: a baseline b, noise ε and α in [0, 1).

    Source: Lundberg, Lee: A Unified Approach to Interpreting Model Predictions (2017).

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(2, 1, bias=False))
    >>> _ = wb.nn.init.constant_(model[1].weight, 3)
    >>> LayerGradientShap(model.eval(), "0").attribute(wb.tensor([[1.0, -2.0]]), wb.zeros(4, 2)).tolist()
    [[3.0, -6.0]]
    """

    draws_baselines = True
    name = "Layer Gradient SHAP"

    def __init__(
        self,
        forward_func: Callable[..., Any],
        layer: Any,
        device_ids: Sequence[int] | None = None,
        multiply_by_inputs: bool = True,
    ) -> None:
        super().__init__(forward_func, layer, device_ids)
        self.multiplies_by_inputs = multiply_by_inputs

    def has_convergence_delta(self) -> bool:
        """Return True: in the mean attributions sum to the output's change."""
        return True

    def attribute(
        self,
        inputs: Any,
        baselines: Any,
        n_samples: int = 5,
        stdevs: float | tuple[float, ...] = 0.0,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        attribute_to_layer_input: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the layer's shape; the settings are those of `GradientShap.attribute`.

        Raises as `GradientShap.attribute` does, and ValueError where the layer does not run, or several times.
        """
        question = ask(
            type(self).__name__, inputs, baselines, target, additional_forward_args, distribution=True
        )
        answer = self.answer(
            question,
            n_samples=n_samples,
            stdevs=stdevs,
            return_convergence_delta=return_convergence_delta,
            attribute_to_layer_input=attribute_to_layer_input,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over, return_convergence_delta)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        n_samples: int = 5,
        stdevs: float | tuple[float, ...] = 0.0,
        return_convergence_delta: bool = True,
        attribute_to_layer_input: bool = False,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        evaluation = self.evaluation(question, memory, None, show_progress)
        runs = LayerRuns(evaluation, self.layers(attribute_to_layer_input))
        draws = draw(question, n_samples, stdevs)
        width = len(question.inputs)

        def make(start: int, stop: int) -> tuple[list[Array], Array]:
            parts = [one(start, stop)[0] for one in (draws.points, draws.end, draws.begin)]
            return [array for part in parts for array in part], draws.rows(start, stop)

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            gradients = runs.gradients_of(values[:width], rows)[0]
            if not self.multiplies_by_inputs:
                return gradients
            after = runs.values_of(values[width : 2 * width], rows)
            before = runs.values_of(values[2 * width :], rows)
            return [one * (end - start) for one, end, start in zip(gradients, after, before, strict=True)]

        batches = evaluation.stream(draws.count, make, run, "layer gradients of draws")
        each = [np.concatenate(pieces) for pieces in zip(*(batch.result for batch in batches), strict=True)]
        deltas = None
        if return_convergence_delta and not evaluation.interrupted:
            deltas = deltas_of_draws(evaluation, draws, each)
        return Answer(
            means_of_draws(each, draws),
            delta=None if deltas is None else deltas.reshape(-1, draws.each).mean(1),
            draw_deltas=deltas,
            names=runs.names,
            groups=runs.counts if self.listed else None,
            **evaluation.state(),
        )
