"""What losses share: how they are reduced, and weights."""

from __future__ import annotations

from typing import Any

from workbench.nn.module import Module
from workbench.nn.positional_dims import check_places
from workbench.ops.nn.loss.cross_entropy import chosen_reduction
from workbench.tensor import Tensor

__all__ = ["Loss", "WeightedLoss", "check_classes"]


class Loss(Module):
    """Base of losses: `reduction` is "none", "sum" or "mean".

    `size_average` and `reduce` are former words for it: neither says "mean", reduce=False "none", size_average=False
    "sum"; with one of them there is a warning. Raises ValueError for another reduction.
    """

    reductions: tuple[str, ...] = ()
    """Reductions beside the usual ones."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        plain = size_average is None and reduce is None
        # The common rule knows the three usual words only.
        if not (plain and reduction in self.reductions):
            reduction = chosen_reduction(size_average, reduce, reduction)
        self.reduction = reduction


class WeightedLoss(Loss):
    """Base of losses with weights, which are a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def check_classes(layer: str, input: Any) -> None:
    """Refuse scores whose names say that the classes are not in dim 1."""
    if input._names is not None and len(input._names) > 1:
        check_places(layer, input, C=1)
