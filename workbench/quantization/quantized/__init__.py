"""Layers on codes: what `convert` puts in the place of floating point layers."""

from __future__ import annotations

from workbench.base.public import words
from workbench.nn import Flatten
from workbench.quantization.quantized import functional
from workbench.quantization.quantized.boundary import DeQuantize, Quantize
from workbench.quantization.quantized.layers import (
    Conv2d,
    ConvReLU2d,
    ConvReLUMaxPool2d,
    Linear,
    LinearReLU,
    MaxPool2d,
    quantize_weight,
)

__all__ = [
    "Conv2d",
    "ConvReLU2d",
    "ConvReLUMaxPool2d",
    "DeQuantize",
    "Flatten",
    "Linear",
    "LinearReLU",
    "MaxPool2d",
    "Quantize",
    "functional",
    "quantize_weight",
]

__getattr__, __dir__ = words(__name__, __all__)
