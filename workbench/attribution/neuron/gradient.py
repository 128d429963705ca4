"""Neuron gradient."""

from __future__ import annotations

from typing import Any

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.saliency import Saliency

__all__ = ["NeuronGradient"]


class NeuronGradient(NeuronAttribution, GradientAttribution):
    """How steeply a neuron y changes with each value of the input, ``∂y/∂x``.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.ReLU())
    >>> NeuronGradient(model.eval(), "1").attribute(wb.tensor([[1.0, -2.0]]), 0).tolist()
    [[1.0, 0.0]]
    """

    name = "Neuron Gradient"

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        additional_forward_args: Any = None,
        attribute_to_neuron_input: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the gradients of the neuron, of the inputs' shape and names.

        Raises:
            ValueError: the layer does not run, or several times.
            DimensionError: the selector picks no neuron.
            TypeError: a selector of another kind.
            AutogradError: the neuron does not depend on the inputs through ops that have gradients.
        """
        question = ask(type(self).__name__, inputs, None, None, additional_forward_args)
        answer = self.answer(
            question,
            neuron_selector=neuron_selector,
            attribute_to_neuron_input=attribute_to_neuron_input,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        neuron_selector: Any = 0,
        attribute_to_neuron_input: bool = False,
        memory: int | str | None = None,
    ) -> Answer:
        neuron = self.neuron(neuron_selector, attribute_to_neuron_input)
        return self.inside(Saliency(neuron), question, abs=False, memory=memory)
