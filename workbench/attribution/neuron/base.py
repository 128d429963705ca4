"""What the methods that explain one neuron share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from workbench.attribution.arguments import Question
from workbench.attribution.base import Answer, Attribution
from workbench.attribution.layers import by_name, find_layer
from workbench.attribution.neuron.forward import NeuronForward
from workbench.nn import Module

__all__ = ["NeuronAttribution"]


class NeuronAttribution(Attribution):
    """A method that explains one neuron of a layer instead of a number of the output, in the shape of the inputs.

    `layer` is a module of the model, its dotted name, or a node of a graph; None for one that is set later. A
    `neuron_selector` is the neuron's place in what the layer gives, behind the samples: a whole number, a tuple of
    whole numbers and slices (summed over), or a function from that to one number a row.

    Raises:
        TypeError: `forward_func` cannot be called, or `layer` is nothing that can be found.
        ValueError: the model has no such layer.
    """

    def __init__(
        self, forward_func: Callable[..., Any], layer: Any, device_ids: Sequence[int] | None = None
    ) -> None:
        super().__init__(forward_func)
        self.layer = layer
        self.device_ids = device_ids
        if layer is not None:
            find_layer(type(self).__name__, forward_func, layer)

    def _named_modules(self) -> list[Module]:
        place = find_layer(type(self).__name__, self.forward_func, self.layer).place
        return [place] if isinstance(place, Module) else []

    def on(self, forward_func: Callable[..., Any]) -> Self:
        """Return the same method of another model: its layer is that of the same name."""
        other = super().on(forward_func)
        other.layer = by_name(self.forward_func, self.layer)
        return other

    def neuron(self, selector: Any, at_input: bool) -> NeuronForward:
        """Return the model as a function to the neuron."""
        name = type(self).__name__
        return NeuronForward(
            name, self.forward_func, find_layer(name, self.forward_func, self.layer, at_input), selector
        )

    def inside(self, other: Attribution, question: Question, **settings: Any) -> Answer:
        """Return another method's answer, which `stop` of this one ends."""
        other._running = self._running
        return other._compute(question, **settings)
