"""Convolutions of one and three dims, and transposed ones, with weights in codes."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.core.op import ops
from workbench.quantization.observed import float_layer, observer_of
from workbench.quantization.quantized.boundary import QuantizedModule, require_codes
from workbench.quantization.quantized.layers import check_types, quantize_weight
from workbench.quantization.quantized.repacked import PackedConvolution
from workbench.tensor import Tensor

__all__ = [
    "Conv1d", "Conv3d", "ConvReLU1d", "ConvReLU3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip


class _Convolution(PackedConvolution, QuantizedModule):
    """A convolution on codes: q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z)."""

    weight: Tensor
    bias: Tensor | None
    function = ""
    relu = False

    def __init__(self, layer: Any, weight: Any) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.groups = layer.in_channels, layer.out_channels, layer.groups
        padding = layer.padding if layer.transposed else layer.plain_widths()
        if padding is None:
            raise QuantizationError(
                f"a convolution on codes pads with zeros, as far on one side as on the other, and {layer!r} does "
                "not: pad its input by a layer of its own, in front of it"
            )
        self.kernel_size, self.stride, self.padding = layer.kernel_size, layer.stride, padding
        self.dilation, self.output_padding = layer.dilation, layer.output_padding
        self.register_buffer("weight", weight)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the form on codes of a prepared layer."""
        layer, watching = float_layer(module), observer_of(module, "weight_post_process")
        made = cls(layer, quantize_weight(layer.weight, watching))
        check_types(made, made.weight, observer_of(module))
        made.set_output(observer_of(module))
        return made

    def forward(self, input: Any) -> Any:
        """Convolve codes, with integer sums."""
        require_codes(self, input)
        operands = (input, self.weight) if self.bias is None else (input, self.weight, self.bias)
        extra = {"output_padding": self.output_padding} if "transpose" in self.function else {}
        return getattr(ops, f"quantized_{self.function}")(
            *operands, stride=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups,
            scale=float(self.scale.payload), zero_point=int(self.zero_point.payload), qmin=self.quant_min,
            qmax=self.quant_max, relu=self.relu, **extra,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return sizes, scale and zero point."""
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, {self._output_repr()}"
        )


class Conv1d(_Convolution):
    """Convolution of codes [N, C, L] along one dim."""

    function = "conv1d"


class Conv3d(_Convolution):
    """Convolution of volumes of codes [N, C, D, H, W]."""

    function = "conv3d"


class ConvReLU1d(Conv1d):
    """Convolution of codes along one dim, then the rectifier."""

    relu = True


class ConvReLU3d(Conv3d):
    """Convolution of volumes of codes, then the rectifier."""

    relu = True


class ConvTranspose1d(_Convolution):
    """Transposed convolution of codes [N, C, L]."""

    function = "conv_transpose1d"


class ConvTranspose2d(_Convolution):
    """Transposed convolution of codes [N, C, H, W]."""

    function = "conv_transpose2d"


class ConvTranspose3d(_Convolution):
    """Transposed convolution of codes [N, C, D, H, W]."""

    function = "conv_transpose3d"
