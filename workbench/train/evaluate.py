"""How well a model does on data that it has not learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.core import dispatch
from workbench.core.value import dims_of
from workbench.nn import Module
from workbench.ops.loss import cross_entropy

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """The outcome of an evaluation; as a number it is the accuracy."""

    accuracy: float
    """Fraction that was right."""
    loss: float
    """Mean over the samples."""
    count: int
    """Number of samples."""

    def __float__(self) -> float:
        return self.accuracy


def evaluate(model: Any, loader: Any, loss: Callable[[Any, Any], Any] = cross_entropy) -> Evaluation:
    """Compare the largest score of every sample with its label, over all batches (input, label) of `loader`.

    The model is put into evaluation mode meanwhile. Raises ValueError where there is no sample.

    >>> import workbench as wb
    >>> data = wb.data.TensorDataset(wb.eye(3, names=("N", "C")), wb.arange(3, names=("N",)))
    >>> evaluate(wb.nn.Identity(), wb.data.DataLoader(data, batch_size=2)).accuracy
    1.0
    """
    count, right, total = 0, 0, 0.0
    with mode(model, training=False), dispatch.no_grad():
        for inputs, labels in loader:
            scores = model(inputs)
            right += _right(scores, labels)
            total += loss(scores, labels).item() * labels.shape[0]
            count += labels.shape[0]
    if count == 0:
        raise ValueError("there is nothing to evaluate: the loader gave no batch")
    return Evaluation(right / count, total / count, count)


def _right(scores: Any, labels: Any) -> int:
    if len(scores.shape) != 2 or scores.shape[:1] != labels.shape:
        raise DimensionError(
            "accuracy takes scores [N, classes] and labels [N].",
            op="evaluate",
            operands=(dims_of(scores).operand("scores"), dims_of(labels).operand("labels")),
        )
    return int(np.count_nonzero(scores.numpy().argmax(1) == labels.numpy()))


@contextmanager
def mode(model: Any, training: bool) -> Iterator[None]:
    """Have a model train, or not, in this block; afterwards each of its modules does what it did before."""
    before = [(module, module.training) for module in model.modules()] if isinstance(model, Module) else []
    try:
        if isinstance(model, Module):
            model.train(training)
        yield
    finally:
        for module, was in before:
            module.training = was
