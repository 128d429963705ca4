"""Losses of scores of classes, which lie in dim 1: against a class, a distribution, several classes, or a sequence."""

from __future__ import annotations

import math
from typing import Any

from workbench.nn import functional
from workbench.nn.modules.linear import Linear
from workbench.nn.modules.loss import Loss, WeightedLoss, check_classes
from workbench.nn.positional_dims import check_places
from workbench.tensor import Tensor

__all__ = [
    "CTCLoss",
    "CrossEntropyLoss",
    "LinearCrossEntropyLoss",
    "MultiLabelMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
]


class CrossEntropyLoss(WeightedLoss):
    """Cross entropy between scores and classes or probabilities: -weight[target]·ln softmax(x)[target].

    Input [N, C], [N, C, d1, …] or [C]; target one class for each place ([N], [N, d1, …] or []), or probabilities in
    the input's shape. With `label_smoothing` s, a class becomes the distribution (1 - s)·[c = target] + s/C. A target
    that is `ignore_index` does not count. The mean divides by the weights of the classes counted; with probabilities
    by N. Raises `DimensionError` where sizes differ or a dim called ``C`` stands elsewhere than at 1.

    >>> import workbench as wb
    >>> CrossEntropyLoss()(wb.zeros(N=2, C=4), wb.tensor([0, 3])).item()
    1.3862943649291992
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        check_classes("CrossEntropyLoss", input)
        return functional.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(WeightedLoss):
    """Negative log-likelihood of classes under log-probabilities: -weight[target]·x[target].

    Input [N, C], [N, C, d1, …] or [C]; target [N], [N, d1, …] or []; weight [C]. A target that is `ignore_index` does
    not count; the mean divides by the weights of the classes counted. Raises `DimensionError` where sizes differ or a
    dim called ``C`` stands elsewhere than at 1.

    >>> import workbench as wb
    >>> NLLLoss()(wb.tensor([[-1.0, -2.0], [-3.0, -4.0]]), wb.tensor([0, 1])).item()
    2.5
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        check_classes(type(self).__name__, input)
        return functional.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """`NLLLoss`, which takes images as they are: a former name of it."""


class LinearCrossEntropyLoss(WeightedLoss):
    """`CrossEntropyLoss` of the scores of a linear map, which is learned here, without having all scores in memory.

    Input [N, in_features], target [N] or, with `out_features`, [N, *out_features]; the map's scores are
    [N, num_classes, *out_features]. `options` say how the samples are worked through in chunks. Raises
    `DimensionError` where sizes differ. Wijmans et al. 2025.

    >>> import workbench as wb
    >>> LinearCrossEntropyLoss(3, 4)(wb.zeros(N=2, features=3), wb.tensor([0, 3])).item()
    1.3862943649291992
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        total = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, total, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        sizes = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            # A map that somebody named has a name for its rows, which are classes and places here.
            self.linear.weight.rename(None).reshape(*sizes, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.rename(None).reshape(*sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )


class MultiMarginLoss(WeightedLoss):
    """Σ over the classes i that are not t of weight[t]·max(0, margin - x[t] + x[i])^p / C, for the class t of each row.

    Input [N, C] or [C], target [N] or [], weight [C]; p is 1 or 2, else ValueError.

    >>> import workbench as wb
    >>> MultiMarginLoss()(wb.tensor([[1.0, 1.0]]), wb.tensor([0])).item()
    0.5
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.ndim != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        check_classes("MultiMarginLoss", input)
        return functional.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(Loss):
    """Σ over wanted classes j and others i of max(0, 1 - (x[j] - x[i])) / C.

    Input [N, C] or [C]; target the same, a list of wanted classes that ends at its first -1.

    >>> import workbench as wb
    >>> MultiLabelMarginLoss()(wb.tensor([0.5, 0.0]), wb.tensor([0, -1])).item()
    0.25
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Return the loss."""
        check_classes("MultiLabelMarginLoss", input)
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class CTCLoss(Loss):
    """Negative log-likelihood of sequences of classes over all their timings. Graves et al. 2006.

    Log-probabilities [T, N, C] (or [T, C]) out of log_softmax; targets [N, S], or all of them in one row; how much of
    each counts in input_lengths and target_lengths [N]. The mean divides each loss by its target's length first. A
    target that does not fit into its time has an infinite loss, or with `zero_infinity` none. Raises `DimensionError`
    where names say that time or batch stand elsewhere.

    >>> import workbench as wb
    >>> scores = wb.log_softmax(wb.zeros(2, 1, 2), 2)
    >>> round(CTCLoss(reduction="sum")(scores, wb.tensor([[1]]), (2,), (1,)).item(), 4)
    0.2877
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        """Return the loss."""
        if len(log_probs.payload.shape) == 3:
            check_places("CTCLoss", log_probs, T=0, N=1)
        return functional.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
