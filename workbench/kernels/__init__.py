"""Compiled kernels: NumPy arrays in, NumPy arrays out; nothing here knows of tensors or ops.

`lookup` gives the kernel for an op by name. Where the compiled module is missing or switched off
(`available`, `reason`) it gives None, and the plain NumPy code of the ops runs: the same numbers, slower.
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.kernels import (  # noqa: F401  they register themselves
    attention,
    casts,
    codes,
    components,
    dropout,
    elementwise,
    index,
    losses,
    matmul,
    neighbours,
    normalization,
    one_dimensional,
    optimizers,
    parametric_elementwise,
    pool,
    recurrent,
    reduce,
    softmax,
    sorting,
    statistics,
)
from workbench.kernels.casts import cast
from workbench.kernels.convolution import PackedConv2d, pack_conv2d
from workbench.kernels.describe import info
from workbench.kernels.loader import available, reason
from workbench.kernels.memory import most_bytes, pooled_bytes, release_memory
from workbench.kernels.quantized import PackedNibbleLinear, PackedQuantizedConv2d, PackedQuantizedLinear
from workbench.kernels.registry import Kernel, half_names, lookup, lookup_half, names
from workbench.kernels.threads import get_num_threads, set_num_threads

__all__ = [
    "Kernel",
    "PackedConv2d",
    "PackedNibbleLinear",
    "PackedQuantizedConv2d",
    "PackedQuantizedLinear",
    "available",
    "cast",
    "get_num_threads",
    "half_names",
    "info",
    "lookup",
    "lookup_half",
    "names",
    "pack_conv2d",
    "pooled_bytes",
    "reason",
    "most_bytes",
    "release_memory",
    "set_num_threads",
]

__getattr__, __dir__ = words(__name__, __all__)
