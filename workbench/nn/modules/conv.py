"""Convolutions in one, two and three dims as layers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from workbench.base.dims import Names
from workbench.core import dispatch
from workbench.core.op import Op
from workbench.core.value import new
from workbench.nn import functional, init
from workbench.nn.modules.convolution_settings import ConvolutionSettings, PaddingMode
from workbench.nn.modules.prepared import PreparedConv2d
from workbench.nn.parameter import Parameter
from workbench.nn.spatial_names import check_layout
from workbench.ops.nn.conv.convolution_ops import CONV1D, CONV2D, CONV3D
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes
from workbench.tensor.factories import empty

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvNd"]


class ConvNd(ConvolutionSettings):
    """What convolutions have in common, transposed or not: their parameters, and how they pad and convolve."""

    op: ClassVar[Op]
    layout: ClassVar[Names]
    """Names of the dims of a batch."""
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sizes,
        stride: int | Sizes = 1,
        padding: int | Sizes | str = 0,
        dilation: int | Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_geometry(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode
        )
        self.weight = Parameter(
            empty(self._weight_sizes(), dtype=dtype, device=device), dim_labels=self._weight_labels()
        )
        self.register_parameter(
            "bias",
            Parameter(empty(out_channels, dtype=dtype, device=device), dim_labels=("out_channels",))
            if bias
            else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: U(-b, b), b = 1 / √(in_channels / groups·kernel volume)."""
        init.default_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        """Convolve a batch, or one example without the dim N."""
        names = input._names
        if names is not None and names != self.layout:
            check_layout(type(self).__name__, input, self.spatial)
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        """Convolve with a weight and bias that may be others than the layer's own."""
        padding = self._plain_padding(input)
        if padding is None:
            return self._convolve_bordered(input, weight, bias)
        operands = (input, weight) if bias is None else (input, weight, bias)
        return self.op(
            *operands, stride=self.stride, padding=padding, dilation=self.dilation, groups=self.groups
        )

    def _plain_padding(self, input: Any) -> Sizes | None:
        """Return the padding that the op itself does; None where the input is to be changed first."""
        return self.plain_widths() if len(input.payload.shape) == self.spatial + 2 else None

    def _convolve_bordered(self, input: Any, weight: Any, bias: Any) -> Any:
        """Convolve what has no dim N, or needs a border of other values than zeros."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            # The op pads with zeros only. Other borders are made first, and then nothing is left to pad.
            input = self.bordered(input)
            padding = 0
        convolve = getattr(functional, self.op.name)
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(ConvNd):
    """One-dimensional cross-correlation with learned weights, of sequences of channels.

    y[n, o, p] = bias[o] + Σ_{c, i} x[n, c, p·s + i·d - pad]·weight[o, c, i]

    Input [N, C, L] or [C, L], output alike with `out_channels` channels; the weight is [out_channels,
    in_channels / groups, kernel_width]. See `Conv2d` for the settings.

    >>> import workbench as wb
    >>> Conv1d(2, 4, kernel_size=3, padding="same")(wb.zeros(N=1, C=2, L=10)).shape
    (1, 4, 10)
    """

    op = CONV1D
    spatial = 1
    layout = LAYOUT[1]


class Conv2d(ConvNd):
    """Two-dimensional cross-correlation with learned weights.

    y[n, o, p, q] = bias[o] + Σ_{c, i, j} x[n, c, p·s + i·d - pad, q·s + j·d - pad]·weight[o, c, i, j]

    Input [N, C, H, W] or [C, H, W] (dims without names pass, other names are refused), output alike with
    `out_channels` channels; the weight is [out_channels, in_channels / groups, kernel_height, kernel_width].
    ``padding="same"`` keeps the size at stride 1, ``"valid"`` pads nothing; `padding_mode` says what the border is made
    of: zeros, reflect, replicate or circular.

    Raises ValueError for settings that do not go together, `DimensionError` for an input that does not fit.

    >>> import workbench as wb
    >>> layer = Conv2d(1, 8, kernel_size=3, padding=1)
    >>> layer(wb.zeros(N=2, C=1, H=28, W=28)).shape
    (2, 8, 28, 28)
    """

    op = CONV2D
    spatial = 2
    layout = LAYOUT[2]
    _remembered = ("_prepared",)
    _prepared: PreparedConv2d | None = None

    def forward(self, input: Any) -> Any:
        """Convolve [N, C, H, W] or [C, H, W]."""
        names = input._names
        if names is not None and names != self.layout:
            check_layout(type(self).__name__, input, 2)
        # In training every step changes the weights, and packing them anew would cost more than it saves.
        if not self.training:
            prepared = self._prepared_for(input)
            if prepared is not None:
                return new(prepared.run(input.payload), names)
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        """Convolve with a weight and bias that may be others than the layer's own."""
        padding = self.padding
        # The common call, without asking anyone else.
        if type(padding) is not tuple or self.padding_mode != "zeros" or len(input.payload.shape) != 4:
            return super()._conv_forward(input, weight, bias)
        operands = (input, weight) if bias is None else (input, weight, bias)
        return CONV2D(
            *operands, stride=self.stride, padding=padding, dilation=self.dilation, groups=self.groups
        )

    def _prepared_for(self, input: Any) -> PreparedConv2d | None:
        """Return packed weights for plain inference: only numbers are asked for, and they are float32."""
        if CONV2D.kernel is None or not dispatch.computes_only():
            return None
        array, weight = input.payload, self.weight.payload
        if type(array) is not np.ndarray or type(weight) is not np.ndarray:
            return None
        if array.dtype != np.float32 or weight.dtype != np.float32:
            return None
        padding = self._plain_padding(input)
        if padding is None:
            return None
        prepared = self._prepared
        if prepared is None or not prepared.holds(self, padding):
            prepared = self.__dict__["_prepared"] = PreparedConv2d(self, padding)
        if array.shape not in prepared.shapes:
            # The op's own rule refuses what does not fit; a shape that it has passed need not be asked again.
            prepared.check(input, self)
        return prepared

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_prepared": None}


class Conv3d(ConvNd):
    """Three-dimensional cross-correlation with learned weights: `Conv2d` with a depth.

    Input [N, C, D, H, W] or [C, D, H, W], output alike with `out_channels` channels; the weight is [out_channels,
    in_channels / groups, kernel_depth, kernel_height, kernel_width].

    >>> import workbench as wb
    >>> Conv3d(1, 2, kernel_size=3)(wb.zeros(N=1, C=1, D=4, H=5, W=6)).shape
    (1, 2, 2, 3, 4)
    """

    op = CONV3D
    spatial = 3
    layout = LAYOUT[3]
