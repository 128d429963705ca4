"""Losses and distances in words that can be scripted."""

from __future__ import annotations

from workbench import nn
from workbench.jit.scripting.layers import LAYERS
from workbench.nn import functional as F
from workbench.tensor import Tensor

__all__: list[str] = []


@LAYERS.put(nn.MSELoss)
def _mse_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.mse_loss(input, target, reduction=self.reduction)


@LAYERS.put(nn.CrossEntropyLoss)
def _cross_entropy(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.cross_entropy(
        input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
        label_smoothing=self.label_smoothing,
    )  # fmt: skip


@LAYERS.put(nn.L1Loss)
def _l1_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.l1_loss(input, target, reduction=self.reduction)


@LAYERS.put(nn.SmoothL1Loss)
def _smooth_l1_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


@LAYERS.put(nn.HuberLoss)
def _huber_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


@LAYERS.put(nn.BCELoss)
def _binary_cross_entropy(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


@LAYERS.put(nn.BCEWithLogitsLoss)
def _binary_cross_entropy_with_logits(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.binary_cross_entropy_with_logits(
        input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
    )


@LAYERS.put(nn.KLDivLoss)
def _kl_div(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


@LAYERS.put(nn.NLLLoss, nn.NLLLoss2d)
def _nll_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.nll_loss(
        input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
    )


@LAYERS.put(nn.PoissonNLLLoss)
def _poisson_nll_loss(self, log_input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.poisson_nll_loss(
        log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
    )


@LAYERS.put(nn.GaussianNLLLoss)
def _gaussian_nll_loss(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


@LAYERS.put(nn.HingeEmbeddingLoss)
def _hinge_embedding_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


@LAYERS.put(nn.SoftMarginLoss)
def _soft_margin_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.soft_margin_loss(input, target, reduction=self.reduction)


@LAYERS.put(nn.MultiLabelMarginLoss)
def _multilabel_margin_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.multilabel_margin_loss(input, target, reduction=self.reduction)


@LAYERS.put(nn.MultiLabelSoftMarginLoss)
def _multilabel_soft_margin_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


@LAYERS.put(nn.MultiMarginLoss)
def _multi_margin_loss(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.multi_margin_loss(
        input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
    )


@LAYERS.put(nn.CosineEmbeddingLoss)
def _cosine_embedding_loss(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


@LAYERS.put(nn.MarginRankingLoss)
def _margin_ranking_loss(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


@LAYERS.put(nn.TripletMarginLoss)
def _triplet_margin_loss(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.triplet_margin_loss(
        anchor,
        positive,
        negative,
        margin=self.margin,
        p=self.p,
        eps=self.eps,
        swap=self.swap,
        reduction=self.reduction,
    )


@LAYERS.put(nn.CTCLoss)
def _ctc_loss(  # type: ignore[no-untyped-def]
    self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
) -> Tensor:
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
    )


@LAYERS.put(nn.CosineSimilarity)
def _cosine_similarity(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.cosine_similarity(x1, x2, self.dim, self.eps)


@LAYERS.put(nn.PairwiseDistance)
def _pairwise_distance(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
