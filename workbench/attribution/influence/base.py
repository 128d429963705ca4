"""What ways to find influential examples share: batches of examples, losses of single ones, the most influential."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from workbench import autograd
from workbench.attribution.checks import check_count
from workbench.base.errors import AutogradError, DimensionError
from workbench.base.foreign import told
from workbench.core.dispatch import enable_grad
from workbench.core.value import new
from workbench.data import DataLoader
from workbench.data.progress import progress
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = [
    "DataInfluence",
    "KMostInfluentialResults",
    "batches_of",
    "check_model",
    "loader_of",
    "loss_of",
    "most_influential",
    "parameter_gradients",
    "scores_as_tensor",
    "single_examples",
]

Array = np.ndarray[Any, Any]
Loss = Callable[..., Any] | None


class KMostInfluentialResults(NamedTuple):
    """The most influential training examples of each input."""

    indices: Tensor
    """int64 [input, rank]: which example of the training data."""
    influence_scores: Tensor
    """[input, rank]: its influence."""


class DataInfluence(ABC):
    """A way to say how much each training example has to do with a model's answer for an input."""

    @abstractmethod
    def influence(self, inputs: Any, *arguments: Any, **settings: Any) -> Any:
        """Return the influence of training examples on `inputs`."""

    @classmethod
    def get_name(cls) -> str:
        """Return the class's name."""
        return cls.__name__


def check_model(method: str, model: Any) -> Module:
    """Return a model that is a module.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(model, Module):
        raise TypeError(f"{method}: model is a module, whose parameters learned; got {told(model)}")
    return model


def loader_of(method: str, dataset: Any, batch_size: int | None) -> Any:
    """Return a loader of training examples in their order; a loader as it is."""
    if isinstance(dataset, DataLoader):
        return dataset
    if batch_size is None:
        raise TypeError(f"{method}: batch_size is a whole number where a data set is given, not a loader")
    return DataLoader(dataset, batch_size=check_count(method, "batch_size", batch_size), shuffle=False)


def batches_of(method: str, inputs: Any, show_progress: bool = False) -> Iterator[tuple[Any, ...]]:
    """Return batches ``(features …, labels)``: of a loader all, of a tuple the one.

    Raises:
        TypeError: `inputs` are neither, or a loader gives something else.
        ValueError: a loader gives nothing.
    """
    if isinstance(inputs, DataLoader):
        return _loaded(method, progress(inputs, method) if show_progress else inputs)
    if not isinstance(inputs, tuple | list) or len(inputs) < 2:
        raise TypeError(
            f"{method}: inputs are a tuple (features, …, labels), as a batch of the training data is, or a loader of "
            f"such; got {type(inputs).__name__}"
        )
    return iter([tuple(inputs)])


def _loaded(method: str, batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    empty = True
    for batch in batches:
        if not isinstance(batch, tuple | list) or len(batch) < 2:
            size = f" of {len(batch)}" if isinstance(batch, tuple | list) else ""
            raise TypeError(
                f"{method}: the data gives batches (features, …, labels), and gave a {type(batch).__name__}{size}"
            )
        empty = False
        yield tuple(batch)
    if empty:
        raise ValueError(f"{method}: there are no examples in the data")


def single_examples(method: str, batch: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the examples of a batch one by one, each as a batch of one.

    Raises:
        DimensionError: the parts of the batch have different numbers of examples, or none.
    """
    sizes = {one.shape[0] for one in batch if isinstance(one, Tensor) and one.ndim > 0}
    if len(sizes) != 1 or 0 in sizes:
        raise DimensionError(
            f"the parts of a batch have {sorted(sizes)} examples along dim 0: all have the same number, 1 or more",
            op=method,
        )
    for row in range(sizes.pop()):
        yield tuple(
            new(one.detach().numpy(force=True)[row : row + 1], one._names)
            if isinstance(one, Tensor) and one.ndim > 0
            else one
            for one in batch
        )


def loss_of(loss_fn: Loss, output: Any, labels: Any) -> Any:
    """Return the sum of the examples' losses: of an example alone a sum and a mean are the same."""
    if loss_fn is None:
        return output.sum()
    loss = loss_fn(output, labels)
    return loss * output.shape[0] if getattr(loss_fn, "reduction", "none") == "mean" else loss.sum()


def parameter_gradients(
    method: str, model: Module, parameters: list[Tensor], loss_fn: Loss, batch: Any
) -> Array:
    """Return [examples, values of all parameters]: the gradients of each example's loss.

    Raises:
        AutogradError: the loss does not depend on the parameters.
        ValueError: gradients are NaN or infinite.
    """
    rows = []
    for *features, label in single_examples(method, batch):
        with enable_grad():
            loss = loss_of(loss_fn, model(*features), label)
            if not loss.requires_grad:
                raise AutogradError(f"{method}: the loss does not depend on the model's parameters")
            found = autograd.grad(loss, parameters, allow_unused=True)
        rows.append(
            np.concatenate(
                [
                    np.zeros(one.numel(), one.payload.dtype)
                    if slope is None
                    else slope.detach().numpy(force=True).reshape(-1)
                    for one, slope in zip(parameters, found, strict=True)
                ]
            )
        )
    gradients = np.stack(rows)
    if not np.isfinite(gradients).all():
        raise ValueError(
            f"{method}: {int((~np.isfinite(gradients)).sum()):,} of {gradients.size:,} gradients of the loss are NaN "
            "or infinite"
        )
    return gradients


def scores_as_tensor(scores: Array) -> Tensor:
    """Return influences [inputs, examples] as a tensor."""
    return new(scores, ("input", "example"))


def most_influential(
    method: str, parts: Iterable[Array], k: int, proponents: bool
) -> KMostInfluentialResults:
    """Return the `k` examples of the greatest influence, or the least, of scores that come [inputs, some examples].

    Only as many are kept in memory as are asked for. Among equals the first comes first.
    """
    k = check_count(method, "k", k)
    sign = 1 if proponents else -1
    best: Array | None = None
    places: Array | None = None
    start = 0
    for part in parts:
        numbers = np.broadcast_to(np.arange(start, start + part.shape[1]), part.shape)
        start += part.shape[1]
        best = part if best is None else np.concatenate([best, part], axis=1)
        places = numbers if places is None else np.concatenate([places, numbers], axis=1)
        order = np.argsort(-sign * best, axis=1, kind="stable")[:, :k]
        best, places = (np.take_along_axis(one, order, axis=1) for one in (best, places))
    assert best is not None and places is not None  # data without examples was refused
    names = ("input", "rank")
    return KMostInfluentialResults(new(places, names), new(best, names))
