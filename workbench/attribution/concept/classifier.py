"""Linear classifiers whose weights are the directions of concepts: least squares, and logistic regression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.base.random import default_generator
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["Classifier", "DefaultClassifier", "LeastSquaresClassifier", "LogisticClassifier"]

Array = np.ndarray[Any, Any]


class Classifier(ABC):
    """What tells the activations of concepts from one another, by a weight for each value."""

    @abstractmethod
    def train_and_eval(self, dataloader: Iterable[Any], **kwargs: Any) -> dict[str, Any] | None:
        """Learn from batches of ``(activations [n, features], labels [n])``; return how well it went, such as
        ``accs``.
        """

    @abstractmethod
    def weights(self) -> Tensor:
        """Return [classes, features]: the direction of each class."""

    @abstractmethod
    def classes(self) -> Any:
        """Return the labels of the classes, in the order of the weights."""


class _Linear(Classifier):
    """A linear classifier that is learned from all activations at once; each class against the others."""

    def __init__(self, alpha: float = 0.01) -> None:
        if not alpha > 0:
            raise ValueError(f"{type(self).__name__}: alpha is above 0, got {alpha!r}")
        self.alpha = alpha
        self._weights: Array | None = None
        self._classes: list[int] = []

    def train_and_eval(
        self, dataloader: Iterable[Any], test_split_ratio: float = 0.33, **kwargs: Any
    ) -> dict[str, Any]:
        """Learn from a random part of the activations; return ``accs``, the share of the rest that is told rightly.

        Raises:
            TypeError: a setting that there is not.
            ValueError: a part that is not from 0 to below 1, fewer than two classes, NaN or infinite activations.
            DimensionError: activations are not [n, features].
        """
        name = type(self).__name__
        if kwargs:
            raise TypeError(f"{name} has no setting {next(iter(kwargs))!r}; it has test_split_ratio")
        if not 0 <= test_split_ratio < 1:
            raise ValueError(f"{name}: test_split_ratio is from 0 to below 1, got {test_split_ratio!r}")
        inputs, labels = _gathered(name, dataloader)
        order = default_generator.numpy.permutation(len(labels))
        count = int(test_split_ratio * len(labels))
        test, train = order[:count], order[count:]
        if len(np.unique(labels[train])) < 2:
            raise ValueError(
                f"{name}: examples of one class alone are left to learn from ({len(train)}); give more examples"
            )
        self._learn(inputs[train], labels[train])
        right = self._told(inputs[test]) == labels[test]
        return {"accs": new(np.float32(right.mean() if count else np.nan), None)}

    def weights(self) -> Tensor:
        """Return [class, feature]: the direction of each class.

        Raises:
            ValueError: nothing was learned yet.
        """
        return new(self._learned()[:, :-1].astype(np.float32), ("class", "feature"))

    def classes(self) -> list[int]:
        """Return the labels of the classes, in the order of the weights."""
        return list(self._classes)

    def _learned(self) -> Array:
        if self._weights is None:
            raise ValueError(f"{type(self).__name__}: nothing was learned yet; call train_and_eval first")
        return self._weights

    def _told(self, inputs: Array) -> Array:
        weights = self._learned()
        best = (inputs @ weights[:, :-1].T + weights[:, -1]).argmax(axis=1)
        return np.asarray(np.asarray(self._classes)[best])

    def _learn(self, inputs: Array, labels: Array) -> None:
        classes = np.unique(labels)
        self._classes = [int(one) for one in classes]
        centre = inputs.mean(axis=0)
        # All that can be learned lies in the span of the examples, which are few where features are many.
        left, sizes, right = np.linalg.svd(inputs - centre, full_matrices=False)
        places = left * sizes
        # Of two classes one is the other's opposite.
        of = classes[1:] if len(classes) == 2 else classes
        found = np.stack([self._solved(places, np.where(labels == one, 1.0, -1.0)) for one in of])
        weights = found[:, :-1] @ right
        whole = np.concatenate([weights, (found[:, -1] - weights @ centre)[:, None]], axis=1)
        self._weights = np.concatenate([-whole, whole]) if len(classes) == 2 else whole

    @abstractmethod
    def _solved(self, places: Array, signs: Array) -> Array:
        """Return weights and, at the end, the constant that tell `signs` ±1 from `places` [n, r]."""


class LeastSquaresClassifier(_Linear):
    """Least squares to labels ±1: ``mean (w·x + b − y)² + α |w|²``, each class against the others, in closed form.

    Raises:
        ValueError: `alpha` is not above 0.

    >>> import workbench as wb
    >>> classifier = LeastSquaresClassifier()
    >>> batch = (wb.tensor([[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0], [-3.0, 0.0]]), wb.tensor([1, 1, 0, 0]))
    >>> _ = classifier.train_and_eval([batch], test_split_ratio=0)
    >>> classifier.weights().sign().tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    def _solved(self, places: Array, signs: Array) -> Array:
        count, rank = places.shape
        gram = places.T @ places / count + self.alpha * np.eye(rank)
        weights = np.linalg.solve(gram, places.T @ (signs - signs.mean()) / count)
        # Places are centred, so that the constant is the mean alone.
        return np.append(weights, signs.mean())


