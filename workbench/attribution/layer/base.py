"""What the methods that explain by layers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from workbench.attribution.base import Attribution
from workbench.attribution.evaluation import Batch, Evaluation, Make
from workbench.attribution.layer_values import Taken, run_layers
from workbench.attribution.layers import Layer, by_name, find_layer
from workbench.attribution.model_runs import gradients_for
from workbench.attribution.precision import is_floating
from workbench.attribution.target import select
from workbench.core.dispatch import enable_grad, no_grad
from workbench.nn import Module
from workbench.nn import functional as F
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["LayerAttribution", "LayerRuns", "check_no_keywords"]

Array = np.ndarray[Any, Any]


class LayerAttribution(Attribution):
    """A method whose attributions are those of what a layer gives, or is given, in its shape.

    `layer` is a module of the model, its dotted name (``"features.3"``, with ``#1`` for its second call in a pass), or
    a node of a graph. None stands for one that is set later, as `layer`, before anything is explained.

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
            self.layers(False)

    def layers(self, at_input: bool) -> list[Layer]:
        """Return the layers that are meant, one unless a list was given."""
        wanted = self.layer if isinstance(self.layer, list) else [self.layer]
        return [find_layer(type(self).__name__, self.forward_func, one, at_input) for one in wanted]

    def _named_modules(self) -> list[Module]:
        return [one.place for one in self.layers(False) if isinstance(one.place, Module)]

    def on(self, forward_func: Callable[..., Any]) -> Self:
        """Return the same method of another model: its layers are those of the same names."""
        other = super().on(forward_func)
        wanted = self.layer if isinstance(self.layer, list) else [self.layer]
        names = [by_name(self.forward_func, one) for one in wanted]
        other.layer = names if self.listed else names[0]
        return other

    @property
    def listed(self) -> bool:
        """Whether a list of layers was given."""
        return isinstance(self.layer, list)

    @staticmethod
    def interpolate(
        layer_attribution: Tensor, interpolate_dims: Any, interpolate_mode: str = "nearest"
    ) -> Tensor:
        """Return attributions [N, C, …] of a layer resized to other sizes, those of the inputs as a rule.

        >>> import workbench as wb
        >>> LayerAttribution.interpolate(wb.ones(1, 1, 2, 2), (4, 4)).shape
        (1, 1, 4, 4)
        """
        resized: Tensor = F.interpolate(layer_attribution, interpolate_dims, mode=interpolate_mode)
        return resized


class LayerRuns:
    """Runs of a model that take what its layers give, as flat lists of arrays: all of the first layer, and so on."""

    def __init__(self, evaluation: Evaluation, layers: Sequence[Layer]) -> None:
        self.evaluation = evaluation
        self.layers = list(layers)
        self.counts: tuple[int, ...] = ()
        """How many tensors each layer has; known after the first batch."""
        self.names: tuple[tuple[str | None, ...], ...] = ()
        """Names of the dims of each."""

    def values(self, count: int, make: Make) -> Iterator[Batch]:
        """Yield batches whose results are the layers' values."""
        return self.evaluation.stream(count, make, self.values_of, self._kind("values"))

    def values_of(self, values: Sequence[Array], rows: Array) -> list[Array]:
        """Return the layers' values for rows of inputs."""
        with no_grad():
            _, found = self._run(values, rows, gradients=False)
        return [plain(one) for one in found]

    def gradients(self, count: int, make: Make) -> Iterator[Batch]:
        """Yield batches whose results are (gradients of the targets for the layers' values, these values, the
        targets' values).
        """
        return self.evaluation.stream(count, make, self.gradients_of, self._kind("gradients"))

    def mapped(self, count: int, make: Make, work: Callable[[Array, Array], Array]) -> Iterator[Batch]:
        """Yield batches whose results are, for each of the layers' tensors, what `work` makes of gradient and value."""

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            gradients, found, _ = self.gradients_of(values, rows)
            return [work(*both) for both in zip(gradients, found, strict=True)]

        return self.evaluation.stream(count, make, run, self._kind("gradients"))

    def gradients_of(self, values: Sequence[Array], rows: Array) -> tuple[list[Array], list[Array], Array]:
        """Return the gradients of the rows' targets for the layers' values, these values, and the targets' values."""
        question = self.evaluation.question
        with enable_grad():
            output, found = self._run(values, rows, gradients=True)
            index = select(output, question.target, rows, question.method)
            gradients = gradients_for(output, index, found, question.method)
        kept = [plain(one) for one in found]
        return gradients, kept, plain(output)[index]

    def _run(self, values: Sequence[Array], rows: Array, gradients: bool) -> tuple[Any, list[Tensor]]:
        question = self.evaluation.question
        method = question.method
        # With one layer nothing before it need be on the tape. Of several one may come before another; and what a layer
        # is given may go elsewhere, too, as around a residual block: its gradient is that of all it is used for.
        at_input = any(layer.at_input for layer in self.layers)
        apart = len(self.layers) == 1 and not at_input
        taken = [Taken(method, layer, len(rows), gradients, apart) for layer in self.layers]
        inputs = question.tensors(values)
        if gradients and at_input:
            inputs = [one.requires_grad_() if is_floating(one.dtype.numpy) else one for one in inputs]
        arguments = [*inputs, *question.arguments(rows)]
        output = run_layers(method, self.evaluation.forward, arguments, self.layers, taken)
        self.counts = tuple(len(one.values) for one in taken)
        found = [value for one in taken for value in one.values]
        self.names = tuple(one.names for one in found)
        return output, found

    def _kind(self, what: str) -> str:
        return f"{what} of layers {', '.join(layer.name for layer in self.layers)}"


SAID_ALREADY = frozenset({"allow_unused", "materialize_grads"})
"""Keywords that ask for what is done anyway: of several layers one that the output does not rest on has zeros."""


def check_no_keywords(grad_kwargs: Any, method: str) -> None:
    """Raise TypeError where keywords for PyTorch's ``autograd.grad`` were given that would change the answer."""
    others = sorted(set(grad_kwargs or ()) - SAID_ALREADY)
    if others:
        raise TypeError(
            f"{method}: grad_kwargs are further arguments of PyTorch's autograd.grad, and no method needs any here; "
            f"leave them out, got {others}"
        )
