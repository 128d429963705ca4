"""Batch normalisation taken into the layer before it, for a model that is used and no longer trained."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from workbench.core.dispatch import numbers
from workbench.core.value import labelled, new
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.ops.nn.norm.folding import fold_batch_norm
from workbench.tensor import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

Layer = TypeVar("Layer", bound=Module)


def fuse_conv_bn_eval(conv: Layer, bn: Module, transpose: bool = False) -> Layer:
    """Return a copy of a convolution that also does what the batch normalisation after it does.

    w' = w·γ / √(var + eps);  b' = (b - mean)·γ / √(var + eps) + β. Raises ValueError while one of the two is training,
    or where nothing was measured.

    >>> import workbench as wb
    >>> conv, norm = wb.nn.Conv2d(2, 3, 1).eval(), wb.nn.BatchNorm2d(3).eval()
    >>> x = wb.randn(1, 2, 4, 4)
    >>> bool((fuse_conv_bn_eval(conv, norm)(x) - norm(conv(x))).abs().max() < 1e-5)
    True
    """
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: Layer, bn: Module) -> Layer:
    """Return a copy of a linear layer that also does what the batch normalisation after it does.

    See `fuse_conv_bn_eval`. Raises ValueError where the two do not have the same number of features.
    """
    outputs, features = linear.out_features, bn.num_features  # type: ignore[attr-defined]
    if outputs != features and features != 1:
        raise ValueError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={outputs} and bn.num_features={features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer: Layer, bn: Any, weights: Any, *more: Any) -> Layer:
    # In training the statistics still move, and a fused weight would keep those of this moment.
    if layer.training or bn.training:
        raise ValueError("Fusion only for eval! Call eval() on both first")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError("nothing was measured: bn.running_mean and bn.running_var must not be None")
    fused: Any = copy.deepcopy(layer)
    fused.weight, fused.bias = weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, *more
    )
    return fused  # type: ignore[no-any-return]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of a convolution with a batch normalisation taken in.

    Channels of the result are dim 0 of the weight, or dim 1 with `transpose`.
    """
    return _weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of a linear layer with a batch normalisation taken in."""
    return _weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _weights(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    channel: int,
) -> tuple[Parameter, Parameter]:
    before, factor, end = (None if one is None else numbers(one) for one in (bias, scale, shift))
    folded = fold_batch_norm(
        numbers(weight), before, numbers(mean), numbers(variance), eps, factor, end, channel
    )
    # The bias of the result is called as the old one, else as the channels of the weight.
    called = weight if bias is None or not any(bias.dim_labels) else bias
    names, labels = (
        one if called is bias or one is None else (one[channel],) for one in (called._names, called._labels)
    )
    return (
        Parameter(labelled(new(folded[0], weight._names), weight._labels), weight.requires_grad),
        Parameter(labelled(new(folded[1], names), labels), bias is not None and bias.requires_grad),
    )
