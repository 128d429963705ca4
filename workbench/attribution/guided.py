"""Gradients through rectified units by other rules: guided backpropagation, deconvolution, guided Grad-CAM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.layer.base import LayerAttribution
from workbench.attribution.layer.grad_cam import LayerGradCam
from workbench.attribution.model_runs import gradients_of
from workbench.attribution.propagation.rectified import Rectified
from workbench.base.errors import DimensionError
from workbench.core.dispatch import interpreting
from workbench.core.value import new

__all__ = ["Deconvolution", "GuidedBackprop", "GuidedGradCam"]

Array = np.ndarray[Any, Any]


class _Rectifying(GradientAttribution):
    """What both methods share."""

    guided: ClassVar[bool]

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the changed gradients of the target, of the inputs' shape and names.

        Every call that rectifies is meant: of a module, used once or often, or of a function; ReLU, and what is 0 below
        0 by its bounds, as ReLU6.

        Raises:
            TypeError: inputs are not tensors.
            DTypeError: values that have no gradients, or targets that are not whole numbers.
            DimensionError: a target that does not fit the output.
            AutogradError: the output does not depend on the inputs through ops that have gradients.
        """
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args)
        return self.respond(question, self.answer(question, memory=memory), over)

    def _compute(  # type: ignore[override]
        self, question: Question, memory: int | str | None = None
    ) -> Answer:
        evaluation = self.evaluation(question, memory)

        def forward(*arguments: Any) -> Any:
            with interpreting(Rectified(question.method, self.guided)):
                return self.forward(*arguments)

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            return gradients_of(forward, question, values, rows)[0]

        found = evaluation.gather(evaluation.stream(question.samples, question.part, run, "gradients"))
        return Answer(found, **evaluation.state())


class GuidedBackprop(_Rectifying):
    """The gradient, of which rectified units let through only what is positive, and only where they were active.

    Source: Springenberg et al.: Striving for Simplicity: The All Convolutional Net (2014).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 2.0, -3.0]])
    >>> GuidedBackprop(lambda x: wb.relu(x) * wb.tensor([2.0, -1.0, 1.0])).attribute(x, target=0).tolist()
    [[2.0, 0.0, 0.0]]
    """

    name = "Guided Backprop"
    guided = True

    def __init__(self, model: Callable[..., Any]) -> None:
        super().__init__(model)


class Deconvolution(_Rectifying):
    """The gradient, of which rectified units let through only what is positive, active or not.

    Source: Zeiler, Fergus: Visualizing and Understanding Convolutional Networks (2013).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 2.0, -3.0]])
    >>> Deconvolution(lambda x: (wb.relu(x) * wb.tensor([2.0, -1.0, 1.0])).sum(1)).attribute(x).tolist()
    [[2.0, 0.0, 1.0]]
    """

    name = "Deconvolution"
    guided = False

    def __init__(self, model: Callable[..., Any]) -> None:
        super().__init__(model)


class GuidedGradCam(LayerAttribution, GradientAttribution):
    """Guided backpropagation where Grad-CAM of a layer sees the target: their product, in the sizes of the input.

    Source: Selvaraju et al.: Grad-CAM (2017).

    >>> import workbench as wb
    >>> model = wb.models.DigitsNet().eval()
    >>> GuidedGradCam(model, "conv2").attribute(wb.ones(N=1, C=1, H=28, W=28), target=3).shape
    (1, 1, 28, 28)
    """

    name = "Guided Grad-CAM"

    def __init__(
        self, model: Callable[..., Any], layer: Any, device_ids: Sequence[int] | None = None
    ) -> None:
        super().__init__(model, layer, device_ids)

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        interpolate_mode: str = "nearest",
        attribute_to_layer_input: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the product, of the inputs' shape and names.

        Raises as `LayerGradCam.attribute` and `GuidedBackprop.attribute` do; DimensionError where the layer's map
        cannot be resized to an input.
        """
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args)
        answer = self.answer(
            question,
            interpolate_mode=interpolate_mode,
            attribute_to_layer_input=attribute_to_layer_input,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        interpolate_mode: str = "nearest",
        attribute_to_layer_input: bool = False,
        memory: int | str | None = None,
    ) -> Answer:
        seen, guided = LayerGradCam(self.forward_func, self.layer), GuidedBackprop(self.forward_func)
        seen._running = guided._running = self._running
        where = seen._compute(
            question, attribute_to_layer_input, relu_attributions=True, attr_dim_summation=True, memory=memory
        )
        found = guided._compute(question, memory)
        products = []
        for gradient in found.attributions:
            grid = where.attributions[0]
            if gradient.ndim != grid.ndim:
                raise DimensionError(
                    f"the layer's map of shape {list(grid.shape)} cannot be resized to an input of shape "
                    f"{list(gradient.shape)}: choose a layer that gives [N, C, …] with as many dims",
                    op=question.method,
                )
            resized = self.interpolate(new(grid), gradient.shape[2:], interpolate_mode)
            products.append(gradient * resized.numpy(force=True))
        return Answer(
            products,
            interrupted=where.interrupted or found.interrupted,
            progress=min(where.progress, found.progress),
        )
