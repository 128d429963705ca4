"""Running statistics of batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.core.value import dims_of

__all__ = ["update_running", "values_per_channel"]


def values_per_channel(layer: str, input: Any) -> int:
    """Return how many values of a channel the batch has; raise where one is all there is to take a variance of."""
    shape = input._array.shape
    count = 1
    for i, size in enumerate(shape):
        count *= 1 if i == 1 else size
    if count == 1:
        raise DimensionError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}.", op=layer,
            operands=(dims_of(input).operand("input", [i for i in range(len(shape)) if i != 1]),), fix="layer.eval()",
        )  # fmt: skip
    return count


def update_running(
    running_mean: Any, running_var: Any, batch_mean: Any, rstd: Any, count: int, eps: float, momentum: float
) -> None:
    """Move running statistics in place towards a batch's mean and variance, the latter unbiased.

    `rstd` is 1 / √(biased variance + eps), as the op returns it. Statistics that are new tensors afterwards would
    be lost to whoever holds them, so they are changed in place.
    """
    variance = (1.0 / np.square(rstd, dtype=np.float64) - eps) * (count / (count - 1))
    mean_array, var_array = running_mean._array, running_var._array
    mean_array *= 1 - momentum
    mean_array += momentum * batch_mean
    var_array *= 1 - momentum
    var_array += (momentum * np.maximum(variance, 0.0)).astype(var_array.dtype)
    running_mean._version += 1
    running_var._version += 1
