"""Workbench: named tensors, gradients, quantization and live views, in one notebook.

>>> import workbench as wb
>>> images = wb.zeros(N=2, C=1, H=28, W=28)
>>> images.mean(["C", "H", "W"]).names
('N',)
"""

from __future__ import annotations

from typing import Any

from workbench import autograd, data, models, nn, optim
from workbench.base.dtypes import (
    DType,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint32,
    quint8,
    uint8,
)
from workbench.base.dtypes import bool_ as bool
from workbench.base.errors import (
    AutogradError,
    DimensionError,
    DimensionIndexError,
    DTypeError,
    NoNumbersError,
    QuantizationError,
)
from workbench.base.random import Generator, default_generator, manual_seed
from workbench.core.dispatch import enable_grad, grad_enabled, no_grad
from workbench.ops import FUNCTIONS as _FUNCTIONS
from workbench.tensor import Tensor
from workbench.tensor.factories import (
    arange,
    empty,
    eye,
    from_numpy,
    full,
    linspace,
    ones,
    ones_like,
    rand,
    randint,
    randn,
    randperm,
    tensor,
    zeros,
    zeros_like,
)

globals().update(_FUNCTIONS)
