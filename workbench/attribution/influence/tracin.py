"""TracIn: training examples whose steps lowered the loss of an input, from checkpoints of the training."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench.attribution.checks import check_number
from workbench.attribution.influence.base import (
    DataInfluence,
    KMostInfluentialResults,
    Loss,
    batches_of,
    check_model,
    loader_of,
    most_influential,
    parameter_gradients,
    scores_as_tensor,
)
from workbench.attribution.influence.checkpoints import found_checkpoints, keeping, load_checkpoint
from workbench.attribution.layers import find_part
from workbench.attribution.modes import evaluating
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["TracInCP", "TracInCPBase", "parameters_of"]

Array = np.ndarray[Any, Any]


def parameters_of(method: str, model: Module, layers: list[str] | None) -> list[Tensor]:
    """Return the parameters of some layers, or of all, that ask for gradients.

    Raises:
        ValueError: there is no such layer, or nothing that learns.
    """
    if layers is None:
        found: list[Tensor] = list(model.parameters())
    else:
        places: list[Any] = [find_part(method, model, name).place for name in layers]
        found = [one for place in places for one in place.parameters()]
    found = [one for one in found if one.requires_grad]
    if not found:
        raise ValueError(
            f"{method}: there are no parameters that ask for gradients; requires_grad_() makes them"
        )
    return found


class TracInCPBase(DataInfluence):
    """What the kinds of TracIn share: checkpoints, training examples, losses.

    `train_dataset` is a data set or a loader of ``(features …, label)``; `checkpoints` a folder or a list of paths,
    which ``checkpoints_load_func(model, path)`` loads, returning the learning rate there. ``loss_fn(output, labels)``
    may return a loss an example, their sum or their mean; None: the model's output is the loss. The model has its own
    state and mode again after each call.

    Raises:
        TypeError: the model is no module, or the training data cannot be loaded.
        ValueError: there are no checkpoints.
    """

    def __init__(
        self,
        model: Module,
        train_dataset: Any,
        checkpoints: Any,
        checkpoints_load_func: Callable[[Module, Any], float] = load_checkpoint,
        loss_fn: Loss = None,
        batch_size: int | None = 1,
        test_loss_fn: Loss = None,
    ) -> None:
        self.model = check_model(self.get_name(), model)
        self.checkpoints = checkpoints
        self.checkpoints_load_func = checkpoints_load_func
        self.loss_fn = loss_fn
        self.test_loss_fn = loss_fn if test_loss_fn is None else test_loss_fn
        self.batch_size = batch_size
        self.train_dataloader = loader_of(self.get_name(), train_dataset, batch_size)

    @property
    def checkpoints(self) -> list[Any]:
        """The checkpoints in their order."""
        return self._checkpoints

    @checkpoints.setter
    def checkpoints(self, checkpoints: Any) -> None:
        self._checkpoints = found_checkpoints(self.get_name(), checkpoints)

    def influence(
        self, inputs: Any, k: int | None = None, proponents: bool = True, show_progress: bool = False
    ) -> Tensor | KMostInfluentialResults:
        """Return the influences of all training examples [input, example], or the `k` greatest of each input.

        ``Σ_checkpoints rate · ∇L(input) · ∇L(example)``; if not `proponents` the least, of examples that raised the
        loss. `inputs` are a tuple ``(features …, labels)``, or a loader of such.

        Raises:
            TypeError, DimensionError: inputs are no batch.
            ValueError: `k` is below 1, the data has no examples, or gradients are NaN or infinite.
        """
        return self._answer(self._parts(inputs, show_progress), k, proponents)

    def _answer(
        self, parts: Iterator[Array], k: int | None, proponents: bool
    ) -> Tensor | KMostInfluentialResults:
        with keeping(self.model), evaluating(self.model):
            if k is not None:
                return most_influential(self.get_name(), parts, k, proponents)
            return scores_as_tensor(np.concatenate(list(parts), axis=1))

    def self_influence(
        self, inputs: Any = None, show_progress: bool = False, outer_loop_by_checkpoints: bool = False
    ) -> Tensor:
        """Return the influence of each example on itself, [example]: of the training data, or of `inputs`.

        ``Σ_checkpoints rate · |∇L|²``; it is high for outliers and wrong labels. The loop over checkpoints is the outer
        one in any case: each is loaded once.
        """
        given = self.train_dataloader if inputs is None else inputs
        total: Array | None = None
        with keeping(self.model), evaluating(self.model):
            for checkpoint in self.checkpoints:
                rate = self._load(checkpoint)
                batches = batches_of(self.get_name(), given, show_progress)
                part = rate * np.concatenate([self._own(batch) for batch in batches])
                total = part if total is None else total + part
        return new(total, ("example",))

    def _load(self, checkpoint: Any) -> float:
        """Load a checkpoint into the model; return the learning rate there."""
        rate: Any = self.checkpoints_load_func(self.model, checkpoint)
        rate = rate.item() if isinstance(rate, Tensor) and rate.numel() == 1 else rate
        return check_number(self.get_name(), "the learning rate that checkpoints_load_func returns", rate)

    @abstractmethod
    def _parts(self, inputs: Any, show_progress: bool) -> Iterator[Array]:
        """Yield influences [inputs, some examples], in the order of the training data."""

    @abstractmethod
    def _own(self, batch: Any) -> Array:
        """Return |∇L|² of each example of a batch at the state that the model has."""


class TracInCP(TracInCPBase):
    """TracIn with the gradients of all parameters, or of those of `layers` by their dotted names.

    ``sample_wise_grads_per_batch`` is Captum's word for how it takes gradients of single examples; they are taken one
    by one here in any case, and a loss may be per example, a sum or a mean.

    Source: Pruthi, Liu, Sundararajan, Kale: Estimating Training Data Influence by Tracing Gradient Descent (2020).
    """

    def __init__(
        self,
        model: Module,
        train_dataset: Any,
        checkpoints: Any,
        checkpoints_load_func: Callable[[Module, Any], float] = load_checkpoint,
        layers: list[str] | None = None,
        loss_fn: Loss = None,
        batch_size: int | None = 1,
        test_loss_fn: Loss = None,
        sample_wise_grads_per_batch: bool = False,
    ) -> None:
        super().__init__(
            model, train_dataset, checkpoints, checkpoints_load_func, loss_fn, batch_size, test_loss_fn
        )
        self.layers = layers
        self.sample_wise_grads_per_batch = sample_wise_grads_per_batch
        parameters_of(self.get_name(), self.model, layers)

    def influence(
        self,
        inputs: Any,
        k: int | None = None,
        proponents: bool = True,
        show_progress: bool = False,
        aggregate: bool = False,
    ) -> Tensor | KMostInfluentialResults:
        """Return what `TracInCPBase.influence` does; if `aggregate`, of all inputs together, [1, example]."""
        return self._answer(self._parts(inputs, show_progress, aggregate), k, proponents)

    def compute_intermediate_quantities(self, inputs: Any, aggregate: bool = False) -> Tensor:
        """Return the gradients at all checkpoints side by side, each times its rate, [input, value]."""
        parts = []
        with keeping(self.model), evaluating(self.model):
            for checkpoint in self.checkpoints:
                rate = self._load(checkpoint)
                parts.append(rate * self._all(inputs, self.loss_fn, aggregate))
        return new(np.concatenate(parts, axis=1), ("input", "value"))

    def _all(self, inputs: Any, loss_fn: Loss, aggregate: bool) -> Array:
        found = np.concatenate([self._gradients(one, loss_fn) for one in batches_of(self.get_name(), inputs)])
        return found.sum(axis=0, keepdims=True) if aggregate else found

    def _gradients(self, batch: Any, loss_fn: Loss) -> Array:
        method = self.get_name()
        parameters = parameters_of(method, self.model, self.layers)
        return parameter_gradients(method, self.model, parameters, loss_fn, batch)

    def _parts(self, inputs: Any, show_progress: bool, aggregate: bool = False) -> Iterator[Array]:
        asked = []
        for checkpoint in self.checkpoints:
            self._load(checkpoint)
            asked.append(self._all(inputs, self.test_loss_fn, aggregate))
        for batch in batches_of(self.get_name(), self.train_dataloader, show_progress):
            scores = []
            for checkpoint, mine in zip(self.checkpoints, asked, strict=True):
                rate = self._load(checkpoint)
                scores.append(rate * (mine @ self._gradients(batch, self.loss_fn).T))
            yield np.sum(scores, axis=0)

    def _own(self, batch: Any) -> Array:
        return np.asarray((self._gradients(batch, self.loss_fn) ** 2).sum(axis=1))
