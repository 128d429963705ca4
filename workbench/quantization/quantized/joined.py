"""Layers on codes joined with a function or a sum behind them: sums become codes once, after that."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import quint8
from workbench.nn import functional
from workbench.ops.quantized.quantize import DEQUANTIZE, QUANTIZE_PER_TENSOR
from workbench.quantization.quantized.boundary import require_codes
from workbench.quantization.quantized.convolutions import Conv2d
from workbench.quantization.quantized.layers import Linear, Weighted

__all__ = ["ConvAdd2d", "ConvAddReLU2d", "LinearLeakyReLU", "LinearTanh"]


class _Joined(Weighted):
    """The sums of a layer in floating point, and codes of what is made of them."""

    def _output(self) -> dict[str, Any]:
        return {**super()._output(), "scale": None, "relu": False}

    def _codes(self, values: Any) -> Any:
        return QUANTIZE_PER_TENSOR(values, **self._coding(), dtype=quint8)


class LinearTanh(_Joined, Linear):
    """Affine map on codes [..., in_features], then the hyperbolic tangent.

    >>> import workbench as wb
    >>> x = wb.quantize_per_tensor(wb.ones(2, 3), 0.1, 0, wb.quint8)
    >>> LinearTanh(3, 4)(x).shape
    (2, 4)
    """

    def forward(self, input: Any) -> Any:
        """Map the last dim of codes."""
        return self._codes(super().forward(input).tanh())


class LinearLeakyReLU(_Joined, Linear):
    """Affine map on codes [..., in_features], then max(x, 0) + slope · min(x, 0).

    >>> import workbench as wb
    >>> x = wb.quantize_per_tensor(wb.ones(2, 3), 0.1, 0, wb.quint8)
    >>> LinearLeakyReLU(3, 4, 0.01)(x).shape
    (2, 4)
    """

    def __init__(self, in_features: int, out_features: int, negative_slope: float, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self.negative_slope = negative_slope

    @classmethod
    def settings_of(cls, module: Any) -> dict[str, Any]:
        """Return the slope of the leaky rectifier."""
        return {"negative_slope": module[1].negative_slope}

    def forward(self, input: Any) -> Any:
        """Map the last dim of codes."""
        return self._codes(functional.leaky_relu(super().forward(input), self.negative_slope))

    def extra_repr(self) -> str:
        """Return sizes, the slope, and scale and zero point of what comes out."""
        return f"{super().extra_repr()}, negative_slope={self.negative_slope}"


class ConvAdd2d(_Joined, Conv2d):
    """Convolution of codes [N, C, H, W] and the sum with other codes.

    q = quantize(Σ (x - zx)·(w - zw)·sx·sw[o] + b[o] + dequantize(other))

    >>> import workbench as wb
    >>> x = wb.quantize_per_tensor(wb.ones(1, 2, 5, 5), 0.1, 0, wb.quint8)
    >>> ConvAdd2d(2, 2, 3, padding=1)(x, x).shape
    (1, 2, 5, 5)
    """

    def forward(self, input: Any, extra_input: Any) -> Any:  # type: ignore[override]
        """Convolve codes, and add others of the sizes that come out."""
        require_codes(self, extra_input)
        total = super().forward(input) + DEQUANTIZE(extra_input)
        return self._codes(functional.relu(total) if self.relu else total)


class ConvAddReLU2d(ConvAdd2d):
    """Convolution of codes [N, C, H, W], the sum with other codes, then the rectifier."""

    relu = True
