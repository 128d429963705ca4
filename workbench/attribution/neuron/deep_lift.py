"""DeepLift of one neuron."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.deep_lift import Custom, DeepLift, DeepLiftShap
from workbench.attribution.neuron.base import NeuronAttribution

__all__ = ["NeuronDeepLift", "NeuronDeepLiftShap"]


class NeuronDeepLift(NeuronAttribution, GradientAttribution):
    """What each value's difference from a baseline contributed to a neuron's difference: see `DeepLift`.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> NeuronDeepLift(model.eval(), "1").attribute(wb.tensor([[3.0, -2.0]]), 0).tolist()
    [[3.0, 0.0]]
    """

    name = "Neuron DeepLift"
    kind: ClassVar[type[DeepLift]] = DeepLift
    """The method of the whole model."""

    def __init__(self, model: Callable[..., Any], layer: Any, multiply_by_inputs: bool = True) -> None:
        super().__init__(model, layer)
        self.multiplies_by_inputs = bool(multiply_by_inputs)

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any = None,
        additional_forward_args: Any = None,
        attribute_to_neuron_input: bool = False,
        custom_attribution_func: Custom = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names.

        Raises as `DeepLift.attribute` does; ValueError where the layer does not run, or several times; DimensionError
        or TypeError where the selector picks no neuron.
        """
        question = ask(
            type(self).__name__,
            inputs,
            baselines,
            None,
            additional_forward_args,
            distribution=self.kind.draws_baselines,
        )
        answer = self.answer(
            question,
            neuron_selector=neuron_selector,
            attribute_to_neuron_input=attribute_to_neuron_input,
            custom_attribution_func=custom_attribution_func,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        neuron_selector: Any = 0,
        attribute_to_neuron_input: bool = False,
        custom_attribution_func: Custom = None,
        memory: int | str | None = None,
    ) -> Answer:
        neuron = self.neuron(neuron_selector, attribute_to_neuron_input)
        method = self.kind(neuron, self.multiplies_by_inputs)
        return self.inside(method, question, memory=memory, custom_attribution_func=custom_attribution_func)


class NeuronDeepLiftShap(NeuronDeepLift):
    """The mean over many baselines of a neuron's DeepLift: see `DeepLiftShap`."""

    name = "Neuron DeepLiftShap"
    draws_baselines = True
    kind = DeepLiftShap
