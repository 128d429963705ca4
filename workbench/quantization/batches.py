"""Data as those who measure and tune a model take them: batches with or without labels, looked at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import DimensionError, QuantizationError
from workbench.core.value import Value

__all__ = ["Batch", "batches_of", "require_labels"]


class Batch(NamedTuple):
    """What a model is called with, and what would be right."""

    inputs: Any
    labels: Any = None


def batches_of(data: Any) -> list[Batch]:
    """Return the batches of `data`: a tensor is one batch, a pair (inputs, labels) too; else an iterable of such.

    Raises `QuantizationError` where there is no batch, for what is no batch, and for NaN or infinite inputs;
    `DimensionError` where labels are not one a sample.

    >>> import workbench as wb
    >>> [batch.inputs.shape for batch in batches_of([wb.ones(2, 3), (wb.ones(1, 3), wb.tensor([0]))])]
    [(2, 3), (1, 3)]
    """
    if isinstance(data, Value) or _is_pair(data):
        data = [data]
    if data is None or not isinstance(data, Iterable):
        raise QuantizationError(
            f"data are batches: a tensor, a pair (inputs, labels), or an iterable of such, and {type(data).__name__} "
            "was given"
        )
    found = [_checked(place, batch) for place, batch in enumerate(data)]
    if not found:
        raise QuantizationError("there is nothing to look at: the data gave no batch")
    if sum(batch.inputs.shape[0] if batch.inputs.shape else 1 for batch in found) == 0:
        raise QuantizationError("there is nothing to look at: all batches are empty")
    return found


def _is_pair(data: Any) -> bool:
    return isinstance(data, tuple) and len(data) == 2 and all(isinstance(one, Value) for one in data)


def _checked(place: int, batch: Any) -> Batch:
    several = isinstance(batch, tuple | list) and 1 <= len(batch) <= 2
    made = Batch(batch) if isinstance(batch, Value) else Batch(*batch) if several else Batch(None)
    if not isinstance(made.inputs, Value) or not isinstance(made.labels, Value | None):
        raise QuantizationError(
            f"batch {place} is a {type(batch).__name__}: a batch is a tensor, or a pair (inputs, labels)"
        )
    given: Any = made.inputs
    values = np.asarray(given.payload)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        wrong = int(values.size - np.isfinite(values).sum())
        raise QuantizationError(
            f"batch {place} has {wrong:,} NaN or infinite values: nothing that they reach can be compared. Leave such "
            "samples out"
        )
    labels: Any = made.labels
    if labels is not None and tuple(labels.shape) != tuple(given.shape[:1]):
        raise DimensionError(
            f"batch {place} has inputs {list(given.shape)} and labels {list(labels.shape)}: there is one label a "
            f"sample, labels {list(given.shape[:1])}"
        )
    return made


def require_labels(batches: list[Batch]) -> None:
    """Raise `QuantizationError` unless every batch has labels."""
    if any(batch.labels is None for batch in batches):
        raise QuantizationError("accuracy needs labels: give batches (inputs, labels)")
