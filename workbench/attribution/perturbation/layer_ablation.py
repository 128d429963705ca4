"""Ablation and permutation of what a layer gives."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.attribution.arguments import Over, Question
from workbench.attribution.base import Answer, Attribution
from workbench.attribution.layer.base import LayerAttribution, LayerRuns
from workbench.attribution.layer_values import LayerForward
from workbench.attribution.perturbation.ablation import FeatureAblation
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.permutation import FeaturePermutation
from workbench.core.value import new

__all__ = ["LayerFeatureAblation", "LayerFeaturePermutation"]


class _LayerPerturbation(LayerAttribution):
    """What both share: the layer's values become the inputs of a method that perturbs inputs."""

    def _perturbed(
        self,
        method: type[Attribution],
        question: Question,
        baselines: Any,
        at_input: bool,
        memory: int | str | None,
        show_progress: bool,
        **settings: Any,
    ) -> Answer:
        runs = LayerRuns(self.evaluation(question, memory), self.layers(at_input))
        values = runs.evaluation.gather(runs.values(question.samples, question.part))
        tensors = tuple(new(one, names) for one, names in zip(values, runs.names, strict=True))
        # The model is still given its inputs, which what is before the layer is computed from.
        further = (*question.inputs, *question.extra)
        inner = ask_any(
            question.method, tensors[0] if len(tensors) == 1 else tensors, baselines, None, further
        )
        inner = dataclasses.replace(inner, target=question.target)
        other = method(LayerForward(question.method, self.forward_func, runs.layers, runs.counts))
        other._running = self._running
        answer = other._compute(inner, memory=memory, show_progress=show_progress, **settings)
        return dataclasses.replace(
            answer, names=answer.names or runs.names, groups=runs.counts if self.listed else None
        )


class LayerFeatureAblation(_LayerPerturbation):
    """What the output loses when a part of what a layer gives is replaced by a baseline.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> LayerFeatureAblation(model.eval(), "0").attribute(wb.tensor([[1.0, -2.0]]), target=0).tolist()
    [[1.0, 0.0]]
    """

    name = "Layer feature ablation"
    multiplies_by_inputs = True
    takes_any_type = True

    def attribute(
        self,
        inputs: Any,
        layer_baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        layer_mask: Any = None,
        attribute_to_layer_input: bool = False,
        perturbations_per_eval: int = 1,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the layer's shape; `layer_baselines` and `layer_mask` are of it, too.

        Settings are those of `FeatureAblation.attribute`. Raises as that does, and ValueError where the layer does
        not run, or several times.
        """
        question = ask_any(type(self).__name__, inputs, None, target, additional_forward_args)
        answer = self.answer(
            question,
            layer_baselines=layer_baselines,
            layer_mask=layer_mask,
            attribute_to_layer_input=attribute_to_layer_input,
            perturbations_per_eval=perturbations_per_eval,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        layer_baselines: Any = None,
        layer_mask: Any = None,
        attribute_to_layer_input: bool = False,
        perturbations_per_eval: int = 1,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        return self._perturbed(
            FeatureAblation,
            question,
            layer_baselines,
            attribute_to_layer_input,
            memory,
            show_progress,
            feature_mask=layer_mask,
            perturbations_per_eval=perturbations_per_eval,
        )


class LayerFeaturePermutation(_LayerPerturbation):
    """What each output loses when a part of what a layer gives is permuted among the samples.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> LayerFeaturePermutation(model.eval(), "0").attribute(wb.tensor([[1.0], [-2.0]]), target=0).tolist()
    [[1.0], [-1.0]]
    """

    name = "Layer feature permutation"
    takes_any_type = True

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        layer_mask: Any = None,
        perturbations_per_eval: int = 1,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the layer's shape; settings are those of `FeaturePermutation.attribute`.

        Raises as that does, and ValueError where the layer does not run, or several times.
        """
        question = ask_any(type(self).__name__, inputs, None, target, additional_forward_args)
        answer = self.answer(
            question,
            layer_mask=layer_mask,
            perturbations_per_eval=perturbations_per_eval,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        layer_mask: Any = None,
        perturbations_per_eval: int = 1,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        return self._perturbed(
            FeaturePermutation,
            question,
            None,
            False,
            memory,
            show_progress,
            feature_mask=layer_mask,
            perturbations_per_eval=perturbations_per_eval,
        )
