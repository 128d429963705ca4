"""Data as those who measure and tune a model take them: batches with or without labels, looked at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import near_miss
from workbench.base.dtypes import dtype_of
from workbench.base.errors import DimensionError, QuantizationError
from workbench.core.value import Value

__all__ = ["Batch", "batches_of", "require_labels"]


class Batch(NamedTuple):
    """What a model is called with, and what would be right."""

    arguments: tuple[Any, ...]
    labels: Any = None

    @property
    def samples(self) -> int:
        """How many samples there are."""
        first = self.arguments[0]
        return int(first.shape[0]) if first.shape else 1

    @property
    def sample(self) -> tuple[Any, ...]:
        """The arguments for the first sample: what is one a sample is cut, and what is not, as a mask, stays."""
        return tuple(
            one[:1] if one.shape and int(one.shape[0]) == self.samples else one for one in self.arguments
        )


def batches_of(data: Any, model: Any = None) -> list[Batch]:
    """Return the batches of `data`: inputs, or a pair (inputs, labels), or an iterable of such.

    Inputs are a tensor; or a tuple or list of them for a `model` that takes several; or a dict of them by the names
    of its parameters. A pair of two tensors is inputs and labels: of two inputs without labels a batch is ((a, b),).
    Raises `QuantizationError` where there is no batch, for what is no batch, and for NaN or infinite inputs;
    `DimensionError` where labels are not one a sample.

    >>> import workbench as wb
    >>> [batch.samples for batch in batches_of([wb.ones(2, 3), ((wb.ones(1, 3), wb.ones(1, 2)), wb.tensor([0]))])]
    [2, 1]
    """
    if isinstance(data, Value | Mapping) or _is_pair(data):
        data = [data]
    if data is None or not isinstance(data, Iterable):
        raise QuantizationError(
            f"data are batches: a tensor, a pair (inputs, labels), or an iterable of such, and {type(data).__name__} "
            "was given"
        )
    found = [_checked(place, batch, model) for place, batch in enumerate(data)]
    if not found:
        raise QuantizationError("there is nothing to look at: the data gave no batch")
    if sum(batch.samples for batch in found) == 0:
        raise QuantizationError("there is nothing to look at: all batches are empty")
    return found


def _is_pair(data: Any) -> bool:
    """Say whether data are one batch of inputs and labels."""
    return isinstance(data, tuple) and len(data) == 2 and _are_inputs(data[0]) and isinstance(data[1], Value)


def _are_inputs(given: Any) -> bool:
    if isinstance(given, tuple | list):
        return bool(given) and all(isinstance(one, Value) for one in given)
    if isinstance(given, Mapping):
        return bool(given) and all(isinstance(one, Value) for one in given.values())
    return isinstance(given, Value)


def _arguments(given: Any, model: Any) -> tuple[Any, ...]:
    """Return inputs in the order in which the model takes them."""
    if not isinstance(given, Mapping):
        return tuple(given) if isinstance(given, tuple | list) else (given,)
    taken = [*inspect.signature(model.forward).parameters] if model is not None else [*given]
    unknown = [name for name in given if name not in taken]
    if unknown:
        near = near_miss(unknown[0], taken)
        raise QuantizationError(
            f"the model takes {', '.join(taken)}, and no {unknown[0]!r}"
            + (f": did you mean {near!r}?" if near else "")
        )
    missing = [name for name in taken[: len(given)] if name not in given]
    if missing:
        raise QuantizationError(
            f"inputs by name are the first that the model takes ({', '.join(taken)}): {missing[0]!r} is missing"
        )
    return tuple(given[name] for name in taken[: len(given)])


def _checked(place: int, batch: Any, model: Any) -> Batch:
    several = isinstance(batch, tuple | list) and 1 <= len(batch) <= 2 and not isinstance(batch, Value)
    inputs: Any
    labels: Any
    inputs, labels = (*batch, None)[:2] if several else (batch, None)
    if not _are_inputs(inputs) or (isinstance(batch, tuple | list) and not several):
        raise QuantizationError(
            f"batch {place} is a {type(batch).__name__}: a batch is a tensor, or a pair (inputs, labels); several "
            "inputs are a tuple in the place of the one, or a dict"
        )
    if not isinstance(labels, Value | None):
        raise QuantizationError(
            f"batch {place} has labels of type {type(labels).__name__}: they are a tensor, one a sample"
        )
    made = Batch(_arguments(inputs, model), labels)
    for given in made.arguments:
        values = given.payload
        if dtype_of(values).is_floating_point and not np.isfinite(values).all():
            wrong = int(values.size - np.isfinite(values).sum())
            raise QuantizationError(
                f"batch {place} has {wrong:,} NaN or infinite values: nothing that they reach can be compared. Leave "
                "such samples out"
            )
    first, right = made.arguments[0], made.labels
    if right is not None and tuple(right.shape) != tuple(first.shape[:1]):
        raise DimensionError(
            f"batch {place} has inputs {list(first.shape)} and labels {list(right.shape)}: there is one label a "
            f"sample, labels {list(first.shape[:1])}"
        )
    return made


def require_labels(batches: list[Batch]) -> None:
    """Raise `QuantizationError` unless every batch has labels."""
    if any(batch.labels is None for batch in batches):
        raise QuantizationError("accuracy needs labels: give batches (inputs, labels)")
