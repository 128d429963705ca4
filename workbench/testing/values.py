"""Samples as tensors, and how numbers are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.quantized_array import QuantizedArray
from workbench.base.sparse_array import SparseArray
from workbench.core.op import Sample
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor

__all__ = ["PRECISE", "assert_close", "expect", "inputs_of", "same_numbers", "several"]

PRECISE = ("float64", "complex128")
"""The types in which slopes are compared with differences."""


def assert_close(actual: Any, expected: Any, rtol: float = 1.3e-6, atol: float = 1e-5) -> None:
    """Raise AssertionError unless values agree within ``atol + rtol·|expected|`` and have one shape; NaN equals NaN.

    >>> assert_close(tensor([1.0]), [1.0])
    """
    a, b = (_numbers(one) for one in (actual, expected))
    assert a.shape == b.shape, f"shapes differ: {a.shape} and {b.shape}"
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


def _numbers(one: Any) -> np.ndarray[Any, Any]:
    payload = one.payload if isinstance(one, Tensor) else one
    if isinstance(payload, QuantizedArray):
        return payload.dequantize()
    if isinstance(payload, SparseArray):
        return payload.dense()
    return np.asarray(one.detach() if isinstance(one, Tensor) else one)


def inputs_of(sample: Sample, requires_grad: bool = False) -> tuple[Any, ...]:
    """Return the inputs of a sample as named tensors; Python scalars stay."""
    result = []
    for i, one in enumerate(sample.inputs):
        if not isinstance(one, np.ndarray | QuantizedArray | SparseArray):
            result.append(one)
            continue
        names = sample.names[i] if sample.names is not None else None
        value = tensor(0.0)
        # By its payload, since an input may be codes.
        value.payload = one
        value.names = names
        differentiable = requires_grad and one.dtype.kind == "f"
        result.append(value.requires_grad_() if differentiable else value)
    return tuple(result)


def several(result: Any) -> tuple[Any, ...]:
    """Return what a call gave as a tuple."""
    return result if isinstance(result, tuple) else (result,)


def same_numbers(a: Any, b: Any) -> bool:
    """Say whether two arrays are alike to the last bit."""
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def expect(condition: bool, message: str) -> None:
    """Raise AssertionError with `message` unless `condition` holds."""
    if not condition:
        raise AssertionError(message)
