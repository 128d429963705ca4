"""Sorting, the first few, and running sums along any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_ORDERED = tuple(np.dtype(name) for name in ("float32", "float64", "int64", "int32"))
# Without int32, whose sums are int64 in PyTorch.
_SUMMED = _ORDERED[:3]
_NEEDS = ("float32, float64, int64 or int32",)


def _fits(x: Any, dim: int) -> bool:
    return type(x) is np.ndarray and x.size > 0 and 0 <= dim < x.ndim


def _accepts_sort(x: Any, *, dim: int, descending: bool) -> bool:
    return _fits(x, dim) and x.dtype in _ORDERED


def _accepts_topk(x: Any, *, k: int, dim: int, largest: bool) -> bool:
    return _fits(x, dim) and x.dtype in _ORDERED and 0 <= k <= x.shape[dim]


def _accepts_cumsum(x: Any, *, dim: int) -> bool:
    return _fits(x, dim) and x.dtype in _SUMMED


if native is not None:
    register(Kernel("sort", native.sort, _accepts_sort, _NEEDS))
    register(Kernel("topk", native.topk, _accepts_topk, _NEEDS))
    register(Kernel("cumsum", native.cumsum, _accepts_cumsum, ("float32, float64 or int64",)))
