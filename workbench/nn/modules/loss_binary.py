"""Losses of yes against no: each value is a probability, or a score, of one question."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.nn.modules.loss import Loss, WeightedLoss
from workbench.tensor import Tensor

__all__ = ["BCELoss", "BCEWithLogitsLoss", "MultiLabelSoftMarginLoss", "SoftMarginLoss"]


class BCELoss(WeightedLoss):
    """Cross entropy of probabilities of yes: -(t·ln x + (1 - t)·ln(1 - x))·weight. No logarithm is below -100.

    Input and target […] of the same sizes, else ValueError; a scalar, or […] with reduction "none". `weight`
    broadcasts.

    >>> import workbench as wb
    >>> BCELoss()(wb.tensor([0.5, 0.5]), wb.tensor([0.0, 1.0])).item()
    0.6931471824645996
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """Cross entropy of scores of yes, whose probability is σ(x): -(p·t·ln σ(x) + (1 - t)·ln(1 - σ(x)))·weight.

    `pos_weight` p says what a yes counts for against a no; it and `weight` broadcast. Input and target […] of the same
    sizes, else ValueError.

    >>> import workbench as wb
    >>> BCEWithLogitsLoss()(wb.zeros(2), wb.tensor([0.0, 1.0])).item()
    0.6931471824645996
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class MultiLabelSoftMarginLoss(WeightedLoss):
    """`BCEWithLogitsLoss` of every class, its mean over the classes, which are the last dim of [N, C].

    >>> import workbench as wb
    >>> MultiLabelSoftMarginLoss()(wb.zeros(1, 2), wb.tensor([[0.0, 1.0]])).item()
    0.6931471824645996
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class SoftMarginLoss(Loss):
    """ln(1 + e^(-t·x)) for targets t of -1 and 1.

    >>> import workbench as wb
    >>> SoftMarginLoss()(wb.zeros(2), wb.tensor([-1.0, 1.0])).item()
    0.6931471824645996
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.soft_margin_loss(input, target, reduction=self.reduction)
