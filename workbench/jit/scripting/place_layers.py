"""Padding, turning, resizing and dropping of places and channels in words that can be scripted."""

from __future__ import annotations

from workbench import nn
from workbench.jit.scripting.layers import LAYERS
from workbench.nn import functional as F
from workbench.tensor import Tensor

__all__: list[str] = []


@LAYERS.put(nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d, nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d)
def _constant_pad(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.pad(input, self.padding, value=self.value)


@LAYERS.put(
    nn.CircularPad1d, nn.CircularPad2d, nn.CircularPad3d, nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d,
    nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d,
)  # fmt: skip
def _pad(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.pad(input, self.padding, mode=self.mode)


@LAYERS.put(nn.PixelShuffle)
def _pixel_shuffle(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.pixel_shuffle(input, self.upscale_factor)


@LAYERS.put(nn.PixelUnshuffle)
def _pixel_unshuffle(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.pixel_unshuffle(input, self.downscale_factor)


@LAYERS.put(nn.ChannelShuffle)
def _channel_shuffle(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.channel_shuffle(input, self.groups)


@LAYERS.put(nn.Upsample, nn.UpsamplingNearest2d, nn.UpsamplingBilinear2d)
def _upsample(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.interpolate(
        input, self.size, self.scale_factor, self.mode, self.align_corners,
        recompute_scale_factor=self.recompute_scale_factor,
    )  # fmt: skip


@LAYERS.put(nn.Unfold)
def _unfold(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


@LAYERS.put(nn.Fold)
def _fold(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


@LAYERS.put(nn.Unflatten)
def _unflatten(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input.unflatten(self.dim, self.unflattened_size)


@LAYERS.put(nn.AlphaDropout)
def _alpha_dropout(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.alpha_dropout(input, self.p, self.training, self.inplace)


@LAYERS.put(nn.Dropout1d)
def _dropout1d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.dropout1d(input, self.p, self.training, self.inplace)


@LAYERS.put(nn.Dropout2d)
def _dropout2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.dropout2d(input, self.p, self.training, self.inplace)


@LAYERS.put(nn.Dropout3d)
def _dropout3d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.dropout3d(input, self.p, self.training, self.inplace)


@LAYERS.put(nn.FeatureAlphaDropout)
def _feature_alpha_dropout(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
