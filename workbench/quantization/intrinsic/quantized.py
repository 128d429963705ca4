"""Fused layers on codes."""

from __future__ import annotations

from workbench.base.public import words
from workbench.quantization.quantized.computed import BNReLU2d, BNReLU3d
from workbench.quantization.quantized.convolutions import ConvReLU1d, ConvReLU2d, ConvReLU3d
from workbench.quantization.quantized.joined import ConvAdd2d, ConvAddReLU2d, LinearLeakyReLU, LinearTanh
from workbench.quantization.quantized.layers import LinearReLU

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearLeakyReLU",
    "LinearReLU", "LinearTanh",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__, later={"dynamic": "workbench.quantization.quantized.dynamic"})
