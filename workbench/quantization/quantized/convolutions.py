"""Convolutions, transposed ones too, with weights in codes."""

from __future__ import annotations

from typing import Any

from workbench.core.op import ops
from workbench.nn.modules.convolution_settings import ConvolutionSettings, PaddingMode
from workbench.nn.spatial_names import check_layout
from workbench.ops.nn.conv.window_geometry import LAYOUT, Sizes
from workbench.quantization.observed import float_layer, observer_of
from workbench.quantization.quantized.layers import (
    Weighted,
    check_types,
    empty_bias,
    empty_codes,
    quantize_weight,
)
from workbench.quantization.quantized.repacked import PackedConvolution

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "ConvReLUMaxPool2d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip


class _Convolution(PackedConvolution, Weighted, ConvolutionSettings):
    """A convolution on codes: quint8 [N, C, ...] to quint8, weights qint8, with exact sums and the bias in real units.

    q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z)

    A border of other values than zeros is made of the codes of the input.
    """

    def _begin(self, bias: bool, *geometry: Any) -> None:
        super().__init__()
        self._set_geometry(*geometry)
        weight = empty_codes(self._weight_sizes(), self._weight_labels())
        self._set_weight(weight, empty_bias(self.out_channels, "out_channels") if bias else None)

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the form on codes of a prepared layer."""
        layer, watching = float_layer(module), observer_of(module, "weight_post_process")
        more = {"output_padding": layer.output_padding} if cls.transposed else {}
        kind: Any = cls
        made = kind(
            layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride, layer.padding,
            dilation=layer.dilation, groups=layer.groups, bias=layer.bias is not None,
            padding_mode=layer.padding_mode, **more,
        )  # fmt: skip
        weight = quantize_weight(layer.weight, watching)
        check_types(made, weight, observer_of(module))
        made._set_weight(weight, layer.bias)
        made.set_output(observer_of(module))
        return made

    @property
    def function(self) -> str:
        """What `nn.functional` calls this on numbers."""
        return f"conv{'_transpose' if self.transposed else ''}{self.spatial}d"

    def placed(self, input: Any) -> tuple[Any, dict[str, Any]]:
        """Return the input with what border the op does not make itself, and where the windows lie on it."""
        padding = self.plain_widths()
        if padding is None:
            input, padding = self.bordered(input), (0,) * self.spatial
        geometry: dict[str, Any] = {
            "stride": self.stride, "padding": padding, "dilation": self.dilation, "groups": self.groups,
        }  # fmt: skip
        if self.transposed:
            geometry["output_padding"] = self.output_padding
        return input, geometry

    def forward(self, input: Any) -> Any:
        """Convolve codes."""
        names = input._names
        if names is not None and names != LAYOUT[self.spatial]:
            check_layout(type(self).__name__, input, self.spatial)
        x, *parameters = self._operands(input)
        x, geometry = self.placed(x)
        return getattr(ops, f"quantized_{self.function}")(x, *parameters, **geometry, **self._output())

    def extra_repr(self) -> str:
        """Return sizes, what differs from the defaults, scale and zero point."""
        return f"{super().extra_repr()}, {self._output_repr()}"


class _Straight(_Convolution):
    """What convolutions share that are not transposed."""

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
    ) -> None:
        self._begin(
            bias, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode
        )


class _Transposed(_Convolution):
    """What transposed convolutions share."""

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
    ) -> None:
        self._begin(
            bias, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode,
            output_padding,
        )  # fmt: skip


class Conv1d(_Straight):
    """Convolution of codes [N, C, L] along one dim.

    >>> import workbench as wb
    >>> x = wb.quantize_per_tensor(wb.ones(1, 2, 5), 0.1, 0, wb.quint8)
    >>> Conv1d(2, 3, 3, padding=1, padding_mode="reflect")(x).shape
    (1, 3, 5)
    """

    spatial = 1


class Conv2d(_Straight):
    """Convolution of codes [N, C, H, W]."""

    spatial = 2
    pool = False

    def _output(self) -> dict[str, Any]:
        return {**super()._output(), "pool": self.pool}


class Conv3d(_Straight):
    """Convolution of volumes of codes [N, C, D, H, W]."""

    spatial = 3


class ConvReLU1d(Conv1d):
    """Convolution of codes along one dim, then the rectifier."""

    relu = True


class ConvReLU2d(Conv2d):
    """Convolution on codes, then the rectifier: codes below the zero point become it."""

    relu = True


class ConvReLUMaxPool2d(ConvReLU2d):
    """Convolution on codes, then the rectifier, then the largest of each 2 by 2."""

    pool = True


class ConvReLU3d(Conv3d):
    """Convolution of volumes of codes, then the rectifier."""

    relu = True


class ConvTranspose1d(_Transposed):
    """Transposed convolution of codes [N, C, L]."""

    spatial = 1


class ConvTranspose2d(_Transposed):
    """Transposed convolution of codes [N, C, H, W]."""

    spatial = 2


class ConvTranspose3d(_Transposed):
    """Transposed convolution of codes [N, C, D, H, W]."""

    spatial = 3
