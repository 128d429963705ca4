"""Ablation for one neuron: what it loses with each feature of the inputs."""

from __future__ import annotations

from typing import Any

from workbench.attribution.arguments import Over, Question
from workbench.attribution.base import Answer
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.perturbation.ablation import FeatureAblation
from workbench.attribution.perturbation.asking import ask_any

__all__ = ["NeuronFeatureAblation"]


class NeuronFeatureAblation(NeuronAttribution):
    """What a neuron of a layer loses when a feature of the input is replaced by its baseline.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> NeuronFeatureAblation(model.eval(), "0").attribute(wb.tensor([[3.0, 2.0]]), 1).tolist()
    [[0.0, 2.0]]
    """

    name = "Neuron feature ablation"
    multiplies_by_inputs = True
    takes_any_type = True

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any = None,
        additional_forward_args: Any = None,
        feature_mask: Any = None,
        attribute_to_neuron_input: bool = False,
        perturbations_per_eval: int = 1,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names; settings are those of `FeatureAblation.attribute`.

        Raises as that does, and ValueError where the layer does not run, or several times.
        """
        question = ask_any(type(self).__name__, inputs, baselines, None, additional_forward_args)
        answer = self.answer(
            question,
            neuron_selector=neuron_selector,
            feature_mask=feature_mask,
            attribute_to_neuron_input=attribute_to_neuron_input,
            perturbations_per_eval=perturbations_per_eval,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        neuron_selector: Any = 0,
        feature_mask: Any = None,
        attribute_to_neuron_input: bool = False,
        perturbations_per_eval: int = 1,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        return self.inside(
            FeatureAblation(self.neuron(neuron_selector, attribute_to_neuron_input)),
            question,
            feature_mask=feature_mask,
            perturbations_per_eval=perturbations_per_eval,
            memory=memory,
            show_progress=show_progress,
        )
