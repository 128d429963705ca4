"""Layer-wise relevance propagation, up to a layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, total_of
from workbench.attribution.layer.base import LayerAttribution
from workbench.attribution.lrp import LRP
from workbench.attribution.propagation.absorbed import absorbed_of, spread
from workbench.attribution.propagation.runs import Tapped, relevance_of

__all__ = ["LayerLRP"]

Array = np.ndarray[Any, Any]


class LayerLRP(LayerAttribution, LRP):
    """How much of the output's value is due to each value of a layer: see `LRP`.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> LayerLRP(model.eval(), "0").attribute(wb.tensor([[3.0, -2.0]]), target=0).tolist()
    [[3.0, 0.0]]
    """

    takes_any_type = True
    name = "Layer LRP"

    def __init__(
        self, model: Callable[..., Any], layer: Any, *, composite: Any = "epsilon", softmax: str = "constant"
    ) -> None:
        LayerAttribution.__init__(self, model, layer)
        # Last: the other makes one of the usual rules on its way.
        LRP.__init__(self, model, composite=composite, softmax=softmax)

    def attribute(  # type: ignore[override]  # Captum has another order here
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        attribute_to_layer_input: bool = False,
        verbose: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the relevance, of the layer's shape and names, and with `return_convergence_delta` the deltas [N].

        The delta is what was taken between the output and the layer, and what went past it, as through a residual sum;
        what is taken before the layer is none of it. Of a list of layers both are lists, with one entry a layer.

        Raises as `LRP.attribute` does; ValueError where the layer does not run, or several times.
        """
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args, any_type=True)
        found = []
        for number in range(len(self.layers(attribute_to_layer_input))):
            answer = self.answer(
                question,
                attribute_to_layer_input=attribute_to_layer_input,
                memory=memory,
                layer_number=number,
            )
            found.append(self.respond(question, answer, over, return_convergence_delta))
        if not self.listed:
            return found[0]
        return tuple(map(list, zip(*found, strict=True))) if return_convergence_delta else found

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        attribute_to_layer_input: bool = False,
        memory: int | str | None = None,
        layer_number: int = 0,
    ) -> Answer:
        evaluation = self.evaluation(question, memory)
        # Of several layers each has a run of its own: relevance that one is given goes on to those before it.
        layer = self.layers(attribute_to_layer_input)[layer_number]
        names: list[tuple[Any, ...]] = []

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            tapped = Tapped(question.method, self.forward, layer)
            relevance = self._run()
            found, picked = relevance_of(tapped, question, values, rows, relevance)
            names[:] = [one.names for one in tapped.runs[0]]
            return [*found, picked, spread(relevance.taken, len(rows))]

        batches = evaluation.stream(question.samples, question.part, run, f"relevance of {layer.name}")
        *found, picked, taken = evaluation.gather(batches)
        return Answer(
            found,
            delta=picked.astype(np.float64) - total_of(found),
            names=tuple(names),
            absorbed=absorbed_of(taken, found, picked),
            **evaluation.state(),
        )
