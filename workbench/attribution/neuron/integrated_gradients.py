"""Neuron Integrated Gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.integrated_gradients import IntegratedGradients
from workbench.attribution.neuron.base import NeuronAttribution

__all__ = ["NeuronIntegratedGradients"]


class NeuronIntegratedGradients(NeuronAttribution, GradientAttribution):
    """What each value of the input contributed to a neuron's change from a baseline to the input.

    Source: Sundararajan, Taly, Yan: Axiomatic Attribution for Deep Networks (2017).

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.ReLU())
    >>> found = NeuronIntegratedGradients(model.eval(), "1").attribute(wb.tensor([[1.0, -2.0]]), 0)
    >>> found.numpy().round(4).tolist()
    [[1.0, -0.0]]
    """

    name = "Neuron Integrated Gradients"

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
        baselines: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
        attribute_to_neuron_input: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names; settings are `IntegratedGradients.attribute`'s.

        Raises as that and as `NeuronGradient.attribute` does.
        """
        question = ask(type(self).__name__, inputs, baselines, None, additional_forward_args)
        answer = self.answer(
            question,
            neuron_selector=neuron_selector,
            n_steps=n_steps,
            method=method,
            internal_batch_size=internal_batch_size,
            attribute_to_neuron_input=attribute_to_neuron_input,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        neuron_selector: Any = 0,
        n_steps: int = 50,
        method: str = "gausslegendre",
        internal_batch_size: int | None = None,
        attribute_to_neuron_input: bool = False,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        neuron = self.neuron(neuron_selector, attribute_to_neuron_input)
        return self.inside(
            IntegratedGradients(neuron, self.multiplies_by_inputs),
            question,
            n_steps=n_steps,
            method=method,
            internal_batch_size=internal_batch_size,
            memory=memory,
            show_progress=show_progress,
        )
