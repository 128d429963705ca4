"""A linear layer whose weight is codes and whose activations are floating point."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import float32
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core import dispatch
from workbench.core.value import labelled, new
from workbench.nn import Linear, Module
from workbench.nn import functional as F
from workbench.ops.quantized.quantize import DEQUANTIZE
from workbench.ops.quantized.weight_only import QUANTIZED_LINEAR_WEIGHT_ONLY
from workbench.quantization.weight_only.grid import Setting
from workbench.tensor import Tensor

__all__ = ["WeightOnlyLinear"]


class WeightOnlyLinear(Module):
    """Linear layer with a weight of 4 or 8 bits in groups: y = (x / d)·Ŵᵀ + b.

    Ŵ = (codes - zero points)·scales, one of each for every `group_size` neighbours in a row; d is 1 but for the
    method AWQ. From [any dims, in_features] to [any dims, out_features], in floating point.

    >>> import workbench as wb
    >>> layer = WeightOnlyLinear(64, 8, bits=4, group_size=32)
    >>> layer.weight.dtype, layer(wb.rand(2, 64)).shape
    (workbench.quint4x2, (2, 8))
    """

    weight: Tensor
    bias: Tensor | None
    input_scale: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        bits: int = 4,
        group_size: int = 128,
        symmetric: bool = False,
    ) -> None:
        super().__init__()
        self.setting = Setting(bits, group_size, symmetric)
        self.in_features, self.out_features = in_features, out_features
        dtype, groups = self.setting.dtype, -(-in_features // group_size)
        zero = (sum(code_range(dtype)) + 1) // 2
        empty = QuantizedArray(
            np.full((out_features, in_features), zero, dtype.numpy),
            np.ones((out_features, groups)), np.full((out_features, groups), zero), dtype, None, group_size,
        )  # fmt: skip
        self.register_buffer("weight", labelled(new(empty), ("out_features", "in_features")))
        offset = labelled(new(np.zeros(out_features, np.float32)), ("out_features",)) if bias else None
        self.register_buffer("bias", offset)
        self.register_buffer("input_scale", None)
        # Codes are not trained.
        self.eval()

    @classmethod
    def from_float(cls, layer: Linear, codes: QuantizedArray, input_scale: Any, setting: Setting) -> Any:
        """Return the form of a linear layer with these codes for a weight."""
        made = cls(
            layer.in_features, layer.out_features, layer.bias is not None,
            bits=setting.bits, group_size=setting.group, symmetric=setting.symmetric,
        )  # fmt: skip
        made.register_buffer("weight", labelled(new(codes), layer.weight._labels))
        if layer.bias is not None:
            made.register_buffer("bias", layer.bias.detach())
        if input_scale is not None:
            made.register_buffer("input_scale", new(np.asarray(input_scale, np.float32)))
        return made

    def forward(self, x: Any) -> Any:
        """Return (x / d)·Ŵᵀ + b for [any dims, in_features]."""
        if self.input_scale is not None:
            x = x / self.input_scale.to(x.dtype)
        # Codes have no slope, what they stand for has: so a model of codes can be explained.
        if x.dtype is float32 and not (x.requires_grad and dispatch.grad_enabled()):
            operands = (x, self.weight) if self.bias is None else (x, self.weight, self.bias)
            return QUANTIZED_LINEAR_WEIGHT_ONLY(*operands)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, DEQUANTIZE(self.weight).to(x.dtype), bias)

    def extra_repr(self) -> str:
        """Return sizes, bits and groups."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, "
            f"bits={self.setting.bits}, group_size={self.setting.group}"
        )
