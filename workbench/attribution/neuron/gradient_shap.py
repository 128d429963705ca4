"""Neuron Gradient SHAP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.gradient_shap import GradientShap
from workbench.attribution.neuron.base import NeuronAttribution

__all__ = ["NeuronGradientShap"]


class NeuronGradientShap(NeuronAttribution, GradientAttribution):
    """Gradient SHAP of a neuron instead of the output.

    Source: Lundberg, Lee: A Unified Approach to Interpreting Model Predictions (2017).

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.ReLU())
    >>> NeuronGradientShap(model.eval(), "1").attribute(wb.tensor([[1.0, 2.0]]), 0, wb.zeros(3, 2)).tolist()
    [[1.0, 0.0]]
    """

    draws_baselines = True
    name = "Neuron Gradient SHAP"

    def __init__(
        self,
        forward_func: Callable[..., Any],
        layer: Any,
        device_ids: Sequence[int] | None = None,
        multiply_by_inputs: bool = True,
    ) -> None:
        super().__init__(forward_func, layer, device_ids)
        self.multiplies_by_inputs = multiply_by_inputs

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any,
        n_samples: int = 5,
        stdevs: float | tuple[float, ...] = 0.0,
        additional_forward_args: Any = None,
        attribute_to_neuron_input: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names; settings are `GradientShap.attribute`'s.

        Raises as that and as `NeuronGradient.attribute` does.
        """
        question = ask(
            type(self).__name__, inputs, baselines, None, additional_forward_args, distribution=True
        )
        answer = self.answer(
            question,
            neuron_selector=neuron_selector,
            n_samples=n_samples,
            stdevs=stdevs,
            attribute_to_neuron_input=attribute_to_neuron_input,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        neuron_selector: Any = 0,
        n_samples: int = 5,
        stdevs: float | tuple[float, ...] = 0.0,
        attribute_to_neuron_input: bool = False,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        neuron = self.neuron(neuron_selector, attribute_to_neuron_input)
        return self.inside(
            GradientShap(neuron, self.multiplies_by_inputs),
            question,
            n_samples=n_samples,
            stdevs=stdevs,
            return_convergence_delta=False,
            memory=memory,
            show_progress=show_progress,
        )
