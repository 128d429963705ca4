"""Matrix products in float32, and in bfloat16 where the processor has such, on the threads of the other kernels.

NumPy's BLAS is as fast on its own, but its threads wait by spinning, and so do OpenMP's: when the two alternate, as
layers do, each product costs a time slice of the operating system more. So products that are worth threads come here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.processor import multiplies_bfloat16
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_SMALLEST = 1024
"""Number of elements of the larger operand below which NumPy's call is cheaper."""


def _accepts_matmul(left: Any, right: Any) -> bool:
    return (
        type(left) is np.ndarray
        and type(right) is np.ndarray
        and left.ndim >= 2
        and right.ndim >= 2
        and (left.size >= _SMALLEST or right.size >= _SMALLEST)
        and left.dtype == FLOAT32
        and right.dtype == FLOAT32
        and (
            left.ndim == right.ndim == 2 or left.shape[-2] * left.shape[-1] * right.shape[-1] >= _WORTH_A_CALL
        )
    )


_WORTH_A_CALL = 16384
"""Products in a matrix of a batch below which NumPy's loop over the batch is cheaper."""


def _accepts_linear(x: Any, weight: Any, bias: Any = None, **params: Any) -> bool:
    return (
        type(x) is np.ndarray
        and type(weight) is np.ndarray
        and x.ndim >= 1
        and weight.ndim == 2
        and (x.size >= _SMALLEST or weight.size >= _SMALLEST)
        and x.dtype == FLOAT32
        and weight.dtype == FLOAT32
        and (bias is None or (type(bias) is np.ndarray and bias.dtype == FLOAT32))
    )


_WORTH_A_PRIMITIVE = 1 << 19
"""Multiplications in bfloat16 below which float32 is cheaper, casts included: nothing is made for its sizes."""


def _are_halves(*arrays: Any) -> bool:
    return all(type(one) is np.ndarray and one.dtype == BFLOAT16 for one in arrays)


def _accepts_half_matmul(left: Any, right: Any) -> bool:
    return (
        _are_halves(left, right)
        and left.ndim >= 2
        and right.ndim >= 2
        and max(left.size * right.shape[-1], right.size * left.shape[-2]) >= _WORTH_A_PRIMITIVE
        and multiplies_bfloat16()
    )


def _accepts_half_linear(x: Any, weight: Any, bias: Any = None, **params: Any) -> bool:
    return (
        _are_halves(x, weight)
        and x.ndim >= 1
        and weight.ndim == 2
        and (bias is None or (_are_halves(bias) and bias.shape == weight.shape[:1]))
        and x.size * weight.shape[0] >= _WORTH_A_PRIMITIVE
        and multiplies_bfloat16()
    )


def _linear(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    return native.linear(x, weight, bias, **params)


def _half_linear(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    return native.bfloat16.linear(x, weight, bias, **params)


_NEEDS = ("bfloat16", "AVX512-BF16 or AMX")


if native is not None:
    register(Kernel("matmul", native.matmul, _accepts_matmul, least=_SMALLEST))
    register(Kernel("linear", _linear, _accepts_linear, least=_SMALLEST))
    register(Kernel("matmul", native.bfloat16.matmul, _accepts_half_matmul, _NEEDS), half=True)
    register(Kernel("linear", _half_linear, _accepts_half_linear, _NEEDS), half=True)
