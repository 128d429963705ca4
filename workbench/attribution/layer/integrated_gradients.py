"""Layer Integrated Gradients: the path runs through what a layer gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution, tolerance_of, total_of
from workbench.attribution.integrated_gradients import integral
from workbench.attribution.layer.base import LayerAttribution, LayerRuns, check_no_keywords
from workbench.attribution.layer_values import LayerForward
from workbench.attribution.precision import widened
from workbench.core.value import new

__all__ = ["LayerIntegratedGradients"]

Array = np.ndarray[Any, Any]


class LayerIntegratedGradients(LayerAttribution, GradientAttribution):
    """Integrated Gradients of the model as a function of a layer, from the layer's values at b to those at x.

    ``(y(x) − y(b)) · ∫₀¹ ∂F/∂y (y(b) + α (y(x) − y(b))) dα``. So whole numbers as inputs are explained, by the layer
    that looks up vectors for them. `layer` may be a list of layers, none of which runs behind another.

    Source: Sundararajan, Taly, Yan: Axiomatic Attribution for Deep Networks (2017).

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(2, 1, bias=False))
    >>> _ = wb.nn.init.constant_(model[1].weight, 3)
    >>> LayerIntegratedGradients(model.eval(), "0").attribute(wb.tensor([[1.0, -2.0]])).numpy().round(4).tolist()
    [[3.0, -6.0]]
    """

    takes_any_type = True
    name = "Layer Integrated Gradients"

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

        Inputs may be whole numbers. With a list of layers, a list is returned.

        Raises as `IntegratedGradients.attribute` does, and ValueError where the layer does not run, or several times.
        """
        check_no_keywords(grad_kwargs, type(self).__name__)
        question = ask(type(self).__name__, inputs, baselines, target, additional_forward_args, any_type=True)
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
        layers = self.layers(attribute_to_layer_input)
        ends = self.evaluation(question, memory, internal_batch_size)
        runs = LayerRuns(ends, layers)
        starts = ends.gather(runs.values(question.samples, question.baseline_part))
        values = ends.gather(runs.values(question.samples, question.part))
        before = ends.at_baselines()
        after, scores = ends.at_inputs()
        change = after.astype(np.float64) - before
        inner = replace(
            question,
            inputs=tuple(new(value, names) for value, names in zip(values, runs.names, strict=True)),
            baselines=tuple(starts),
            extra=(*question.inputs, *question.extra),
        )
        forward = LayerForward(question.method, self.forward_func, layers, runs.counts)
        evaluation = self.evaluation(inner, memory, internal_batch_size, show_progress, forward)
        sums = integral(inner, evaluation, n_steps, method)
        if self.multiplies_by_inputs:
            sums = [
                (widened(end) - widened(start)) * one
                for end, start, one in zip(values, starts, sums, strict=True)
            ]
        return Answer(
            [one.astype(value.dtype) for one, value in zip(sums, values, strict=True)],
            scores,
            total_of(sums) - change,
            # Slopes alone need not add up.
            tolerance_of(inner, after, before, sums) if self.multiplies_by_inputs else None,
            names=runs.names,
            groups=runs.counts if self.listed else None,
            **evaluation.state(),
        )
