"""Losses, as files with a training graph have them."""

from __future__ import annotations

from typing import Any

from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import wb

__all__: list[str] = []


def _nll(scores: Any, target: Any, weight: Any, ignored: int | None, reduction: str) -> Any:
    """Return the negative score of the class that is right, weighted."""
    target = target.long()
    counted = wb.ones_like(target).bool() if ignored is None else target != ignored
    classes = wb.where(counted, target, wb.zeros_like(target))
    picked = -wb.gather(scores, 1, classes.unsqueeze(1)).squeeze(1)
    factors = (
        wb.ones_like(picked)
        if weight is None
        else wb.index_select(weight, 0, classes.reshape(-1)).reshape(classes.shape)
    )
    factors = wb.where(counted, factors, wb.zeros_like(factors))
    loss = wb.where(counted, picked * factors, wb.zeros_like(picked))
    if reduction == "none":
        return loss
    if reduction not in ("sum", "mean"):
        raise OnnxError(f"a reduction is none, sum or mean, not {reduction!r}")
    return wb.sum(loss) if reduction == "sum" else wb.sum(loss) / wb.sum(factors)


@operator("NegativeLogLikelihoodLoss", since=12)
def _negative_log_likelihood(
    scores: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Any:
    return _nll(scores, target, weight, ignore_index, reduction)


@operator("SoftmaxCrossEntropyLoss", since=12)
def _softmax_cross_entropy(
    scores: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None, reduction: str = "mean",
    outputs: int,
) -> Any:  # fmt: skip
    log = wb.log_softmax(scores, 1)
    return _nll(log, target, weight, ignore_index, reduction), log
