"""Losses as modules."""

from __future__ import annotations

from typing import Any

from workbench.nn.module import Module
from workbench.ops.loss import cross_entropy, nll_loss
from workbench.ops.loss_regression import mse_loss

__all__ = ["CrossEntropyLoss", "MSELoss", "NLLLoss"]

REDUCTIONS = ("none", "mean", "sum")


class _Loss(Module):
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise ValueError(f"{reduction!r} is not a valid value for reduction: use 'none', 'mean' or 'sum'")
        self.reduction = reduction

    def extra_repr(self) -> str:
        """Return the reduction, where it is not the mean."""
        return f"reduction={self.reduction!r}" if self.reduction != "mean" else ""


class CrossEntropyLoss(_Loss):
    """Cross entropy between scores [N, C] and classes [N]: -ln softmax(x)[target].

    >>> import workbench as wb
    >>> CrossEntropyLoss()(wb.zeros(N=2, C=4), wb.tensor([0, 3])).item()
    1.3862943649291992
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return cross_entropy(input, target, reduction=self.reduction)


class NLLLoss(_Loss):
    """Negative log-likelihood of classes [N] under log-probabilities [N, C]."""

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return nll_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Squared difference."""

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return mse_loss(input, target, reduction=self.reduction)
