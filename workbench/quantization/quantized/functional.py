"""Functions on quantized tensors, which are told what their results are coded by: ``ao.nn.quantized.functional``.

Beside those, the ops of ``torch.ops.quantized`` on two tensors, on a tensor and a number, and for layers that quantize
what comes to them.
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.ops.quantized.activations import (
    elu,
    gelu,
    group_norm,
    hardswish,
    instance_norm,
    layer_norm,
    leaky_relu,
    mish,
    rms_norm,
    silu,
    softmax,
)
from workbench.ops.quantized.arithmetic import (
    add,
    add_relu,
    add_scalar,
    add_scalar_relu,
    cat,
    matmul,
    mul,
    mul_relu,
    mul_scalar,
    mul_scalar_relu,
)
from workbench.ops.quantized.convolution import conv1d, conv2d, conv3d
from workbench.ops.quantized.dynamic import linear_dynamic
from workbench.ops.quantized.linear import linear
from workbench.ops.quantized.transposed import conv_transpose1d, conv_transpose2d, conv_transpose3d
from workbench.ops.quantized.weight_only import linear_weight_only

__all__ = [
    "add", "add_relu", "add_scalar", "add_scalar_relu", "cat", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "elu", "gelu", "group_norm", "hardswish", "instance_norm", "layer_norm",
    "leaky_relu", "linear", "linear_dynamic", "linear_weight_only", "matmul", "mish", "mul", "mul_relu", "mul_scalar",
    "mul_scalar_relu", "rms_norm", "silu", "softmax",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)
