"""What one step gives: its loss, and what metrics look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.ops.shape.join import cat
from workbench.tensor import Tensor

__all__ = ["Output", "as_output", "join", "sample_count", "tensors_in"]


@dataclass
class Output:
    """What a training step may return: the loss and, for the metrics, predictions and targets."""

    loss: Any
    """One number: the mean over the samples."""
    predictions: Any = None
    targets: Any = None
    count: int = 0
    """Samples; where it is 0, what the batch says."""


def as_output(given: Any, batch: Any) -> Output:
    """Return what a training step gave as an `Output` that has a count; refuse what is none.

    >>> import workbench as wb
    >>> as_output({"loss": wb.tensor(1.0)}, wb.zeros(N=5)).count
    5
    """
    if isinstance(given, Mapping):
        unknown = given.keys() - Output.__dataclass_fields__.keys()
        if "loss" not in given or unknown:
            raise TypeError(
                "training_step returns a loss, an Output, or a dict with 'loss' and, if need be, 'predictions', "
                f"'targets' and 'count'; got a dict with {sorted(map(str, given))}"
            )
    if isinstance(given, Output):
        found = given
    else:
        found = Output(**given) if isinstance(given, Mapping) else Output(given)
    if not isinstance(found.loss, Tensor) or found.loss.dtype.is_complex:
        told = (
            f"a {found.loss.dtype.name} tensor"
            if isinstance(found.loss, Tensor)
            else type(found.loss).__name__
        )
        raise TypeError(
            f"training_step returns the loss as a real tensor, an Output, or a dict with 'loss'; got {told}"
        )
    if found.loss.numel() != 1:
        raise DimensionError(
            "a loss is one number.",
            op="training_step",
            operands=(dims_of(found.loss).operand("loss"),),
            fix="loss.mean()",
        )
    if found.count == 0:
        found.count = sample_count(batch)
    return found


def tensors_in(batch: Any, path: str = "batch") -> Iterator[tuple[str, Any]]:
    """Yield the tensors and arrays of a batch, however nested, with where they stand."""
    if isinstance(batch, Tensor | np.ndarray):
        yield path, batch
    elif isinstance(batch, Mapping):
        for key, value in batch.items():
            yield from tensors_in(value, f"{path}[{key!r}]")
    elif isinstance(batch, list | tuple):
        for i, value in enumerate(batch):
            yield from tensors_in(value, f"{path}[{i}]")


def sample_count(batch: Any) -> int:
    """Return how many samples a batch has: the size of ``N`` in its first tensor, or of that one's first dim.

    >>> import workbench as wb
    >>> sample_count({"x": wb.zeros(T=3, N=2)})
    2
    """
    for _, tensor in tensors_in(batch):
        if tensor.ndim:
            names = tensor._names if isinstance(tensor, Tensor) else None
            # Without names the first dim, where PyTorch's loaders stack.
            return int(tensor.shape[names.index("N") if names and "N" in names else 0])
    return 1


def join(parts: list[Any]) -> Any:
    """Put batches of predictions together along ``N``, or the first dim; tuples and dicts entry by entry.

    A list of texts, which is how a loader gives those of a batch, is joined with the next one.

    >>> import workbench as wb
    >>> join([wb.zeros(N=2, C=3), wb.zeros(N=1, C=3)]).shape
    (3, 3)
    """
    first = parts[0]
    if isinstance(first, Tensor):
        dim = "N" if first._names and "N" in first._names else 0
        return cat([one.reshape(1) if not one.ndim else one for one in parts], dim)
    if isinstance(first, Mapping):
        return {key: join([part[key] for part in parts]) for key in first}
    if isinstance(first, list) and all(isinstance(one, str | bytes) for part in parts for one in part):
        return [one for part in parts for one in part]
    if isinstance(first, tuple | list):
        joined = [join([part[i] for part in parts]) for i in range(len(first))]
        # A named tuple takes its entries one by one.
        return type(first)(*joined) if hasattr(first, "_fields") else tuple(joined)
    return [one for part in parts for one in (part if isinstance(part, list) else [part])]
