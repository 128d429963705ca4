"""Libraries that compute, in PyTorch's words, and `backends()`, which says what devices there are besides the CPU.

What a program sets here is kept and can be read again. It changes nothing where there is no such library: results are
the same with or without ``cudnn.benchmark``, and computing is deterministic anyway.

>>> import workbench as wb
>>> wb.backends.cudnn.benchmark = True
>>> wb.backends.mps.is_available()
False
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from workbench.backends import (
    cpu,
    cuda,
    cudnn,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)
from workbench.base.module_types import CallableModule
from workbench.base.public import words
from workbench.core import backend

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "xnnpack",
]


def __call__() -> Mapping[str, str]:
    return backend.backends()


__call__.__doc__ = backend.backends.__doc__

sys.modules[__name__].__class__ = CallableModule

__getattr__, __dir__ = words(__name__, __all__)
