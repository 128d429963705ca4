"""Losses of numbers against numbers: how far a prediction is from a target, place by place."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import as_float
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.elementwise.complex import zeros
from workbench.ops.nn.loss.cross_entropy import chosen_reduction, reduce_loss
from workbench.ops.offer import offered


def _warn_of_sizes(input: Any, target: Any) -> None:
    a, b = dims_of(input).sizes, dims_of(target).sizes
    if a != b:
        warnings.warn(
            f"Using a target size ({list(b)}) that is different to the input size ({list(a)}). This will likely lead "
            "to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning,
            stacklevel=3,
        )


def _weighted(loss: Any, weight: Any, reduction: str) -> Tensor:
    """Reduce a loss whose places count as much as `weight` says; the mean divides by the weights' sum."""
    if weight is None:
        return reduce_loss(loss, reduction)
    if dims_of(weight).sizes != dims_of(loss).sizes:
        raise ValueError(
            f"Weights and input must have the same size: {list(dims_of(weight).sizes)} is not "
            f"{list(dims_of(loss).sizes)}; expand the weights."
        )
    loss = ops.mul(loss, weight)
    if reduction != "mean":
        return reduce_loss(loss, reduction)
    return ops.div(reduce_loss(loss, "sum"), reduce_loss(weight, "sum"))


def _compared(name: str, input: Any, target: Any, weight: Any, reduction: str, **numbers: float) -> Tensor:
    """Compare values and targets by one op, and reduce what comes of it."""
    if weight is None:
        loss: Tensor = getattr(ops, name)(input, target, reduction=reduction, **numbers)
        return loss
    return _weighted(getattr(ops, name)(input, target, reduction="none", **numbers), weight, reduction)


def _are_floats(input: Any, target: Any) -> bool:
    """Say whether these meet as real floats: integers stay integers, complex slopes have rules of their own."""
    kinds = {value.payload.dtype.kind for value in (input, target) if isinstance(value, Value)}
    return "c" not in kinds and bool(kinds & {"f", "V"})


@offered("workbench", "nn.functional")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared difference: (x - target)².

    >>> import workbench as wb
    >>> wb.mse_loss(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 4.0])).item()
    2.0
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    _warn_of_sizes(input, target)
    if _are_floats(input, target):
        return _compared("mse_loss", input, target, weight, reduction)
    difference = ops.sub(input, target)
    return _weighted(ops.mul(difference, difference), weight, reduction)


@offered("nn.functional")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute difference: |x - target|.

    >>> import workbench as wb
    >>> wb.nn.functional.l1_loss(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 4.0])).item()
    1.0
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    _warn_of_sizes(input, target)
    return _absolute(input, target, weight, reduction)


def _absolute(input: Any, target: Any, weight: Any, reduction: str) -> Tensor:
    if _are_floats(input, target):
        return _compared("l1_loss", input, target, weight, reduction)
    return _weighted(ops.abs(ops.sub(input, target)), weight, reduction)


def _bent(input: Any, target: Any, weight: Any, reduction: str, bound: float, scale: float) -> Tensor:
    """½·d²/scale within the bound, bound·(|d| - ½·bound)/scale beyond it."""
    if not _are_floats(input, target):
        input = ops.mul(input, 1.0)
    return _compared("huber_loss", input, target, weight, reduction, bound=bound, scale=scale)


