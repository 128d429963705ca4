"""Losses of yes against no: each value is a probability, or a score, of one question."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.base.errors import DimensionError
from workbench.core.batching import elementwise
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid, unbroadcast
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import LOSS
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.loss.cross_entropy import chosen_reduction, reduce_loss
from workbench.ops.offer import offered


def _binary(x: Any, target: Any) -> Any:
    if x.size and not (np.min(x) >= 0 and np.max(x) <= 1):
        raise DimensionError(
            "all elements of input should be between 0 and 1: apply sigmoid first, or use "
            "binary_cross_entropy_with_logits.",
            op="binary_cross_entropy",
        )
    with np.errstate(divide="ignore"):
        # Bounded logarithms: a loss of 100 where the answer is certain and wrong.
        yes, no = np.maximum(np.log(x), -100), np.maximum(np.log1p(-x), -100)
    return (target - 1) * no - target * yes


def _binary_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, target = c.inputs
    gx = gt = None
    if c.needs[0]:
        # PyTorch's bound: at 0 and 1 the slope is very large, not infinite.
        spread = ops.clamp(ops.mul(ops.sub(1.0, x), x), low=1e-12, high=None)
        gx = unbroadcast(ops.div(ops.mul(g, ops.sub(x, target)), spread), x)
    if c.needs[1]:
        gt = unbroadcast(ops.mul(g, ops.sub(ops.log1p(ops.neg(x)), ops.log(x))), target)
    return gx, gt


def _samples() -> list[Sample]:
    x, target = grid(3, 4, low=0.1, high=0.9), grid(3, 4, low=0.0, high=0.95, seed=1)
    return [
        Sample((x, target), names=(("N", "C"), ("N", "C"))),
        Sample((x, target[0]), names=(("N", "C"), ("C",))),
    ]


BINARY_CROSS_ENTROPY = Op(
    name="binary_cross_entropy",
    doc="Cross entropy of probabilities of yes; no logarithm is below -100.",
    equation="y = -(t·ln x + (1 - t)·ln(1 - x))",
    dims=lambda x, target: broadcast("binary_cross_entropy", x, target),
    rule="names unify from the right, sizes broadcast",
    dtype=FLOAT,
    forward=_binary,
    vjp=_binary_vjp,
    saves=Saves(None, output=False),
    samples=_samples,
    bad=lambda: [
        BadInput((grid(3) + 2.0, grid(3)), {}, DimensionError, "should be between 0 and 1"),
        BadInput((grid(3), grid(2)), {}, DimensionError, "must match the size"),
    ],
    tolerance=1e-5,
    properties=frozenset({"wide"}),
    batch=elementwise,
    quantized=LOSS,
)


# ---------------------------------------------------------------------------------- the words people use


def _same_sizes(input: Any, target: Any, message: str) -> None:
    a, b = dims_of(input).sizes, dims_of(target).sizes
    if a != b:
        raise ValueError(message.format(target=list(b), input=list(a)))


@offered("nn.functional")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy of probabilities of yes: -(t·ln x + (1 - t)·ln(1 - x))·weight. No logarithm is below -100.

    >>> import workbench as wb
    >>> wb.nn.functional.binary_cross_entropy(wb.tensor([0.5, 0.5]), wb.tensor([0.0, 1.0])).item()
    0.6931471824645996
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    _same_sizes(
        input,
        target,
        "Using a target size ({target}) that is different to the input size ({input}) is deprecated. Please ensure "
        "they have the same size.",
    )
    loss = ops.binary_cross_entropy(input, target)
    return reduce_loss(loss if weight is None else ops.mul(loss, weight), reduction)


@offered("workbench", "nn.functional")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of scores of yes, whose probability is σ(x): -(p·t·ln σ(x) + (1 - t)·ln(1 - σ(x)))·weight.

    `pos_weight` p says what a yes counts for against a no; it and `weight` broadcast.

    >>> import workbench as wb
    >>> wb.nn.functional.binary_cross_entropy_with_logits(wb.zeros(2), wb.tensor([0.0, 1.0])).item()
    0.6931471824645996
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    _same_sizes(input, target, "Target size ({target}) must be the same as input size ({input})")
    if pos_weight is None and weight is None:
        return ops.binary_cross_entropy_with_logits(input, target, reduction=reduction)
    if pos_weight is None:
        loss = ops.binary_cross_entropy_with_logits(input, target, reduction="none")
    else:
        # ln(1 + e^-x) counts 1 + (p - 1)·t times, and (1 - t)·x is linear.
        times = ops.add(ops.mul(ops.sub(pos_weight, 1.0), target), 1.0)
        loss = ops.sub(ops.mul(ops.sub(1.0, target), input), ops.mul(times, ops.logsigmoid(input)))
    return reduce_loss(loss if weight is None else ops.mul(loss, weight), reduction)


@offered("nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`binary_cross_entropy_with_logits` of every class [N, C], its mean over the classes.

    >>> import workbench as wb
    >>> wb.nn.functional.multilabel_soft_margin_loss(wb.zeros(1, 2), wb.tensor([[0.0, 1.0]])).item()
    0.6931471824645996
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    # Both logarithms: with certain scores, (1 - t)·x would be 0·∞.
    yes, no = ops.logsigmoid(input), ops.logsigmoid(ops.neg(input))
    loss = ops.neg(ops.add(ops.mul(target, yes), ops.mul(ops.sub(1.0, target), no)))
    if weight is not None:
        loss = ops.mul(loss, weight)
    last = len(dims_of(loss).sizes) - 1
    return reduce_loss(ops.mean(loss, dim=(last,), keepdim=False), reduction)


@offered("nn.functional")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """ln(1 + e^(-t·x)) for targets t of -1 and 1.

    >>> import workbench as wb
    >>> wb.nn.functional.soft_margin_loss(wb.zeros(2), wb.tensor([-1.0, 1.0])).item()
    0.6931471824645996
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    # ln(1 + e^-z) is the cross entropy of the score z against yes.
    return ops.binary_cross_entropy_with_logits(ops.mul(input, target), 1.0, reduction=reduction)
