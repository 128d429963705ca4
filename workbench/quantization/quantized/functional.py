"""Functions on quantized tensors, which are told what their results are coded by: ``ao.nn.quantized.functional``."""

from __future__ import annotations

from workbench.base.public import words
from workbench.ops.quantized.convolution import conv1d, conv2d, conv3d
from workbench.ops.quantized.dynamic import linear_dynamic
from workbench.ops.quantized.linear import linear
from workbench.ops.quantized.transposed import conv_transpose1d, conv_transpose2d, conv_transpose3d
from workbench.ops.quantized.weight_only import linear_weight_only

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear",
    "linear_dynamic", "linear_weight_only",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
