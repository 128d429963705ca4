"""Neuron conductance: Integrated Gradients, as it flows through one neuron."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import autograd
from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution
from workbench.attribution.layer.base import check_no_keywords
from workbench.attribution.layer_values import Taken, run_layers
from workbench.attribution.model_runs import gradients_for
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.neuron.forward import NeuronForward, select_neuron
from workbench.attribution.paths import add_by_sample, along_path
from workbench.attribution.precision import widened
from workbench.attribution.quadrature import quadrature
from workbench.attribution.target import select
from workbench.base.errors import AutogradError
from workbench.core.dispatch import enable_grad
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["NeuronConductance"]

Array = np.ndarray[Any, Any]


class NeuronConductance(NeuronAttribution, GradientAttribution):
    """What each value of the input contributed to the output's change by way of one neuron y.

    ``(x − b) · ∫₀¹ ∂F/∂y · ∂y/∂x dα`` along ``b + α (x − b)``. Of several neurons (a slice, a function) the products
    are added up neuron by neuron.

    Source: Dhamdhere, Sundararajan, Yan: How Important Is a Neuron? (2018).

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Flatten(), wb.nn.Linear(2, 1, bias=False))
    >>> _ = wb.nn.init.constant_(model[1].weight, 3)
    >>> method = NeuronConductance(model.eval(), "0")
    >>> method.attribute(wb.tensor([[1.0, -2.0]]), 1, method="gausslegendre").numpy().round(4).tolist()
    [[0.0, -6.0]]
    """

    name = "Neuron Conductance"

    def __init__(
        self,
        forward_func: Callable[..., Any],
        layer: Any,
        device_ids: Sequence[int] | None = None,
        multiply_by_inputs: bool = True,
    ) -> None:
        super().__init__(forward_func, layer, device_ids)
        self.multiplies_by_inputs = multiply_by_inputs

    def attribute(
        self,
        inputs: Any,
        neuron_selector: Any,
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        n_steps: int = 50,
        method: str = "riemann_trapezoid",
        internal_batch_size: int | None = None,
        attribute_to_neuron_input: bool = False,
        grad_kwargs: dict[str, Any] | None = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Any:
        """Return the attributions, of the inputs' shape and names; settings are `IntegratedGradients.attribute`'s.

        Raises as that and as `NeuronGradient.attribute` does.
        """
        check_no_keywords(grad_kwargs, type(self).__name__)
        question = ask(type(self).__name__, inputs, baselines, target, additional_forward_args)
        answer = self.answer(
            question,
            neuron_selector=neuron_selector,
            n_steps=n_steps,
            method=method,
            internal_batch_size=internal_batch_size,
            attribute_to_neuron_input=attribute_to_neuron_input,
            memory=memory,
            show_progress=show_progress,
        )
        return self.respond(question, answer, over)

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        neuron_selector: Any = 0,
        n_steps: int = 50,
        method: str = "riemann_trapezoid",
        internal_batch_size: int | None = None,
        attribute_to_neuron_input: bool = False,
        memory: int | str | None = None,
        show_progress: bool = False,
    ) -> Answer:
        evaluation = self.evaluation(question, memory, internal_batch_size, show_progress)
        neuron = self.neuron(neuron_selector, attribute_to_neuron_input)
        weights, places = quadrature(method, n_steps)
        sums = [np.zeros(one.shape) for one in question.inputs]

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            return _through(neuron, question, values, rows)

        count = question.samples * n_steps
        for batch in evaluation.stream(
            count, along_path(question, places), run, f"neuron of {neuron.layer.name}"
        ):
            for total, gradient in zip(sums, batch.result, strict=True):
                add_by_sample(total, gradient, batch, weights)
        if self.multiplies_by_inputs:
            pairs = zip(question.full_baselines(), question.inputs, sums, strict=True)
            sums = [(widened(x.numpy()) - widened(b)) * total for b, x, total in pairs]
        found = [one.astype(x.payload.dtype) for one, x in zip(sums, question.inputs, strict=True)]
        return Answer(found, **evaluation.state())


def _through(neuron: NeuronForward, question: Question, values: Sequence[Array], rows: Array) -> list[Array]:
    """Return ``∂F/∂y · ∂y/∂x`` for rows of inputs."""
    method = question.method
    leaves = [leaf.requires_grad_() for leaf in question.tensors(values)]
    with enable_grad():
        taken = Taken(method, neuron.layer, len(rows), gradients=True)
        arguments = [*leaves, *question.arguments(rows)]
        output = run_layers(method, neuron.forward_func, arguments, [neuron.layer], [taken])
        index = select(output, question.target, rows, method)
        outward = gradients_for(output, index, taken.values, method)
        chosen = select_neuron(method, taken.values, neuron.selector, neuron.layer.name)
        ones = new(np.ones(chosen.shape, chosen.payload.dtype), chosen._names)
        which = autograd.grad(chosen, taken.values, ones, retain_graph=True, allow_unused=True)
        return _inward(taken.values, outward, which, leaves, method)


def _inward(
    layer: list[Tensor], outward: list[Array], which: Any, leaves: list[Tensor], method: str
) -> list[Array]:
    parts = [
        (value, new(one * mask.numpy(force=True), value._names))
        for value, one, mask in zip(layer, outward, which, strict=True)
        if mask is not None
    ]
    found = autograd.grad([one for one, _ in parts], leaves, [one for _, one in parts], allow_unused=True)
    if all(one is None for one in found):
        raise AutogradError(
            f"{method}: the neuron does not depend on the inputs through ops that have gradients"
        )
    return [
        np.zeros_like(leaf.payload) if one is None else one.detach().numpy(force=True)
        for leaf, one in zip(leaves, found, strict=True)
    ]
