"""Batching rules that ops of several families share; a record names its rule in `Op.batch`.

A rule takes a `core.batching.Batch` and returns the hidden result(s), the batch dim in front. What only one family
needs stands in its ``batching.py``.
"""

from __future__ import annotations

from typing import Any

from workbench.core.batching import Batch, elementwise, one_by_one, shifted

__all__ = ["all_along", "all_whole", "as_it_is", "drawn_by_place", "matrices"]


def as_it_is(b: Batch) -> Any:
    """For ops on which dims further left have no bearing."""
    return b.run(*b.inputs, **b.params)


def all_along(b: Batch) -> Any:
    """For ops along a `dim` of several inputs: each gets a batch dim, also one that is the same for all entries."""
    values = [b.whole(i) for i in range(len(b.inputs))]
    return b.run(*values, **{**b.params, "dim": shifted(b.params["dim"])})


def matrices(b: Batch) -> Any:
    """For ops on matrices with any number of batch dims at their left, which meet from the right."""
    for i, batched in enumerate(b.batched):
        rank = len(b.shape(i))
        # Behind a batch dim a vector's own dim would be read as that of a matrix.
        if rank < 2 and (batched or rank):
            return one_by_one(b)
    return elementwise(b)


def all_whole(b: Batch) -> Any:
    """For ops on any number of batch dims at the left that do not broadcast."""
    return b.run(*[b.whole(i) for i in range(len(b.inputs))], **b.params)


def drawn_by_place(b: Batch) -> Any:
    """For what is drawn by place: every entry draws the same."""
    first, last = b.params["drawn"]
    values = [b.whole(i) for i in range(len(b.inputs))]
    return b.run(*values, **{**b.params, "drawn": (first + 1, last + 1)})
