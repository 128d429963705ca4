"""Layers as functions: PyTorch's `torch.nn.functional`."""

from __future__ import annotations

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.random import Generator, default_generator
from workbench.core.value import dims_of, new
from workbench.nn.statistics import update_running, values_per_channel
from workbench.ops import NN as _NN
from workbench.ops.normalise import (
    BATCH_NORM,
    BATCH_NORM_INFERENCE,
    DROPOUT_MASK,
)
from workbench.ops.shape import flatten as _flatten
from workbench.tensor import Tensor
from workbench.tensor.factories import ones, zeros

__all__ = sorted({*_NN, "batch_norm", "dropout", "flatten"})

globals().update(_NN)


def flatten(
    input: Tensor, start_dim: int | str = 1, end_dim: int | str = -1, out_dim: str | None = None
) -> Tensor:
    """Lay the dims from `start_dim` to `end_dim` out as one, called ``features`` where all of them have names."""
    if out_dim is None and input._names is not None:
        dims = dims_of(input)
        start, end = dim_index(dims, start_dim, "flatten"), dim_index(dims, end_dim, "flatten")
        if start < end and None not in input._names[start : end + 1]:
            out_dim = "features"
    return _flatten(input, start_dim, end_dim, out_dim)  # type: ignore[no-any-return]


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """Set each value to 0 with probability `p` and scale the rest by 1 / (1 - p), if `training`."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    dims = dims_of(input)
    kept = (generator or default_generator).numpy.random(dims.sizes, np.float32) >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return DROPOUT_MASK(input, new(kept * np.asarray(scale, input._array.dtype)))  # type: ignore[no-any-return]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Scale each channel of [N, C, …] by the batch's statistics if `training`, else by the running ones.

    While training, running statistics that are given move in place towards the batch's.
    """
    channels = dims_of(input).sizes[1] if len(dims_of(input).sizes) > 1 else 0
    weight = ones(channels, dtype=input.dtype) if weight is None else weight
    bias = zeros(channels, dtype=input.dtype) if bias is None else bias
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("Expected running_mean and running_var to be given when training=False")
        return BATCH_NORM_INFERENCE(input, running_mean, running_var, weight, bias, eps=eps)  # type: ignore[no-any-return]
    count = values_per_channel("batch_norm", input)
    output, mean, rstd = BATCH_NORM(input, weight, bias, eps=eps)
    if running_mean is not None and running_var is not None and type(mean._array) is np.ndarray:
        update_running(running_mean, running_var, mean._array, rstd._array, count, eps, momentum)
    return output  # type: ignore[no-any-return]
