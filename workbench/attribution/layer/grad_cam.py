"""Grad-CAM: channels of a layer, weighted by their mean gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.layer.base import LayerAttribution, LayerRuns, check_no_keywords
from workbench.attribution.precision import widened

__all__ = ["LayerGradCam"]

Array = np.ndarray[Any, Any]


class LayerGradCam(LayerAttribution, GradientAttribution):
    """Where a convolution sees the target: Σ over channels of what it gives times the channel's mean gradient.

    ``Σ_c y_c · mean(∂F/∂y_c)``, the mean taken over all dims behind the channels (dim 1).

    Source: Selvaraju et al.: Grad-CAM (2017).

    >>> import workbench as wb
    >>> model = wb.models.DigitsNet().eval()
    >>> found = LayerGradCam(model, "conv2").attribute(wb.ones(N=1, C=1, H=28, W=28), target=3)
    >>> found.names, found.shape
    (('N', 'C', 'H', 'W'), (1, 1, 14, 14))
    """

    takes_any_type = True
    name = "Grad-CAM"

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        attribute_to_layer_input: bool = False,
        relu_attributions: bool = False,
        attr_dim_summation: bool = True,
        grad_kwargs: dict[str, Any] | None = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the map, [N, 1, …] of the layer's sizes; [N, C, …] unless `attr_dim_summation`.

        With `relu_attributions`, as in the paper, what speaks against the target is 0. `interpolate` brings the map to
        the inputs' size.

        Raises:
            ValueError: the layer does not run, or several times.
            DimensionError: the layer has no channels, or a target does not fit the output.
            AutogradError: the output does not depend on the layer through ops that have gradients.
        """
        check_no_keywords(grad_kwargs, type(self).__name__)
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args, any_type=True)
        answer = self.answer(
            question,
            attribute_to_layer_input=attribute_to_layer_input,
            relu_attributions=relu_attributions,
            attr_dim_summation=attr_dim_summation,
            memory=memory,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        attribute_to_layer_input: bool = False,
        relu_attributions: bool = False,
        attr_dim_summation: bool = True,
        memory: int | str | None = None,
    ) -> Answer:
        evaluation = self.evaluation(question, memory)
        runs = LayerRuns(evaluation, self.layers(attribute_to_layer_input))

        def weighted(gradient: Array, value: Array) -> Array:
            kind, gradient, value = value.dtype, widened(gradient), widened(value)
            if gradient.ndim > 2:
                gradient = _mean_of_channels(gradient)
            if attr_dim_summation and value.ndim > 2:
                found = _over_channels(gradient, value)
            else:
                found = gradient * value
                if attr_dim_summation and found.ndim > 1:
                    found = found.sum(axis=1, keepdims=True)
            return np.asarray(np.maximum(found, 0) if relu_attributions else found, kind)

        found = evaluation.gather(runs.mapped(question.samples, question.part, weighted))
        return Answer(
            found, names=runs.names, groups=runs.counts if self.listed else None, **evaluation.state()
        )


def _mean_of_channels(gradient: Array) -> Array:
    """Return the mean over all dims behind dim 1, of the same type: [N, C, 1, …]."""
    flat = gradient.reshape(*gradient.shape[:2], -1)
    # By the reduction itself, in one dim: `mean` takes longer to begin than for a small picture.
    mean: Array = np.add.reduce(flat, axis=2) / flat.shape[2]
    return mean.reshape(*flat.shape[:2], *(1,) * (gradient.ndim - 2))


def _over_channels(weights: Array, value: Array) -> Array:
    """Return Σ over dim 1 of weights [N, C, 1, …] times a value [N, C, …], as a product: [N, 1, …]."""
    rows, channels = value.shape[:2]
    product = weights.reshape(rows, 1, channels) @ value.reshape(rows, channels, -1)
    return product.reshape(rows, 1, *value.shape[2:])
