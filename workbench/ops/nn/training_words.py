"""PyTorch's functions below its layers, as ``torch`` has them: whether it trains stands by position, and is said."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.ops.nn.norm import batch_norm as normalisation
from workbench.ops.offer import offered
from workbench.ops.random import dropout as noise

__all__ = ["alpha_dropout", "batch_norm", "dropout", "feature_alpha_dropout", "instance_norm"]


@offered("workbench", in_place=True)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Set each value to 0 with probability `p` and scale the rest by 1 / (1 - p), if `train`.

    >>> import workbench as wb
    >>> wb.dropout(wb.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return noise.dropout(input, p, train)


@offered("workbench", in_place=True)
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Set values to selu's floor with probability `p`, keeping mean 0 and variance 1, if `train`.

    >>> import workbench as wb
    >>> wb.alpha_dropout(wb.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return noise.alpha_dropout(input, p, train)


@offered("workbench", in_place=True)
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of whole channels of [N, C, …], if `train`.

    >>> import workbench as wb
    >>> wb.feature_alpha_dropout(wb.ones(1, 2, 1), 0.5, False).tolist()
    [[[1.0], [1.0]]]
    """
    return noise.feature_alpha_dropout(input, p, train)


@offered("workbench")
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalise each channel over the batch, as `nn.functional.batch_norm` does. `cudnn_enabled` says nothing here.

    >>> import workbench as wb
    >>> wb.batch_norm(wb.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0, False).tolist()
    [[-1.0], [1.0]]
    """
    return normalisation.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@offered("workbench")
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalise each channel of each sample, as `nn.functional.instance_norm` does.

    >>> import workbench as wb
    >>> wb.instance_norm(wb.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0, False).tolist()
    [[[-1.0, 1.0]]]
    """
    return normalisation.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )
