"""Influence functions: what leaving an example out would do to the loss of an input, by the inverse Hessian."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench.attribution.checks import check_count, check_number
from workbench.attribution.influence.base import (
    DataInfluence,
    KMostInfluentialResults,
    Loss,
    batches_of,
    check_model,
    loader_of,
    loss_of,
    most_influential,
    parameter_gradients,
    scores_as_tensor,
)
from workbench.attribution.influence.checkpoints import load_checkpoint
from workbench.attribution.influence.tracin import parameters_of
from workbench.attribution.modes import evaluating
from workbench.base.random import Generator
from workbench.core.value import new
from workbench.func import functional_call, grad, jvp
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["ArnoldiInfluenceFunction", "InfluenceFunctionBase", "NaiveInfluenceFunction"]

Array = np.ndarray[Any, Any]


class InfluenceFunctionBase(DataInfluence):
    """Influence ``∇L(input)ᵀ H⁻¹ ∇L(example)``, H being the Hessian of the sum of all losses, in its largest
    directions.

    The model is at `checkpoint` from now on, which ``checkpoints_load_func(model, path)`` loads. `layers` are dotted
    names of the layers whose parameters count, all unless given. The Hessian is that of `hessian_dataset`, of the
    training data unless given. Of it the `projection_dim` directions of the largest eigenvalues are kept, with
    `hessian_reg` added to each, and those above `hessian_inverse_tol`. Other arguments are as in `TracInCP`.

    Raises:
        TypeError, ValueError: as `TracInCP` does, or for a Hessian without an eigenvalue above the tolerance.

    Source: Koh, Liang: Understanding Black-box Predictions via Influence Functions (2017).
    """

    def __init__(
        self,
        model: Module,
        train_dataset: Any,
        checkpoint: Any,
        checkpoints_load_func: Callable[[Module, Any], float],
        layers: list[str] | None,
        loss_fn: Loss,
        batch_size: int | None,
        hessian_dataset: Any,
        test_loss_fn: Loss,
        projection_dim: int | None,
        hessian_reg: float,
        hessian_inverse_tol: float,
    ) -> None:
        method = self.get_name()
        self.model = check_model(method, model)
        self.train_dataloader = loader_of(method, train_dataset, batch_size)
        self.hessian_dataloader = (
            self.train_dataloader
            if hessian_dataset is None
            else loader_of(method, hessian_dataset, batch_size)
        )
        self.projection_dim = (
            None if projection_dim is None else check_count(method, "projection_dim", projection_dim)
        )
        self.hessian_reg = check_number(method, "hessian_reg", hessian_reg)
        self.hessian_inverse_tol = check_number(method, "hessian_inverse_tol", hessian_inverse_tol)
        self.loss_fn = loss_fn
        self.test_loss_fn = loss_fn if test_loss_fn is None else test_loss_fn
        self.checkpoint = checkpoint
        checkpoints_load_func(model, checkpoint)
        self._parameters = parameters_of(method, model, layers)
        names = {id(one): name for name, one in model.named_parameters()}
        self._names = [names[id(one)] for one in self._parameters]

    def compute_intermediate_quantities(
        self,
        inputs_dataset: Any,
        aggregate: bool = False,
        show_progress: bool = False,
        return_on_cpu: bool = True,
        test: bool = False,
    ) -> Tensor:
        """Return vectors whose products are influences, [input, direction]; their sum if `aggregate`.

        `return_on_cpu` is Captum's word, and all are in main memory here.
        """
        loss_fn = self.test_loss_fn if test else self.loss_fn
        with evaluating(self.model):
            batches = batches_of(self.get_name(), inputs_dataset, show_progress)
            found = np.concatenate([self._vectors(one, loss_fn) for one in batches])
        return new(found.sum(axis=0, keepdims=True) if aggregate else found, ("input", "direction"))

    def influence(
        self, inputs: Any, k: int | None = None, proponents: bool = True, show_progress: bool = False
    ) -> Tensor | KMostInfluentialResults:
        """Return the influences of all training examples [input, example], or the `k` greatest of each input.

        If not `proponents` the least. `inputs` are a tuple ``(features …, labels)``, or a loader of such.
        """
        mine = self.compute_intermediate_quantities(inputs, test=True).numpy()

        def parts() -> Iterator[Array]:
            for batch in batches_of(self.get_name(), self.train_dataloader, show_progress):
                yield mine @ self._vectors(batch, self.loss_fn).T

        with evaluating(self.model):
            if k is not None:
                return most_influential(self.get_name(), parts(), k, proponents)
            return scores_as_tensor(np.concatenate(list(parts()), axis=1))

    def self_influence(self, inputs_dataset: Any = None, show_progress: bool = False) -> Tensor:
        """Return the influence of each example on itself, [example]: of the training data, or of others."""
        given = self.train_dataloader if inputs_dataset is None else inputs_dataset
        vectors = self.compute_intermediate_quantities(given, show_progress=show_progress).numpy()
        return new((vectors**2).sum(axis=1), ("example",))

    def _vectors(self, batch: Any, loss_fn: Loss) -> Array:
        found = parameter_gradients(self.get_name(), self.model, self._parameters, loss_fn, batch)
        return np.asarray(found @ self._roots.astype(found.dtype))

    @property
    @abstractmethod
    def _roots(self) -> Array:
        """[values of all parameters, direction]: columns whose products give the inverse Hessian."""

    def _product(self, vector: Array) -> Array:
        """Return the Hessian times a vector over all parameters' values, float64."""
        pieces: dict[str, Any] = {}
        start = 0
        for name, one in zip(self._names, self._parameters, strict=True):
            part = vector[start : start + one.numel()].reshape(one.shape).astype(one.payload.dtype)
            pieces[name] = new(np.ascontiguousarray(part), one._names)
            start += one.numel()
        values = {name: one.detach() for name, one in zip(self._names, self._parameters, strict=True)}
        total = np.zeros(len(vector))
        for *features, labels in batches_of(self.get_name(), self.hessian_dataloader):

            def loss(state: Any, features: Any = features, labels: Any = labels) -> Any:
                return loss_of(self.loss_fn, functional_call(self.model, state, tuple(features)), labels)

            found = jvp(grad(loss), (values,), (pieces,))[1]
            total += np.concatenate(
                [found[name].detach().numpy(force=True).reshape(-1) for name in self._names]
            )
        return total

    def _largest(self, matrix: Array) -> tuple[Array, Array]:
        """Return the largest eigenvalues, with `hessian_reg` added, and their directions, in columns."""
        values, directions = np.linalg.eigh((matrix + matrix.T) / 2)
        values = values + self.hessian_reg
        kept = values > self.hessian_inverse_tol
        if not kept.any():
            raise ValueError(
                f"{self.get_name()}: no eigenvalue of the Hessian is above hessian_inverse_tol="
                f"{self.hessian_inverse_tol}; the model is not near a minimum of its loss: train on, or give a greater "
                "hessian_reg"
            )
        values, directions = values[kept], directions[:, kept]
        if self.projection_dim is not None:
            values, directions = values[-self.projection_dim :], directions[:, -self.projection_dim :]
        return values, directions


