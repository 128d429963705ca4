"""Dropout in float32 and bfloat16, drawn slopes in float32; what is dropped is drawn again, by a hash of its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _accepts(x: Any, **params: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == FLOAT32


def _accepts_half(x: Any, **params: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == BFLOAT16


def _accepts_gradient(g: Any, x: Any, **params: Any) -> bool:
    return _accepts(x) and _accepts(g)


if native is not None:
    register(Kernel("dropout", native.dropout, _accepts))
    register(Kernel("dropout", native.bfloat16.dropout, _accepts_half, ("bfloat16",)), half=True)
    register(Kernel("rrelu", native.rrelu, _accepts))
    register(Kernel("rrelu_gradient", native.rrelu_gradient, _accepts_gradient))
