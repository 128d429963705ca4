"""What a metric takes away at once: values of the input with their attribution, such as all channels of a pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question
from workbench.attribution.metrics.scoring import check_attributions
from workbench.base.dims import dim_indices
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.tensor import Tensor

__all__ = ["Features", "features"]

Array = np.ndarray[Any, Any]


class Features:
    """The features of a question's inputs: their attributions, and where in the inputs they are.

    A feature is one place along all dims but the samples and those that are summed over; those of several inputs stand
    one behind the other.
    """

    def __init__(
        self, question: Question, attributions: Sequence[Array], axes: Sequence[tuple[int, ...]]
    ) -> None:
        self.question = question
        self.axes = axes
        shapes = [one.shape for one in question.inputs]
        self.shapes = [
            tuple(1 if axis in summed else size for axis, size in enumerate(shape))
            for shape, summed in zip(shapes, axes, strict=True)
        ]
        parts = [
            np.broadcast_to(array.sum(axis=summed, keepdims=True), shape).reshape(shape[0], -1)
            for array, summed, shape in zip(attributions, axes, self.shapes, strict=True)
        ]
        self.attributions = np.concatenate(parts, axis=1)
        """float64 [N, F]"""

    @property
    def count(self) -> int:
        """Number of features of a sample."""
        return int(self.attributions.shape[1])

    def ranks(self, least_first: bool = False) -> Array:
        """Return int64 [N, F]: 0 for the feature of the greatest attribution; equals in the order of the input."""
        signed = self.attributions if least_first else -self.attributions
        order = np.argsort(signed, axis=1, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(self.count)[None], axis=1)
        return ranks

    def spread(self, chosen: Array, rows: Array) -> list[Array]:
        """Return bool arrays, one an input, [rows, …] of the input's sizes: where features [rows, F] were chosen."""
        arrays = []
        start = 0
        for value, shape in zip(self.question.inputs, self.shapes, strict=True):
            size = int(np.prod(shape[1:]))
            part = chosen[:, start : start + size].reshape(len(rows), *shape[1:])
            arrays.append(np.broadcast_to(part, (len(rows), *value.shape[1:])))
            start += size
        return arrays


def features(question: Question, attributions: Any, over: Any = None) -> Features:
    """Return the features of a question's inputs.

    `over` are names or numbers of dims whose values are one feature together, such as ``"C"``. None: the dim ``C``, or
    dim 1 of an input of 4 dims without names; ``()``: every value is a feature by itself.

    Raises as `check_attributions` does; DimensionError if there is no such dim, or it is that of the samples.
    """
    arrays = check_attributions(question, attributions, broadcast=True)
    return Features(question, arrays, [_axes(question.method, value, over) for value in question.inputs])


def _axes(method: str, value: Tensor, over: Any) -> tuple[int, ...]:
    dims = dims_of(value)
    if over is None:
        if "C" in dims.names[1:]:
            return (dims.names.index("C"),)
        return (1,) if value.ndim == 4 and not any(dims.names) else ()
    axes = dim_indices(dims, over, method) if over != () else ()
    if 0 in axes:
        raise DimensionError(
            "the samples (dim 0) cannot be summed over: each has attributions of its own",
            op=method,
            operands=(dims.operand("inputs", [0]),),
        )
    return axes
