"""The straight path from baselines to inputs, and sums over its points."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.evaluation import Batch, Make
from workbench.attribution.precision import widened

__all__ = ["add_by_sample", "along_path"]

Array = np.ndarray[Any, Any]


def along_path(question: Question, places: Array) -> Make:
    """Return what makes the points at `places` on the way from the baselines to the inputs: all of the first sample
    in the order of their places, then those of the second, and so on.
    """
    starts = question.full_baselines()
    ends = [one.payload for one in question.inputs]
    steps = len(places)

    def make(start: int, stop: int) -> tuple[list[Array], Array]:
        rows, which = np.divmod(np.arange(start, stop), steps)
        alphas = places[which]
        return [_between(b, x, rows, alphas) for b, x in zip(starts, ends, strict=True)], rows

    return make


def _between(start: Array, end: Array, rows: Array, alphas: Array) -> Array:
    # In the type of the inputs, or the model would be run in float64; of 16 bits the sums are rounded once.
    kind, start, end = end.dtype, widened(start), widened(end)
    at = alphas.astype(end.dtype).reshape(-1, *(1,) * (end.ndim - 1))
    if rows[0] == rows[-1]:  # of one sample: not copied before it is multiplied
        rows = rows[:1]
    begin = start[rows]
    found: Array = at * (end[rows] - begin)
    found += begin
    return found.astype(kind, copy=False)


def add_by_sample(total: Array, values: Array, batch: Batch, weights: Array) -> None:
    """Add to `total` [N, …] the values [rows, …] of a batch of `along_path`, each times the weight of its place."""
    weight = weights[np.arange(batch.start, batch.stop) % len(weights)]
    firsts = np.flatnonzero(np.diff(batch.rows, prepend=-1))
    for first, last in zip(firsts, [*firsts[1:], len(batch.rows)], strict=True):
        # No product of matrices: a BLAS leaves its threads spinning, and they would share the processor with the
        # next batch.
        total[batch.rows[first]] += np.einsum("r,r...->...", weight[first:last], values[first:last])
