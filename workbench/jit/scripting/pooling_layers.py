"""Pooling in words that can be scripted."""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.jit.scripting.layers import LAYERS
from workbench.nn import functional as F
from workbench.tensor import Tensor

__all__: list[str] = []


def _gives_values(module: Any) -> bool:
    return not module.return_indices


@LAYERS.put(nn.MaxPool1d, where=_gives_values)
def _max_pool1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


@LAYERS.put(nn.MaxPool2d, where=_gives_values)
def _max_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


@LAYERS.put(nn.AvgPool2d)
def _avg_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.avg_pool2d(
        input,
        self.kernel_size,
        self.stride,
        self.padding,
        self.ceil_mode,
        self.count_include_pad,
        self.divisor_override,
    )


@LAYERS.put(nn.AdaptiveAvgPool2d)
def _adaptive_avg_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.adaptive_avg_pool2d(input, self.output_size)


@LAYERS.put(nn.AdaptiveAvgPool1d)
def _adaptive_avg_pool1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.adaptive_avg_pool1d(input, self.output_size)


@LAYERS.put(nn.AdaptiveAvgPool3d)
def _adaptive_avg_pool3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.adaptive_avg_pool3d(input, self.output_size)


@LAYERS.put(nn.AdaptiveMaxPool1d, where=_gives_values)
def _adaptive_max_pool1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.adaptive_max_pool1d(input, self.output_size)


@LAYERS.put(nn.LPPool1d)
def _lp_pool1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


@LAYERS.put(nn.AdaptiveMaxPool2d, where=_gives_values)
def _adaptive_max_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.adaptive_max_pool2d(input, self.output_size)


@LAYERS.put(nn.LPPool2d)
def _lp_pool2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


@LAYERS.put(nn.AdaptiveMaxPool3d, where=_gives_values)
def _adaptive_max_pool3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.adaptive_max_pool3d(input, self.output_size)


@LAYERS.put(nn.LPPool3d)
def _lp_pool3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


@LAYERS.put(nn.AvgPool1d)
def _avg_pool1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.avg_pool1d(
        input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
    )


@LAYERS.put(nn.AvgPool3d)
def _avg_pool3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.avg_pool3d(
        input,
        self.kernel_size,
        self.stride,
        self.padding,
        self.ceil_mode,
        self.count_include_pad,
        self.divisor_override,
    )


@LAYERS.put(nn.MaxPool3d, where=_gives_values)
def _max_pool3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


@LAYERS.put(nn.MaxUnpool1d)
def _max_unpool1d(  # type: ignore[no-untyped-def]
    self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
) -> Tensor:
    return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@LAYERS.put(nn.MaxUnpool2d)
def _max_unpool2d(  # type: ignore[no-untyped-def]
    self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
) -> Tensor:
    return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@LAYERS.put(nn.MaxUnpool3d)
def _max_unpool3d(  # type: ignore[no-untyped-def]
    self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
) -> Tensor:
    return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)
