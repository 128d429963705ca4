"""Layers on codes: what `convert` puts in the place of floating point layers."""

from __future__ import annotations

from workbench.base.public import words
from workbench.nn import Flatten
from workbench.quantization.quantized import functional
from workbench.quantization.quantized.attention import MultiheadAttention
from workbench.quantization.quantized.boundary import DeQuantize, Quantize
from workbench.quantization.quantized.computed import (
    ELU,
    GELU,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    Hardswish,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LeakyReLU,
    PReLU,
    Sigmoid,
    SiLU,
    Softmax,
)
from workbench.quantization.quantized.convolutions import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    ConvReLUMaxPool2d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from workbench.quantization.quantized.embedding import Embedding, EmbeddingBag
from workbench.quantization.quantized.functional_modules import (
    FloatFunctional,
    FXFloatFunctional,
    QFunction,
    QFunctional,
)
from workbench.quantization.quantized.layers import (
    Linear,
    LinearReLU,
    MaxPool2d,
    quantize_weight,
)
from workbench.quantization.quantized.passing import Dropout, ReLU6
from workbench.quantization.quantized.recurrent import LSTM

__all__ = [
    "ELU", "GELU", "LSTM", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvReLU1d", "ConvReLU2d",
    "ConvReLU3d", "ConvReLUMaxPool2d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "DeQuantize", "Dropout",
    "Embedding", "EmbeddingBag", "FXFloatFunctional", "Flatten", "FloatFunctional", "GroupNorm", "Hardswish",
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "LinearReLU", "MaxPool2d",
    "MultiheadAttention", "PReLU", "QFunction", "QFunctional", "Quantize", "ReLU6", "SiLU", "Sigmoid", "Softmax",
    "functional", "quantize_weight",
]  # fmt: skip

PYTORCH_FILES = ("modules",)


__getattr__, __dir__ = words(
    __name__,
    __all__,
    files=PYTORCH_FILES,
    later={
        "dynamic": "workbench.quantization.quantized.dynamic",
        "reference": "workbench.quantization.quantized.reference",
    },
)
