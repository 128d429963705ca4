"""Facts of values and types: what is a tensor, what two become together, how far a type reaches."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from workbench.base.dtypes import DType, as_dtype, dtype_of, float32, float64, get_default_dtype, promote
from workbench.base.errors import DTypeError
from workbench.core.value import Value, dims_of
from workbench.tensor.tensor import Tensor

__all__ = ["FloatInfo", "IntegerInfo", "finfo", "iinfo", "is_tensor", "numel", "result_type"]


def is_tensor(obj: object) -> bool:
    """Say whether `obj` is a tensor.

    >>> is_tensor([1, 2])
    False
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """Return the number of values.

    >>> import workbench as wb
    >>> numel(wb.zeros(2, 3))
    6
    """
    return dims_of(input).numel


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """Return the type that arithmetic on two operands has: tensors or Python numbers.

    Tensors with dims outrank those without, and these outrank numbers, within a category.

    >>> import workbench as wb
    >>> result_type(wb.tensor([1, 2], dtype=wb.int32), 1.0), result_type(wb.ones(2, dtype=wb.float16), wb.tensor(2.0))
    (workbench.float32, workbench.float16)
    """
    return as_dtype(promote((_operand(tensor1), _operand(tensor2))))


def _operand(one: Any) -> Any:
    if isinstance(one, Value):
        dtype = dtype_of(one.payload)
        if dtype.is_quantized:
            raise DTypeError(
                f"result_type: {dtype.name} are codes, which have no type in common with others: call .dequantize() "
                "first"
            )
        # With its rank: a tensor without dims counts less in a promotion.
        return dtype.numpy, len(one.payload.shape)
    if not isinstance(one, bool | int | float | complex):
        raise TypeError(f"result_type: give tensors or numbers, got {type(one).__name__}")
    return one


@dataclass(frozen=True)
class FloatInfo:
    """How far and how finely a floating point type reaches."""

    resolution: float
    """The power of ten that two decimal fractions of neighbouring numbers differ by."""
    min: float
    max: float
    eps: float
    """Distance from 1 to the next larger number."""
    smallest_normal: float
    tiny: float
    """The same as `smallest_normal`."""
    bits: int
    dtype: str

    def __repr__(self) -> str:
        shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        values = ", ".join(f"{name}={getattr(self, name):g}" for name in shown)
        return f"finfo({values}, dtype={self.dtype})"


@dataclass(frozen=True)
class IntegerInfo:
    """How far an integer type reaches."""

    min: int
    max: int
    bits: int
    dtype: str

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def finfo(type: Any = None) -> FloatInfo:
    """Return the limits of a floating point type; of a complex one, those of its parts.

    >>> finfo("float32").eps, finfo("bfloat16").max
    (1.1920928955078125e-07, 3.3895313892515355e+38)
    """
    found = get_default_dtype() if type is None else as_dtype(type)
    if found.is_complex:
        # As in PyTorch, a complex type has the limits of its parts.
        found = float32 if found.itemsize == 8 else float64
    if not found.is_floating_point:
        raise TypeError(
            f"finfo() requires a floating point input type, got {found.name}: iinfo() is for integers"
        )
    return _limits(found)


@functools.cache
def _limits(found: Any) -> FloatInfo:
    # It knows NumPy's floats too, where NumPy's does not know bfloat16.
    info: Any = ml_dtypes.finfo(found.numpy)  # type: ignore[no-untyped-call]
    least = float(info.smallest_normal)
    return FloatInfo(
        resolution=float(f"{float(info.resolution):.0e}"),
        min=float(info.min),
        max=float(info.max),
        eps=float(info.eps),
        smallest_normal=least,
        tiny=least,
        bits=int(info.bits),
        dtype=found.name,
    )


def iinfo(type: Any) -> IntegerInfo:
    """Return the limits of an integer type, or of the codes of a quantized one.

    >>> iinfo("int8").min, iinfo("uint8").max
    (-128, 255)
    """
    found = as_dtype(type)
    if found.kind not in "iu":
        raise TypeError(f"iinfo() requires an integer input type, got {found.name}: finfo() is for floats")
    info = np.iinfo(found.numpy)
    return IntegerInfo(int(info.min), int(info.max), int(info.bits), found.name)
