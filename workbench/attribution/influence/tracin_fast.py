"""TracIn by the last linear layer alone: its gradients are products of two short vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench import autograd
from workbench.attribution.checks import check_count
from workbench.attribution.influence.base import (
    KMostInfluentialResults,
    Loss,
    batches_of,
    loss_of,
    single_examples,
)
from workbench.attribution.influence.checkpoints import keeping, load_checkpoint
from workbench.attribution.influence.neighbours import ExactNearestNeighbors, NearestNeighbors
from workbench.attribution.influence.tracin import TracInCPBase
from workbench.attribution.layers import find_part
from workbench.attribution.modes import evaluating
from workbench.base.errors import DimensionError
from workbench.base.random import Generator
from workbench.core.dispatch import enable_grad, no_grad
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["TracInCPFast", "TracInCPFastRandProj"]

Array = np.ndarray[Any, Any]


class TracInCPFast(TracInCPBase):
    """TracIn with the weight of the last linear layer, `final_fc_layer`, a module or its dotted name.

    The gradient for that weight is the loss's gradient for the output times the layer's input, so that a product of two
    gradients is a product of two short products. The model's output is that layer's. ``vectorize`` is Captum's word
    for how it takes gradients.

    Raises:
        TypeError, ValueError: as `TracInCPBase` does, for a layer that there is not or has no weight [out, in], or
            without `loss_fn`; when asked, for a layer whose output is not the model's, or that runs more than once.
        DimensionError: when asked, the layer's input is not [N, features].
    """

    def __init__(
        self,
        model: Module,
        final_fc_layer: Module | str,
        train_dataset: Any,
        checkpoints: Any,
        checkpoints_load_func: Callable[[Module, Any], float] = load_checkpoint,
        loss_fn: Loss = None,
        batch_size: int | None = 1,
        test_loss_fn: Loss = None,
        vectorize: bool = False,
    ) -> None:
        super().__init__(
            model, train_dataset, checkpoints, checkpoints_load_func, loss_fn, batch_size, test_loss_fn
        )
        if loss_fn is None:
            raise ValueError(f"{self.get_name()}: give loss_fn, whose gradient for the output is needed")
        self.vectorize = vectorize
        self.final_fc_layer: Any = find_part(self.get_name(), model, final_fc_layer).place
        weight = getattr(self.final_fc_layer, "weight", None)
        if not isinstance(weight, Tensor) or weight.ndim != 2:
            raise TypeError(
                f"{self.get_name()}: final_fc_layer is a linear layer, with a weight [out, in], a "
                f"{type(self.final_fc_layer).__name__} is none"
            )

    def _factors(self, batch: Any, loss_fn: Loss) -> tuple[Array, Array]:
        """Return the gradients for the output and the layer's inputs, each [examples, …] in one line."""
        seen: list[Any] = []
        handle = self.final_fc_layer.register_forward_hook(
            lambda layer, inputs, output: seen.append((inputs[0].detach(), output.detach()))
        )
        try:
            with no_grad():
                output = self.model(*batch[:-1])
        finally:
            handle.remove()
        if len(seen) != 1:
            raise ValueError(f"{self.get_name()}: the last layer ran {len(seen)} times in one pass, not once")
        layer_input, layer_output = seen[0]
        self._check_last(layer_input, layer_output, output)
        slopes = []
        for one, label in single_examples(self.get_name(), (output, batch[-1])):
            leaf = one.requires_grad_()
            with enable_grad():
                found = autograd.grad(loss_of(loss_fn, leaf, label), [leaf])[0]
            assert found is not None
            slopes.append(found.detach().numpy(force=True).reshape(-1))
        return np.stack(slopes), layer_input.numpy(force=True)

    def _check_last(self, layer_input: Tensor, layer_output: Tensor, output: Tensor) -> None:
        """Raise where the gradient for the layer's weight is no product of what was found."""
        if layer_input.ndim != 2:
            raise DimensionError(
                f"the last layer was given {list(layer_input.shape)}: only of [N, features] is the gradient of its "
                "weight a product of two vectors. TracInCP takes any model",
                op=self.get_name(),
            )
        found, whole = (one.numpy(force=True).reshape(-1) for one in (layer_output, output))
        if not np.array_equal(found, whole, equal_nan=True):
            raise ValueError(
                f"{self.get_name()}: the model's output is not that of final_fc_layer, so that the loss's gradient for "
                "it is unknown. Give the last layer, and put what follows it, such as a softmax, into loss_fn; "
                "TracInCP takes any model"
            )

    def _all(self, inputs: Any, loss_fn: Loss) -> tuple[Array, Array]:
        pairs = [self._factors(one, loss_fn) for one in batches_of(self.get_name(), inputs)]
        slopes, layer_inputs = (np.concatenate(one) for one in zip(*pairs, strict=True))
        return slopes, layer_inputs

    def _parts(self, inputs: Any, show_progress: bool) -> Iterator[Array]:
        asked = []
        for checkpoint in self.checkpoints:
            self._load(checkpoint)
            asked.append(self._all(inputs, self.test_loss_fn))
        for batch in batches_of(self.get_name(), self.train_dataloader, show_progress):
            scores = []
            for checkpoint, (slopes, layer_inputs) in zip(self.checkpoints, asked, strict=True):
                rate = self._load(checkpoint)
                theirs, theirs_in = self._factors(batch, self.loss_fn)
                scores.append(rate * (slopes @ theirs.T) * (layer_inputs @ theirs_in.T))
            yield np.sum(scores, axis=0)

    def _own(self, batch: Any) -> Array:
        slopes, layer_inputs = self._factors(batch, self.loss_fn)
        return np.asarray((slopes**2).sum(axis=1) * (layer_inputs**2).sum(axis=1))


