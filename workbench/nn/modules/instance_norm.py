"""Normalisation of each channel of each example by itself, as layers."""

from __future__ import annotations

import warnings
from typing import Any

from workbench.core.op import ops
from workbench.nn import functional
from workbench.nn.modules.batch_norm import RunningNorm
from workbench.ops.nn.conv.window_geometry import LAYOUT

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "InstanceNormNd"]


class InstanceNormNd(RunningNorm):
    """Scale each channel of each example to mean 0 and variance 1, then by learned factors if `affine`."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Any) -> Any:
        """Normalise a batch, or one example without the dim N; by the running statistics if there are any, in use."""
        self._check_dims(input)
        if input._names is not None:
            self._check(input)
        shape = input.payload.shape
        single = len(shape) == len(self.expected[1])
        self._check_channels(shape[0 if single else 1], 0 if single else 1)
        batch = ops.unsqueeze(input, dim=0, name=None) if single else input
        output = functional.instance_norm(
            batch,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            # None means no movement here, and not a plain mean as in batch normalisation: PyTorch has it so.
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )
        return ops.squeeze(output, dim=(0,)) if single else output

    def _check_channels(self, channels: int, dim: int) -> None:
        if channels == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {channels}."
            )
        warnings.warn(
            f"{type(self).__name__}: input's size at dim={dim} does not match num_features, {channels} and not "
            f"{self.num_features}; without affine=True it is not used",
            UserWarning,
            # Over `forward` and `Module.__call__`, to the line that called the layer.
            stacklevel=4,
        )


class InstanceNorm1d(InstanceNormNd):
    """Instance normalisation of sequences [N, C, L] or [C, L]; see `InstanceNorm2d`.

    >>> import workbench as wb
    >>> y = InstanceNorm1d(2, eps=0.0)(wb.tensor([[[1.0, 3.0], [0.0, 4.0]]]))
    >>> y.tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """

    expected = (LAYOUT[1], LAYOUT[1][1:])


class InstanceNorm2d(InstanceNormNd):
    """Instance normalisation of images [N, C, H, W] or [C, H, W].

    y = (x - E[x]) / √(Var[x] + eps)·weight + bias, for each channel of each example; without factors unless `affine`.
    With `track_running_stats` the means over the examples move running statistics, which `eval` then uses.
    Ulyanov et al. 2016.

    Raises `DimensionError` for other dims, ValueError for another number of channels (a warning where it is of no
    consequence) and for channels of one value.

    >>> import workbench as wb
    >>> y = InstanceNorm2d(3)(wb.randn(N=2, C=3, H=8, W=8))
    >>> bool(abs(y.mean(["H", "W"]).numpy()).max() < 1e-5)
    True
    """

    expected = (LAYOUT[2], LAYOUT[2][1:])


class InstanceNorm3d(InstanceNormNd):
    """Instance normalisation of volumes [N, C, D, H, W] or [C, D, H, W]; see `InstanceNorm2d`.

    >>> import workbench as wb
    >>> InstanceNorm3d(2)(wb.randn(N=1, C=2, D=2, H=3, W=3)).shape
    (1, 2, 2, 3, 3)
    """

    expected = (LAYOUT[3], LAYOUT[3][1:])
