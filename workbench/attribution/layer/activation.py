"""Layer activation: what a layer gives."""

from __future__ import annotations

from typing import Any

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer
from workbench.attribution.layer.base import LayerAttribution, LayerRuns

__all__ = ["LayerActivation"]


class LayerActivation(LayerAttribution):
    """What a layer gives for the inputs, or is given, of a model of any kind. `layer` may be a list of layers.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> LayerActivation(model.eval(), "0").attribute(wb.tensor([[1.0, -3.0]])).tolist()
    [[1.0, 0.0]]
    """

    takes_any_type = True
    name = "Layer Activation"
    multiplies_by_inputs = True

    def attribute(
        self,
        inputs: Any,
        additional_forward_args: Any = None,
        attribute_to_layer_input: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return what the layer gives: a tensor, a tuple where it gives several, a list of these for a list of layers.

        Raises:
            ValueError: the layer does not run, or several times.
            DimensionError: the layer's first dim is not the samples.
        """
        question = ask(type(self).__name__, inputs, None, None, additional_forward_args, any_type=True)
        answer = self.answer(question, attribute_to_layer_input=attribute_to_layer_input, memory=memory)
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self, question: Question, attribute_to_layer_input: bool = False, memory: int | str | None = None
    ) -> Answer:
        evaluation = self.evaluation(question, memory)
        runs = LayerRuns(evaluation, self.layers(attribute_to_layer_input))
        found = evaluation.gather(runs.values(question.samples, question.part))
        return Answer(
            found, names=runs.names, groups=runs.counts if self.listed else None, **evaluation.state()
        )