class TracInCPFastRandProj(TracInCPFast):
    """`TracInCPFast` with a vector kept of each training example, so that many inputs are answered quickly.

    If `projection_dim` is given, vectors are shortened by random projections from `seed` to about as many values, which
    keeps their products on average. `nearest_neighbors` finds the greatest products, exactly unless given. Its vectors
    are made when it is made. `self_influence` is that of `TracInCPFast`, exact.
    """

    def __init__(
        self,
        model: Module,
        final_fc_layer: Module | str,
        train_dataset: Any,
        checkpoints: Any,
        checkpoints_load_func: Callable[[Module, Any], float] = load_checkpoint,
        loss_fn: Loss = None,
        batch_size: int | None = 1,
        test_loss_fn: Loss = None,
        vectorize: bool = False,
        nearest_neighbors: NearestNeighbors | None = None,
        projection_dim: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            model, final_fc_layer, train_dataset, checkpoints, checkpoints_load_func, loss_fn, batch_size,
            test_loss_fn, vectorize,
        )  # fmt: skip
        if projection_dim is not None:
            check_count(self.get_name(), "projection_dim", projection_dim)
        self.projection_dim = projection_dim
        self._stream = Generator(seed).numpy
        self._projections: tuple[Array, Array] | None = None
        self.nearest_neighbors = ExactNearestNeighbors() if nearest_neighbors is None else nearest_neighbors
        self.src_intermediate_quantities = self.compute_intermediate_quantities(self.train_dataloader)
        self.nearest_neighbors.setup(self.src_intermediate_quantities)

    def compute_intermediate_quantities(self, inputs: Any) -> Tensor:
        """Return the vectors whose products are influences, [input, value]."""
        return self._vectors(inputs, self.loss_fn)

    def influence(  # type: ignore[override]
        self, inputs: Any, k: int | None = 5, proponents: bool = True
    ) -> Tensor | KMostInfluentialResults:
        """Return the `k` training examples of the greatest influence on each input, or with None all influences."""
        vectors = self._vectors(inputs, self.test_loss_fn)
        if k is None:
            theirs = self.src_intermediate_quantities.numpy()
            return new(vectors.numpy() @ theirs.T, ("input", "example"))
        check_count(self.get_name(), "k", k)
        sign = 1 if proponents else -1
        indices, products = self.nearest_neighbors.get_nearest_neighbors(vectors.rename(None) * sign, k)
        names = ("input", "rank")
        return KMostInfluentialResults(indices.rename(*names), (products * sign).rename(*names))

    def _vectors(self, inputs: Any, loss_fn: Loss) -> Tensor:
        parts = []
        with keeping(self.model), evaluating(self.model):
            for checkpoint in self.checkpoints:
                rate = self._load(checkpoint)
                slopes, layer_inputs = self._shortened(*self._all(inputs, loss_fn))
                products = slopes[:, :, None] * layer_inputs[:, None, :]
                parts.append(rate**0.5 * products.reshape(len(products), -1))
        return new(np.concatenate(parts, axis=1), ("input", "value"))

    def _shortened(self, slopes: Array, layer_inputs: Array) -> tuple[Array, Array]:
        sizes = (slopes.shape[1], layer_inputs.shape[1])
        if self.projection_dim is None or sizes[0] * sizes[1] <= self.projection_dim:
            return slopes, layer_inputs
        if self._projections is None:
            wanted = [min(max(int(self.projection_dim**0.5), 1), size) for size in sizes]
            first, second = (
                self._stream.normal(0, short**-0.5, (size, short)).astype(slopes.dtype)
                for size, short in zip(sizes, wanted, strict=True)
            )
            self._projections = (first, second)
        return slopes @ self._projections[0], layer_inputs @ self._projections[1]
