"""One direction for each number of some tensors, and running all of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.core.batching import Batching
from workbench.core.dispatch import interpreting
from workbench.core.op import ops

__all__ = ["basis", "together"]


def basis(values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Return, for tensors with n values in all, arrays [n, …] of which row k is 1 at value number k and 0 elsewhere."""
    counts = [int(np.prod(value.shape)) for value in values]
    rows, at, made = sum(counts), 0, []
    for value, count in zip(values, counts, strict=True):
        array = np.zeros((rows, count), value.payload.dtype)
        # Every (count + 1)th number of these rows: the diagonal of a square block.
        array[at : at + count].flat[:: count + 1] = 1
        made.append(array.reshape(rows, *value.shape))
        at += count
    return made


def together(size: int, function: Callable[[Batching], Sequence[Any]]) -> list[Any]:
    """Run ``function(batching)`` once for `size` entries; return its results with the batch dim in front, unnamed."""
    batching = Batching(size)
    with interpreting(batching):
        results = function(batching)
    found: list[Any] = []
    for one in results:
        if one is None:
            found.append(None)
        else:
            value, batched = batching.hidden(one)
            found.append(value if batched else ops.expand(value, sizes=(size, *value.payload.shape)))
    return found
