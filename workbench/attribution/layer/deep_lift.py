"""DeepLift of a layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution, total_of
from workbench.attribution.deep_lift import (
    Custom,
    DeepLift,
    DeepLiftShap,
    ends_of,
    made_of,
    means_of,
    paired,
    rounding,
)
from workbench.attribution.layer.base import LayerAttribution, check_no_keywords
from workbench.attribution.propagation.runs import Tapped, multipliers_of
from workbench.core.value import new

__all__ = ["LayerDeepLift", "LayerDeepLiftShap"]

Array = np.ndarray[Any, Any]


class LayerDeepLift(LayerAttribution, GradientAttribution):
    """What the difference of each of a layer's values from those of a baseline contributed: see `DeepLift`.

    Raises:
        TypeError: `model` cannot be called, or `layer` is a list, or nothing that can be found.
        ValueError: the model has no such layer.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Flatten())
    >>> LayerDeepLift(model.eval(), "0").attribute(wb.tensor([[3.0, -2.0]]), target=0).tolist()
    [[3.0, 0.0]]
    """

    takes_any_type = True
    name = "Layer DeepLift"
    kind: ClassVar[type[DeepLift]] = DeepLift
    """The method of the whole model."""

    def __init__(self, model: Callable[..., Any], layer: Any, multiply_by_inputs: bool = True) -> None:
        if isinstance(layer, list):
            raise TypeError(
                f"{type(self).__name__} explains by one layer, got a list of {len(layer)}; ask once for each"
            )
        super().__init__(model, layer)
        self.multiplies_by_inputs = bool(multiply_by_inputs)

    def attribute(
        self,
        inputs: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        attribute_to_layer_input: bool = False,
        custom_attribution_func: Custom = None,
        grad_kwargs: dict[str, Any] | None = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the attributions, of the layer's shape and names, and with `return_convergence_delta` the deltas.

        Raises as `DeepLift.attribute` does; ValueError where the layer does not run, or several times.
        """
        check_no_keywords(grad_kwargs, type(self).__name__)
        question = ask(
            type(self).__name__,
            inputs,
            baselines,
            target,
            additional_forward_args,
            any_type=True,
            distribution=self.kind.draws_baselines,
        )
        answer = self.answer(
            question,
            attribute_to_layer_input=attribute_to_layer_input,
            custom_attribution_func=custom_attribution_func,
            memory=memory,
        )
        return self.respond(question, answer, over, return_convergence_delta)

    def has_convergence_delta(self) -> bool:
        """Return that attributions add up."""
        return True

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        attribute_to_layer_input: bool = False,
        custom_attribution_func: Custom = None,
        memory: int | str | None = None,
    ) -> Answer:
        evaluation = self.evaluation(question, memory)
        layer = self.layers(attribute_to_layer_input)[0]
        count, make = paired(question, self.kind.draws_baselines)
        names: list[tuple[Any, ...]] = []
        kinds: list[Any] = []

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            tapped = Tapped(question.method, self.forward, layer)
            ends, starts = values[: len(question.inputs)], values[len(question.inputs) :]
            found, after, before = multipliers_of(tapped, question, ends, starts, rows)
            here, there = tapped.runs
            names[:] = [one.names for one in here]
            given = [[new(one, value._names) for one, value in zip(found, here, strict=True)], here, there]
            shares = made_of(given, custom_attribution_func, self.multiplies_by_inputs)
            kinds[:] = [one.payload.dtype for one in here]
            return [*shares, *ends_of(after, before, shares, [one.payload for one in here])]

        batches = evaluation.stream(question.samples * count, make, run, f"differences of {layer.name}")
        *shares, change, rounded = evaluation.gather(batches, question.samples * count)
        plain = self.multiplies_by_inputs and custom_attribution_func is None
        return Answer(
            means_of(shares, count, None if custom_attribution_func else kinds),
            delta=total_of(shares) - change,
            tolerance=rounding(shares, change) + rounded if plain else None,
            names=tuple(names),
            **evaluation.state(),
        )


class LayerDeepLiftShap(LayerDeepLift):
    """The mean over many baselines of a layer's DeepLift: see `DeepLiftShap`."""

    name = "Layer DeepLiftShap"
    draws_baselines = True
    kind = DeepLiftShap
