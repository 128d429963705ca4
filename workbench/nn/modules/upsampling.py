"""Larger images as layers: interpolation, channels moved into space and back, groups of channels interleaved."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import check_layout, check_spatial
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes

__all__ = [
    "ChannelShuffle",
    "PixelShuffle",
    "PixelUnshuffle",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Upsample(Module):
    """Resample [N, C, L], [N, C, H, W] or [N, C, D, H, W] to `size`, or by `scale_factor`.

    Modes: nearest, nearest-exact, area, linear (L), bilinear and bicubic (H, W), trilinear (D, H, W). With
    `align_corners` the centres of the corner values stay where they are, without it the corners themselves.
    `recompute_scale_factor` has the sizes say how positions correspond, not the factor that was given.

    Raises ValueError for settings that do not go together, `DimensionError` for an input that does not fit.

    >>> import workbench as wb
    >>> Upsample(scale_factor=2, mode="bilinear")(wb.zeros(N=1, C=3, H=4, W=5)).shape
    (1, 3, 8, 10)
    """

    def __init__(
        self,
        size: int | Sizes | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        # A factor of 0 counts as none, as in PyTorch.
        self.scale_factor: float | tuple[float, ...] | None = (
            tuple(map(float, scale_factor))
            if isinstance(scale_factor, tuple)
            else float(scale_factor)
            if scale_factor
            else None
        )
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Any) -> Any:
        """Return the values at the new positions."""
        n = len(input.payload.shape) - 2
        if n in LAYOUT:
            check_layout(type(self).__name__, input, n)
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """Return the factor or the size, and the mode."""
        target = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{target}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Repeat the nearest values of [N, C, H, W]: `Upsample` with the mode nearest.

    >>> import workbench as wb
    >>> UpsamplingNearest2d(scale_factor=2)(wb.tensor([[[[1.0, 2.0]]]])).tolist()
    [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """

    def __init__(
        self, size: int | Sizes | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Interpolate [N, C, H, W] linearly, the centres of the corner values staying where they are.

    >>> import workbench as wb
    >>> UpsamplingBilinear2d(size=(1, 5))(wb.tensor([[[[0.0, 2.0]]]])).tolist()
    [[[[0.0, 0.5, 1.0, 1.5, 2.0]]]]
    """

    def __init__(
        self, size: int | Sizes | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


def _check_channels(layer: str, x: Any) -> None:
    """Refuse names that say that the last three dims are not channels, height and width."""
    check_spatial(layer, x, 2)
    if len(x.payload.shape) >= 3:
        check_places(layer, x, C=len(x.payload.shape) - 3)


class PixelShuffle(Module):
    """Rearrange [*, C·r², H, W] to [*, C, H·r, W·r]. Shi et al. 2016.

    y[c, h·r + i, w·r + j] = x[c·r² + i·r + j, h, w], r being `upscale_factor`

    >>> import workbench as wb
    >>> PixelShuffle(2)(wb.zeros(N=1, C=12, H=4, W=5)).shape
    (1, 3, 8, 10)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        """Rearrange."""
        _check_channels("PixelShuffle", input)
        return functional.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearrange [*, C, H·r, W·r] to [*, C·r², H, W], r being `downscale_factor`: the inverse of `PixelShuffle`.

    >>> import workbench as wb
    >>> PixelUnshuffle(2)(wb.zeros(N=1, C=3, H=8, W=10)).shape
    (1, 12, 4, 5)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        """Rearrange."""
        _check_channels("PixelUnshuffle", input)
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleave `groups` groups of the channels of [N, C, …]. Zhang et al. 2018.

    y[i·groups + g] = x[g·C / groups + i]

    >>> import workbench as wb
    >>> ChannelShuffle(2)(wb.arange(4.0).reshape(1, 4, 1, 1)).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Any) -> Any:
        """Interleave."""
        n = len(input.payload.shape) - 2
        if n in LAYOUT:
            check_layout("ChannelShuffle", input, n)
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"
