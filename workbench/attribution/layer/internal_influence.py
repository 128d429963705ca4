"""Internal influence: the mean gradient for a layer along the path from baselines to inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.layer.base import LayerAttribution, LayerRuns, check_no_keywords
from workbench.attribution.paths import add_by_sample, along_path
from workbench.attribution.quadrature import quadrature

__all__ = ["InternalInfluence"]

Array = np.ndarray[Any, Any]


class InternalInfluence(LayerAttribution, GradientAttribution):
    """How much a layer's values y matter between a baseline b and the input x, ``∫₀¹ ∂F(b + α (x − b)) / ∂y dα``.

    Source: Leino et al.: Influence-Directed Explanations for Deep Convolutional Networks (2018).

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(2, 1, bias=False))
    >>> _ = wb.nn.init.constant_(model[1].weight, 3)
    >>> InternalInfluence(model.eval(), "0").attribute(wb.tensor([[1.0, -2.0]])).numpy().round(4).tolist()
    [[3.0, 3.0]]
    """

    name = "Internal Influence"

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
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
        return self.respond(question, answer, over)

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
        weights, places = quadrature(method, n_steps)
        sums: list[Array] = []
        types: list[Any] = []
        for batch in runs.gradients(question.samples * n_steps, along_path(question, places)):
            gradients = batch.result[0]
            if not sums:
                sums = [np.zeros((question.samples, *one.shape[1:])) for one in gradients]
                types = [one.dtype for one in gradients]
            for total, gradient in zip(sums, gradients, strict=True):
                add_by_sample(total, gradient, batch, weights)
        found = [one.astype(kind) for one, kind in zip(sums, types, strict=True)]
        return Answer(
            found, names=runs.names, groups=runs.counts if self.listed else None, **evaluation.state()
        )
