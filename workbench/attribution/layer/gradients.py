"""Layer gradient × activation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.layer.base import LayerAttribution, LayerRuns, check_no_keywords

__all__ = ["LayerGradientXActivation"]


class LayerGradientXActivation(LayerAttribution, GradientAttribution):
    """What a layer gives times the gradient of the target for it, ``y · ∂F/∂y``; without `multiply_by_inputs` ∂F/∂y.

    `layer` may be a list of layers.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(2, 1, bias=False))
    >>> _ = wb.nn.init.constant_(model[1].weight, 3)
    >>> LayerGradientXActivation(model.eval(), "0").attribute(wb.tensor([[1.0, -2.0]])).tolist()
    [[3.0, -6.0]]
    """

    takes_any_type = True
    name = "Layer Gradient × Activation"

    def __init__(
        self,
        forward_func: Callable[..., Any],
        layer: Any,
        device_ids: Sequence[int] | None = None,
        multiply_by_inputs: bool = True,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__(forward_func, layer, device_ids)
        self.multiplies_by_inputs = multiply_by_inputs
        # Captum's word for moving results off a GPU: they are in main memory here.
        self.memory_efficient = memory_efficient

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        attribute_to_layer_input: bool = False,
        grad_kwargs: dict[str, Any] | None = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the attributions, of the layer's shape: a tensor, a tuple where it has several, a list for a list.

        Raises:
            ValueError: the layer does not run, or several times.
            DimensionError, AutogradError: as `Saliency.attribute` does.
        """
        check_no_keywords(grad_kwargs, type(self).__name__)
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args, any_type=True)
        answer = self.answer(question, attribute_to_layer_input=attribute_to_layer_input, memory=memory)
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self, question: Question, attribute_to_layer_input: bool = False, memory: int | str | None = None
    ) -> Answer:
        evaluation = self.evaluation(question, memory)
        runs = LayerRuns(evaluation, self.layers(attribute_to_layer_input))
        found = evaluation.gather(
            runs.mapped(
                question.samples,
                question.part,
                lambda gradient, value: gradient * value if self.multiplies_by_inputs else gradient,
            )
        )
        return Answer(
            found, names=runs.names, groups=runs.counts if self.listed else None, **evaluation.state()
        )
