"""Transposed convolutions in one, two and three dims as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.value import dims_of
from workbench.nn import functional
from workbench.nn.modules.conv import ConvNd
from workbench.nn.modules.convolution_settings import PaddingMode
from workbench.nn.spatial_names import check_layout
from workbench.ops.nn.conv.convolution_ops import CONV1D, CONV2D, CONV3D
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes, several

__all__ = ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "ConvTransposeNd"]


class ConvTransposeNd(ConvNd):
    """What transposed convolutions have in common."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sizes,
        stride: int | Sizes = 1,
        padding: int | Sizes = 0,
        output_padding: int | Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sizes = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        extra = several(output_padding, self.spatial, "output_padding")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip
        self.output_padding = extra

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        """Spread a batch, or one example without the dim N; `output_size` decides among the sizes that are possible."""
        return self._spread(input, self.weight, output_size)

    def _spread(self, input: Any, weight: Any, output_size: Sequence[int] | None) -> Any:
        check_layout(type(self).__name__, input, self.spatial)
        extra = self.output_padding if output_size is None else self._extra_for(input, output_size)
        spread = getattr(functional, f"conv_transpose{self.spatial}d")
        return spread(input, weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _extra_for(self, input: Any, output_size: Sequence[int]) -> Sizes:
        """Return the output padding that gives the size asked for."""
        n, sizes = self.spatial, dims_of(input).sizes
        # Sizes of batch and channels may be given too; they say nothing new, and are not looked at.
        leading = 2 if len(sizes) == n + 2 else 1
        if len(output_size) not in (n, n + leading):
            raise ValueError(
                f"ConvTranspose{n}D: for {len(sizes)}D input, output_size must have {n} or {n + leading} elements "
                f"(got {len(output_size)})"
            )
        wanted = [int(one) for one in output_size][-n:]
        padding = several(self.padding, n, "padding")
        settings = zip(sizes[-n:], self.stride, padding, self.dilation, self.kernel_size, strict=True)
        # The smallest size that a convolution with these settings brings to the input's. With a stride, up to
        # s - 1 more do.
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in settings]
        most = [one + s - 1 for one, s in zip(least, self.stride, strict=True)]
        if not all(low <= one <= high for low, one, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{list(sizes[-n:])})"
            )
        return tuple(one - low for one, low in zip(wanted, least, strict=True))


class ConvTranspose1d(ConvTransposeNd):
    """One-dimensional transposed convolution with learned weights: the gradient of `Conv1d` for its input.

    y[n, o, p·s + i·d - pad] += x[n, c, p]·weight[c, o, i], plus bias[o]

    Input [N, C, L] or [C, L], output alike with `out_channels` channels and size (L - 1)·stride - 2·padding +
    dilation·(kernel_size - 1) + output_padding + 1; the weight is [in_channels, out_channels / groups, kernel_width].

    >>> import workbench as wb
    >>> ConvTranspose1d(2, 4, kernel_size=3, stride=2)(wb.zeros(N=1, C=2, L=5)).shape
    (1, 4, 11)
    """

    op = CONV1D
    spatial = 1
    layout = LAYOUT[1]


class ConvTranspose2d(ConvTransposeNd):
    """Two-dimensional transposed convolution with learned weights; see `ConvTranspose1d`. Zeiler et al. 2010.

    Input [N, C, H, W] or [C, H, W]; the weight is [in_channels, out_channels / groups, kernel_height, kernel_width].
    A convolution with a stride gives several input sizes the same output size: say which one is to come back by
    `output_size`, when the layer is called.

    Raises ValueError for a size that is not possible, `DimensionError` for an input that does not fit.

    >>> import workbench as wb
    >>> layer = ConvTranspose2d(3, 1, kernel_size=3, stride=2, padding=1)
    >>> x = wb.zeros(N=1, C=3, H=4, W=4)
    >>> layer(x).shape, layer(x, output_size=(8, 8)).shape
    ((1, 1, 7, 7), (1, 1, 8, 8))
    """

    op = CONV2D
    spatial = 2
    layout = LAYOUT[2]


class ConvTranspose3d(ConvTransposeNd):
    """Three-dimensional transposed convolution with learned weights; see `ConvTranspose2d`.

    Input [N, C, D, H, W] or [C, D, H, W].

    >>> import workbench as wb
    >>> ConvTranspose3d(1, 2, kernel_size=2, stride=2)(wb.zeros(N=1, C=1, D=2, H=3, W=4)).shape
    (1, 2, 4, 6, 8)
    """

    op = CONV3D
    spatial = 3
    layout = LAYOUT[3]
