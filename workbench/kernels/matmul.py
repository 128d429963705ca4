"""Matrix products on the threads of the other kernels: of floats in the way that is fastest here, of doubles our own.

Those of bfloat16 are computed as they are where the processor has instructions for it.

NumPy's BLAS has threads of its own, which wait by spinning, and so do OpenMP's: when the two alternate, as layers do,
each product costs a time slice of the operating system more. So products that are worth threads come here. Which way
floats go is measured once for each class of shapes (``product_choice.cpp``) and kept for later processes
(`kept_choices`). `SETTING` fixes it, and so does `fix_products`.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.kernels import kept_choices
from workbench.kernels._arrays import FLOAT32
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.processor import multiplies_bfloat16
from workbench.kernels.registry import Kernel, register
from workbench.kernels.threads import after_set_num_threads, get_num_threads

__all__ = ["SETTING", "fix_products", "measured_products"]

SETTING = "WORKBENCH_PRODUCTS"
"""Environment variable: ``measure``, or the way that all larger products of floats go: ``gemm``, ``made``, ``packed``,
``own``; those of doubles are our own then."""

_SMALLEST = 1024
"""Number of elements of the larger operand below which NumPy's call is cheaper."""
FLOAT64 = np.dtype(np.float64)


def _measured_doubles() -> str:
    """Return whose products of doubles are faster here; NumPy's BLAS has to be so clearly. Takes some milliseconds."""
    a = np.full((192, 192), 0.5)
    ours = theirs = float("inf")
    # In turn: what else the machine does for a while meets both.
    for _ in range(6):
        start = time.perf_counter()
        native.matmul(a, a)
        between = time.perf_counter()
        np.matmul(a, a)
        ours = min(ours, between - start)
        theirs = min(theirs, time.perf_counter() - between)
    return "own" if ours <= 1.07 * theirs else "BLAS"


@lru_cache(maxsize=1)
def _own_doubles() -> bool:
    """Say whether products of doubles are computed by our own kernel, or by NumPy's BLAS."""
    if native.products_are_fixed():
        return True
    count = get_num_threads()
    product = f"float64, {count} thread{'s' * (count > 1)}"
    found = kept_choices.known(product)
    if found not in ("own", "BLAS"):
        found = kept_choices.settle(product, _measured_doubles())
    return found != "BLAS"


def fix_products(fixed: bool) -> None:
    """Have products go a way that no measurement decides, or again the one that was measured."""
    if native is not None:
        native.measure_products(not fixed)
        _own_doubles.cache_clear()


def _taken(left: Any, right: Any) -> bool:
    return bool(
        left.dtype == FLOAT32 == right.dtype or (left.dtype == FLOAT64 == right.dtype and _own_doubles())
    )


def _accepts_matmul(left: Any, right: Any) -> bool:
    return (
        type(left) is np.ndarray
        and type(right) is np.ndarray
        and left.ndim >= 2
        and right.ndim >= 2
        and (left.size >= _SMALLEST or right.size >= _SMALLEST)
        and _taken(left, right)
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
        and _taken(x, weight)
        and (bias is None or (type(bias) is np.ndarray and bias.dtype == x.dtype))
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


_TYPICAL = ((1024, 1024, 1024), (128, 784, 512), (4096, 768, 768))


def measured_products() -> dict[str, str]:
    """Return how products of some typical sizes, and of all that came up before, are computed in this process."""
    if native is None:
        return {}
    for rows, inner, columns in _TYPICAL:
        native.matmul(np.ones((rows, inner), np.float32), np.ones((inner, columns), np.float32))
    found = dict(native.chosen_products())
    found["float64"] = "own" if _own_doubles() else "BLAS"
    return found


if native is not None:
    native.keep_products(kept_choices)
    after_set_num_threads.append(_own_doubles.cache_clear)
    register(Kernel("matmul", native.matmul, _accepts_matmul, needs=("float32 or float64",), least=_SMALLEST))
    register(Kernel("linear", _linear, _accepts_linear, needs=("float32 or float64",), least=_SMALLEST))
    register(Kernel("matmul", native.bfloat16.matmul, _accepts_half_matmul, _NEEDS), half=True)
    register(Kernel("linear", _half_linear, _accepts_half_linear, _NEEDS), half=True)
