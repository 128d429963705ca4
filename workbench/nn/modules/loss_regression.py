"""Losses of numbers against numbers."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.nn.modules.loss import Loss

__all__ = [
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]


class L1Loss(Loss):
    """Absolute difference: |x - target|.

    Input and target […] of the same sizes, whose names are checked against each other; a scalar, or […] with
    reduction "none".

    >>> import workbench as wb
    >>> L1Loss()(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 4.0])).item()
    1.0
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class MSELoss(Loss):
    """Squared difference: (x - target)².

    Input and target […] of the same sizes, whose names are checked against each other; a scalar, or […] with
    reduction "none".

    >>> import workbench as wb
    >>> MSELoss()(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 4.0])).item()
    2.0
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """½·d²/β where |d| < β, |d| - ½·β elsewhere, with d = x - target; β = 0 is `L1Loss`. Girshick 2015.

    Input and target […] of the same sizes; a scalar, or […] with reduction "none".

    >>> import workbench as wb
    >>> SmoothL1Loss(reduction="none")(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 4.0]))
    tensor([0.0000, 1.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """½·d² where |d| < δ, δ·(|d| - ½·δ) elsewhere, with d = x - target. Huber 1964.

    Input and target […] of the same sizes; a scalar, or […] with reduction "none". Raises TypeError where `delta` is
    no number.

    >>> import workbench as wb
    >>> HuberLoss("sum", delta=2.0)(wb.tensor([1.0, 2.0]), wb.tensor([1.0, 5.0])).item()
    4.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, float | int):
            raise TypeError(f"delta must be a float or int, got: {type(delta).__name__}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class GaussianNLLLoss(Loss):
    """Negative log-likelihood of `target` under normal distributions of mean `input` and variance `var`.

    ½·(ln max(var, ε) + (x - target)²/max(var, ε)), and ½·ln 2π more if `full`. `var` has the input's sizes, or 1 for
    one of them, or lacks the last dim, or is a number. Nix and Weigend 1994.

    >>> import workbench as wb
    >>> GaussianNLLLoss()(wb.tensor([1.0]), wb.tensor([3.0]), 1.0).item()
    2.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        """Return the loss."""
        return functional.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts `target` under Poisson distributions.

    e^x - target·x if `log_input`, else x - target·ln(x + ε); `full` adds Stirling's approximation of ln target!.

    >>> import workbench as wb
    >>> PoissonNLLLoss()(wb.tensor([0.0]), wb.tensor([2.0])).item()
    1.0
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class KLDivLoss(Loss):
    """Kullback-Leibler divergence of log-probabilities `input` from `target`: target·(ln target - x).

    `target` has probabilities, or their logarithms under `log_target`. "batchmean" divides the sum by the first size,
    which is the divergence as mathematics has it; "mean" divides by the number of values.

    >>> import workbench as wb
    >>> KLDivLoss(reduction="batchmean")(wb.tensor([[0.0, -1.0]]), wb.tensor([[0.0, 1.0]])).item()
    1.0
    """

    reductions = ("batchmean",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)
