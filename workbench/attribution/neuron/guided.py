"""Guided backpropagation and deconvolution of one neuron."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, Attribution, GradientAttribution
from workbench.attribution.guided import Deconvolution, GuidedBackprop
from workbench.attribution.neuron.base import NeuronAttribution

__all__ = ["NeuronDeconvolution", "NeuronGuidedBackprop"]


class _Rectifying(NeuronAttribution, GradientAttribution):
    """What both methods share."""

    kind: ClassVar[Any]
    """The method of the whole model."""

    def __init__(
        self, model: Callable[..., Any], layer: Any, device_ids: Sequence[int] | None = None
    ) -> None:
        super().__init__(model, layer, device_ids)

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
        """Return the changed gradients of the neuron, of the inputs' shape and names.

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
        method: Attribution = self.kind(self.neuron(neuron_selector, attribute_to_neuron_input))
        return self.inside(method, question, memory=memory)


class NeuronGuidedBackprop(_Rectifying):
    """Guided backpropagation of a neuron: see `GuidedBackprop`.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> NeuronGuidedBackprop(model.eval(), "1").attribute(wb.tensor([[1.0, -2.0]]), 1).tolist()
    [[0.0, 0.0]]
    """

    name = "Neuron Guided Backprop"
    kind = GuidedBackprop


class NeuronDeconvolution(_Rectifying):
    """Deconvolution of a neuron: see `Deconvolution`.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> NeuronDeconvolution(model.eval(), "1").attribute(wb.tensor([[1.0, -2.0]]), 1).tolist()
    [[0.0, 1.0]]
    """

    name = "Neuron Deconvolution"
    kind = Deconvolution
