"""Batch normalisation as a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Names
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.nn import init
from workbench.nn.images import IMAGE, check_names
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.ops.batch_norm import update_running, values_per_channel
from workbench.ops.normalise import BATCH_NORM, BATCH_NORM_INFERENCE
from workbench.tensor import Tensor
from workbench.tensor.factories import ones, tensor, zeros

__all__ = ["BatchNorm1d", "BatchNorm2d"]


class _BatchNorm(Module):
    """Scale each channel to mean 0 and variance 1 over the batch, then by learned factors."""

    expected: tuple[Names, ...]
    """Names of the dims, by number of dims."""
    weight: Parameter | None
    bias: Parameter | None
    _one: Tensor
    _zero: Tensor
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        weight, bias = ones(num_features, names=("C",)), zeros(num_features, names=("C",))
        self.register_parameter("weight", Parameter(weight) if affine else None)
        self.register_parameter("bias", Parameter(bias) if affine else None)
        if not affine:
            self.register_buffer("_one", weight, persistent=False)
            self.register_buffer("_zero", bias, persistent=False)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, names=("C",)) if tracked else None)
        self.register_buffer("running_var", ones(num_features, names=("C",)) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0) if tracked else None)

    def reset_running_stats(self) -> None:
        """Forget what was measured."""
        if (
            self.running_mean is not None
            and self.running_var is not None
            and self.num_batches_tracked is not None
        ):
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def forward(self, input: Any) -> Any:
        """Normalise [N, C, …]: by the batch's own statistics while training, by the running ones otherwise."""
        names = input._names
        if names is not None and names != self.expected[0]:
            self._check(input)
        weight: Any = self.weight
        bias: Any = self.bias
        if weight is None:
            weight, bias = self._one, self._zero
        mean, var = self.running_mean, self.running_var
        if not self.training and mean is not None and var is not None:
            return BATCH_NORM_INFERENCE(input, mean, var, weight, bias, eps=self.eps)
        shape = input._array.shape
        if len(shape) not in (len(names) for names in self.expected):
            self._refuse_dims(input)
        count = values_per_channel(type(self).__name__, input)
        output, batch_mean, rstd = BATCH_NORM(input, weight, bias, eps=self.eps)
        if self.training and self.num_batches_tracked is not None:
            self._track(batch_mean._array, rstd._array, count)
        return output

    def _check(self, input: Any) -> None:
        for expected in self.expected:
            check_names(type(self).__name__, input, expected)

    def _refuse_dims(self, input: Any) -> None:
        wanted = " or ".join(str(list(names)) for names in self.expected)
        raise DimensionError(
            f"{type(self).__name__} takes dims {wanted}, got {len(input._array.shape)}D input.",
            op=type(self).__name__, operands=(dims_of(input).operand("input"),),
        )  # fmt: skip

    def _track(self, batch_mean: Any, rstd: Any, count: int) -> None:
        """Move the running statistics towards those of the batch; values without numbers move nothing."""
        if type(batch_mean) is not np.ndarray:
            return
        assert (
            self.running_mean is not None
            and self.running_var is not None
            and self.num_batches_tracked is not None
        )
        self.num_batches_tracked._array[...] += 1
        self.num_batches_tracked._version += 1
        momentum = 1.0 / int(self.num_batches_tracked._array) if self.momentum is None else self.momentum
        update_running(self.running_mean, self.running_var, batch_mean, rstd, count, self.eps, momentum)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images [N, C, H, W].

    y = (x - E[x]) / √(Var[x] + eps)·weight + bias, for each channel; the running statistics move by
    running ← (1 - momentum)·running + momentum·measured, with the unbiased variance (momentum None: their plain
    mean so far). Ioffe and Szegedy 2015.

    >>> import workbench as wb
    >>> layer = BatchNorm2d(3)
    >>> y = layer(wb.randn(N=4, C=3, H=5, W=5))
    >>> bool(abs(y.mean(["N", "H", "W"]).detach().numpy()).max() < 1e-5)
    True
    """

    expected = (IMAGE,)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of rows [N, C] or sequences [N, C, L]; see `BatchNorm2d`.

    The last dim of rows may have any name, such as ``features``.
    """

    expected = (("N", "C"), ("N", "C", "L"))

    def _check(self, input: Any) -> None:
        if len(input._array.shape) == 3:
            check_names("BatchNorm1d", input, ("N", "C", "L"))