@offered("nn.functional")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """½·d²/β where |d| < β, |d| - ½·β elsewhere, with d = x - target; β = 0 gives `l1_loss`.

    >>> import workbench as wb
    >>> wb.nn.functional.smooth_l1_loss(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 4.0]), reduction="none")
    tensor([0.0000, 1.5000])
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise DimensionError(
            f"smooth_l1_loss does not support negative values for beta: {beta}.", op="smooth_l1_loss"
        )
    _warn_of_sizes(input, target)
    if beta == 0:
        return _absolute(input, target, None, reduction)
    return _bent(input, target, None, reduction, float(beta), float(beta))


@offered("nn.functional")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """½·d² where |d| < δ, δ·(|d| - ½·δ) elsewhere, with d = x - target.

    >>> import workbench as wb
    >>> wb.nn.functional.huber_loss(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 5.0]), reduction="sum", delta=2.0).item()
    4.0
    """
    reduction = chosen_reduction(None, None, reduction)
    if delta <= 0:
        raise DimensionError(
            f"huber_loss does not support non-positive values for delta: {delta}.", op="huber_loss"
        )
    _warn_of_sizes(input, target)
    return _bent(input, target, weight, reduction, float(delta), 1.0)


@offered("nn.functional")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of `target` under normal distributions of mean `input` and variance `var`.

    y = ½·(ln max(var, ε) + (x - target)²/max(var, ε)), and ½·ln 2π more if `full`. `var` has the input's sizes, or 1
    for one of them, or lacks the last dim, or is a number.

    >>> import workbench as wb
    >>> wb.nn.functional.gaussian_nll_loss(wb.tensor([1.0]), wb.tensor([3.0]), 1.0).item()
    2.0
    """
    reduction = chosen_reduction(None, None, reduction)
    if not isinstance(var, Value):
        if var < 0:
            raise ValueError(f"var has negative entry/entries: a variance is not negative, got {var}")
        var = ops.add(zeros(input), float(var))
    sizes, given = dims_of(input).sizes, dims_of(var).sizes
    if given != sizes:
        if sizes[:-1] == given:
            var = ops.unsqueeze(var, dim=len(given), name=None)
        elif len(given) != len(sizes) or [b for a, b in zip(sizes, given, strict=True) if a != b] != [1]:
            raise ValueError(
                f"var is of incorrect size: {list(given)} is neither the input's {list(sizes)} nor that without its "
                "last dim, or with 1 for one of them."
            )
    array = var.payload
    if type(array) is np.ndarray and (array < 0).any():
        raise ValueError("var has negative entry/entries: a variance is not negative")
    # The bound is no part of the gradient: it passes to `var` as if nothing had been bounded.
    bounded = ops.where(ops.lt(var, eps), ops.add(var, ops.detach(ops.sub(eps, var))), var)
    difference = ops.sub(input, target)
    loss = ops.add(ops.log(bounded), ops.div(ops.mul(difference, difference), bounded))
    loss = ops.mul(loss, 0.5)
    return reduce_loss(ops.add(loss, 0.5 * math.log(2 * math.pi)) if full else loss, reduction)


@offered("workbench", "nn.functional")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts `target` under Poisson distributions.

    y = e^x - target·x if `log_input`, else x - target·ln(x + ε); `full` adds Stirling's approximation of ln target!.

    >>> import workbench as wb
    >>> wb.nn.functional.poisson_nll_loss(wb.tensor([0.0]), wb.tensor([2.0])).item()
    1.0
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if log_input:
        loss = ops.sub(ops.exp(input), ops.mul(target, input))
    else:
        loss = ops.sub(input, ops.mul(target, ops.log(ops.add(input, eps))))
    if full:
        stirling = ops.add(
            ops.sub(ops.mul(target, ops.log(target)), target),
            ops.mul(ops.log(ops.mul(target, 2 * math.pi)), 0.5),
        )
        loss = ops.add(loss, ops.where(ops.le(target, 1), 0.0, stirling))
    return reduce_loss(loss, reduction)


@offered("workbench", "nn.functional")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence of log-probabilities `input` from `target`: target·(ln target - x).

    `target` has probabilities, or their logarithms under `log_target`. "batchmean" divides the sum by the first size,
    which is the divergence as mathematics has it; "mean" divides by the number of values.

    >>> import workbench as wb
    >>> wb.nn.functional.kl_div(wb.tensor([[0.0, -1.0]]), wb.tensor([[0.0, 1.0]]), reduction="batchmean").item()
    1.0
    """
    plain = size_average is None and reduce is None
    if plain and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.",
            UserWarning,
            stacklevel=2,
        )
    batch = plain and reduction == "batchmean"
    reduction = "sum" if batch else chosen_reduction(size_average, reduce, reduction)
    loss = ops.kl_div(input, target, reduction=reduction, log_target=log_target)
    sizes = dims_of(input).sizes
    return ops.div(loss, as_float(sizes[0])) if batch and sizes else loss
