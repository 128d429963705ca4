"""Normalisation by the statistics of a batch, or by running ones: batch and instance normalisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dtypes import as_numbers, half_width
from workbench.base.errors import DimensionError, DimensionValueError, DTypeError
from workbench.core.dtype_rules import check_precision
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of, new
from workbench.ops.nn.norm.group_norm import group_norm_parts
from workbench.ops.nn.norm.running_statistics import update_by_sample, update_in_graph, update_running
from workbench.ops.offer import offered

__all__ = [
    "batch_norm",
    "check_values",
    "factors",
    "instance_norm",
    "native_batch_norm",
    "values_per_channel",
]


def values_per_channel(layer: str, input: Any) -> int:
    """Return how many values of a channel the batch has; raise where one is all there is to take a variance of."""
    shape = input.payload.shape
    count = 1
    for i, size in enumerate(shape):
        count *= 1 if i == 1 else size
    if count == 1:
        raise DimensionValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}.", op=layer,
            operands=(dims_of(input).operand("input", [i for i in range(len(shape)) if i != 1]),), fix="layer.eval()",
        )  # fmt: skip
    return count


def check_values(layer: str, input: Any, running_mean: Any, running_var: Any) -> None:
    """Refuse values that have no mean of their own type, and running statistics that are not one number a channel."""
    dims = dims_of(input)
    for label, value in (("input", input), ("running_mean", running_mean), ("running_var", running_var)):
        if value is not None and value.payload.dtype.kind not in "fV":
            raise DTypeError(
                f"{layer}: {label} must have a real floating point type, got {value.payload.dtype}. "
                f"Use {f'{label}.real' if value.payload.dtype.kind == 'c' else as_numbers(label, value.dtype)}"
            )
    check_precision([one.payload.dtype for one in (input, running_mean, running_var) if one is not None])
    if len(dims.sizes) < 2:
        return  # said by the op, which is not only asked about running statistics
    for label, value in (("running_mean", running_mean), ("running_var", running_var)):
        if value is not None and dims_of(value).sizes != dims.sizes[1:2]:
            own = dims_of(value)
            raise DimensionError(
                f"{label} should contain {dims.sizes[1]} elements (the channels of the input), not {list(own.sizes)}.",
                op=layer,
                operands=(dims.operand("input", [1]), own.operand(label)),
            )


def factors(input: Any, weight: Any, bias: Any, running_mean: Any = None) -> tuple[Any, Any]:
    """Return weight and bias, ones and zeros where there are none: in float32 beside statistics of that type."""
    sizes = input.payload.shape
    channels, dtype = sizes[1] if len(sizes) > 1 else 0, input.payload.dtype
    kept = None if running_mean is None else running_mean.payload.dtype
    if kept == np.float32 and half_width(dtype):
        dtype = kept
    return (
        new(np.ones(channels, dtype)) if weight is None else weight,
        new(np.zeros(channels, dtype)) if bias is None else bias,
    )


@offered("workbench")
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, with the mean and reciprocal deviation 1/√(Var + ε) of the batch it used: [0] if not `training`.

    No gradient flows through those.

    >>> import workbench as wb
    >>> y, mean, invstd = wb.native_batch_norm(wb.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)
    >>> mean, invstd
    (tensor([2.]), tensor([1.]))
    """
    check_values("batch_norm", input, running_mean, running_var)
    weight, bias = factors(input, weight, bias, running_mean)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("Expected running_mean and running_var to be given when training=False")
        y = ops.batch_norm_inference(input, running_mean, running_var, weight, bias, eps=eps)
        nothing = np.zeros(0, running_mean.payload.dtype)
        return y, new(nothing), new(nothing.copy())
    y, mean, rstd = ops.batch_norm(input, weight, bias, eps=eps)
    sizes = input.payload.shape
    count = math.prod(sizes) // sizes[1]
    # One value has no unbiased variance.
    if running_mean is not None and running_var is not None and count > 1:
        if type(mean.payload) is np.ndarray:
            update_running(running_mean, running_var, mean.payload, rstd.payload, count, eps, momentum)
        else:
            update_in_graph((running_mean, running_var), (mean, rstd), count, eps, momentum)
    return y, ops.detach(mean), ops.detach(rstd)


@offered("nn.functional")
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

    y = (x - mean) / √(variance + ε)·weight + bias. While training, running statistics that are given move in place
    towards the batch's: running ← (1 - momentum)·running + momentum·measured, with the unbiased variance.

    >>> import workbench as wb
    >>> wb.nn.functional.batch_norm(wb.tensor([[1.0], [3.0]]), None, None, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    """
    # As in PyTorch nothing comes out of nothing, though it has no channels.
    if input.payload.shape == (0,):
        return ops.clone(input)
    if training:
        values_per_channel("batch_norm", input)
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@offered("nn.functional")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Scale each channel of each sample of [N, C, …] by its own statistics, or by the running ones.

    y = (x - mean) / √(variance + ε)·weight + bias. Running statistics that are given move in place towards the mean
    over the samples of what was measured, if `use_input_stats`.

    >>> import workbench as wb
    >>> wb.nn.functional.instance_norm(wb.tensor([[[1.0, 3.0], [0.0, 4.0]]]), eps=0.0)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    check_values("instance_norm", input, running_mean, running_var)
    sizes = input.payload.shape
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ValueError(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        weight, bias = factors(input, weight, bias, running_mean)
        return ops.batch_norm_inference(input, running_mean, running_var, weight, bias, eps=eps)
    places = math.prod(sizes[2:])
    if places == 1 or len(sizes) < 3:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {list(sizes)}: [N, C, ...]"
        )
    y, mean, rstd = group_norm_parts(input, weight, bias, sizes[1], eps)
    if running_mean is not None and running_var is not None:
        if type(mean.payload) is np.ndarray:
            update_by_sample(running_mean, running_var, mean.payload, rstd.payload, places, eps, momentum)
        else:
            measured = (ops.detach(mean), ops.detach(rstd))
            update_in_graph((running_mean, running_var), measured, places, eps, momentum, by_sample=True)
    return y
