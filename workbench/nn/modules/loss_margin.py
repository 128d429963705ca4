"""Losses with a margin between pairs or triplets: nothing is wrong that is right by far enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.nn import functional
from workbench.nn.modules.distance import PairwiseDistance
from workbench.nn.modules.loss import Loss

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _Margin(Loss):
    """A loss with a margin that is 0 unless it is told."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_Margin):
    """max(0, -t·(x₁ - x₂) + margin): x₁ is to be above x₂ where the target t is 1, below it where that is -1.

    All three are [N] or []. Raises `DimensionError` where their number of dims differs.

    >>> import workbench as wb
    >>> MarginRankingLoss()(wb.tensor([1.0]), wb.tensor([3.0]), wb.tensor([1.0])).item()
    2.0
    """

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class HingeEmbeddingLoss(Loss):
    """Distance x where the target is 1, max(0, margin - x) where it is -1: distances of like and of unlike pairs.

    >>> import workbench as wb
    >>> HingeEmbeddingLoss()(wb.tensor([0.5, 0.5]), wb.tensor([1.0, -1.0])).item()
    0.5
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Margin):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    Inputs [N, D] with target [N], or [D] with []. Raises `DimensionError` for others.

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> round(CosineEmbeddingLoss()(x, x, wb.tensor([1.0, -1.0])).item(), 4)
    0.5
    """

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


def _check_margin(loss: Loss, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{type(loss).__name__}: expected margin to be greater than 0, got {margin} instead")


class TripletMarginLoss(Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with the p-norm of differences as distance d.

    All three are [N, D] or [D]. With `swap`, the positive may stand for the anchor where it is nearer to the negative.
    Raises ValueError unless the margin is positive. Balntas et al. 2016.

    >>> import workbench as wb
    >>> a, b = wb.zeros(1, 2), wb.tensor([[3.0, 4.0]])
    >>> round(TripletMarginLoss(2.0)(a, b, a).item(), 3)
    7.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        """Return the loss."""
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with any distance, a function or module of two tensors; by default `PairwiseDistance`.

    >>> import workbench as wb
    >>> a, b = wb.zeros(1, 2), wb.tensor([[3.0, 4.0]])
    >>> distance = lambda x, y: (x - y).abs().amax(-1)
    >>> TripletMarginWithDistanceLoss(distance_function=distance)(a, b, a).item()
    5.0
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        """Return the loss."""
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