class LogisticClassifier(_Linear):
    """Logistic regression: ``mean log(1 + exp(−y (w·x + b))) + α/2 |w|²``, each class against the others, by Newton
    steps.

    Raises:
        ValueError: `alpha` is not above 0.
    """

    def _solved(self, places: Array, signs: Array) -> Array:
        count, rank = places.shape
        design = np.concatenate([places, np.ones((count, 1))], axis=1)
        # The constant is held a little, too: where a class is missing nothing else would.
        penalty = np.append(np.full(rank, self.alpha), 1e-8)
        weights = np.zeros(rank + 1)
        value = self._loss(design, signs, weights, penalty)
        for _ in range(100):
            wrong = 1 / (1 + np.exp(np.clip(signs * (design @ weights), -500, 500)))
            slope = penalty * weights - design.T @ (signs * wrong) / count
            curve = (design.T * (wrong * (1 - wrong))) @ design / count + np.diag(penalty)
            step = np.linalg.solve(curve, slope)
            size = 1.0
            # A whole step may go too far where examples are told apart well.
            while size > 1e-10 and self._loss(design, signs, weights - size * step, penalty) > value:
                size /= 2
            weights = weights - size * step
            before, value = value, self._loss(design, signs, weights, penalty)
            if before - value <= 1e-14 * abs(before):
                break
        return weights

    @staticmethod
    def _loss(design: Array, signs: Array, weights: Array, penalty: Array) -> float:
        losses = np.logaddexp(0, -signs * (design @ weights))
        return float(losses.mean() + (penalty * weights**2).sum() / 2)


class DefaultClassifier(LogisticClassifier):
    """What `TCAV` tells concepts apart by unless told otherwise: logistic regression with ``alpha=0.01``.

    All activations of a set of concepts are in memory at once while it learns.
    """

    def __init__(self) -> None:
        super().__init__(alpha=0.01)


def _gathered(name: str, batches: Iterable[Any]) -> tuple[Array, Array]:
    inputs, labels = [], []
    for batch in batches:
        activations, label = (one.detach().numpy(force=True) for one in batch)
        if activations.ndim != 2 or label.shape != activations.shape[:1]:
            raise DimensionError(
                f"activations are [n, features] with labels [n], got {list(activations.shape)} and {list(label.shape)}",
                op=name,
            )
        inputs.append(activations.astype(np.float64))
        labels.append(label)
    if not inputs:
        raise ValueError(f"{name}: there are no activations to learn from")
    whole = np.concatenate(inputs)
    if not np.isfinite(whole).all():
        raise ValueError(
            f"{name}: {int((~np.isfinite(whole)).sum()):,} of {whole.size:,} activations are NaN or infinite"
        )
    return whole, np.concatenate(labels)