class NaiveInfluenceFunction(InfluenceFunctionBase):
    """Influence functions by the whole Hessian: for small models, and to judge others by."""

    def __init__(
        self,
        model: Module,
        train_dataset: Any,
        checkpoint: Any,
        checkpoints_load_func: Callable[[Module, Any], float] = load_checkpoint,
        layers: list[str] | None = None,
        loss_fn: Loss = None,
        batch_size: int | None = 1,
        hessian_dataset: Any = None,
        test_loss_fn: Loss = None,
        sample_wise_grads_per_batch: bool = False,
        projection_dim: int | None = 50,
        seed: int = 42,
        hessian_reg: float = 1e-6,
        hessian_inverse_tol: float = 1e-5,
        projection_on_cpu: bool = True,
        show_progress: bool = False,
    ) -> None:
        super().__init__(
            model, train_dataset, checkpoint, checkpoints_load_func, layers, loss_fn, batch_size, hessian_dataset,
            test_loss_fn, projection_dim, hessian_reg, hessian_inverse_tol,
        )  # fmt: skip
        count = sum(one.numel() for one in self._parameters)
        with evaluating(self.model):
            hessian = np.stack([self._product(one) for one in np.eye(count)])
        values, directions = self._largest(hessian)
        self._found = directions / np.sqrt(values)

    @property
    def _roots(self) -> Array:
        return self._found


class ArnoldiInfluenceFunction(InfluenceFunctionBase):
    """Influence functions by products of the Hessian with vectors alone: for models of any size.

    `arnoldi_dim` products span a space from a random start (`seed`), or fewer where what is left is below
    `arnoldi_tol`; the Hessian's largest directions are sought in it.

    Source: Schioppa, Zablotskaia, Vilar, Sokolov: Scaling Up Influence Functions (2022).
    """

    def __init__(
        self,
        model: Module,
        train_dataset: Any,
        checkpoint: Any,
        checkpoints_load_func: Callable[[Module, Any], float] = load_checkpoint,
        layers: list[str] | None = None,
        loss_fn: Loss = None,
        batch_size: int | None = 1,
        hessian_dataset: Any = None,
        test_loss_fn: Loss = None,
        sample_wise_grads_per_batch: bool = False,
        projection_dim: int | None = 50,
        seed: int = 0,
        arnoldi_dim: int = 200,
        arnoldi_tol: float = 1e-1,
        hessian_reg: float = 1e-3,
        hessian_inverse_tol: float = 1e-4,
        projection_on_cpu: bool = True,
        show_progress: bool = False,
    ) -> None:
        super().__init__(
            model, train_dataset, checkpoint, checkpoints_load_func, layers, loss_fn, batch_size, hessian_dataset,
            test_loss_fn, projection_dim, hessian_reg, hessian_inverse_tol,
        )  # fmt: skip
        method = self.get_name()
        dim = check_count(method, "arnoldi_dim", arnoldi_dim)
        tolerance = check_number(method, "arnoldi_tol", arnoldi_tol)
        start = Generator(seed).numpy.standard_normal(sum(one.numel() for one in self._parameters))
        with evaluating(self.model):
            basis, restricted = self._space(start / np.linalg.norm(start), dim, tolerance)
        values, directions = self._largest(restricted)
        self._found = basis @ directions / np.sqrt(values)

    @property
    def _roots(self) -> Array:
        return self._found

    def _space(self, start: Array, dim: int, tolerance: float) -> tuple[Array, Array]:
        """Return an orthonormal basis [values, n] of the space that products span, and the Hessian within it."""
        basis, columns = [start], []
        for step in range(min(dim, len(start))):
            product = self._product(basis[step])
            columns.append(product)
            # Twice: once leaves rounding behind that grows.
            for _ in range(2):
                known = np.stack(basis)
                product = product - known.T @ (known @ product)
            left = float(np.linalg.norm(product))
            if left < tolerance or step + 1 == min(dim, len(start)):
                break
            basis.append(product / left)
        whole = np.stack(basis, axis=1)
        return whole, whole.T @ np.stack(columns, axis=1)
