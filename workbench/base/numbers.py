"""Python's numbers in a tensor's type: checked, since a wrong one would silently be another number."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from workbench.base.dtypes import dtype_of
from workbench.base.errors import DTypeError
from workbench.base.symbolic_size import SymbolicFloat

__all__ = ["check_range", "fitted", "number", "wrapped"]


def number(op: str, value: Any) -> Any:
    """Return `value` as a number of Python's; refuse what is none, such as None and text.

    >>> number("fill_", np.float32(0.5))
    0.5
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    # What counts as a whole number does so by __index__: a size of a traced function is one.
    plain = isinstance(value, int | float | complex | SymbolicFloat)
    if not plain and not hasattr(value, "__index__"):
        raise TypeError(f"{op}: a value must be a number, not {type(value).__name__}: got {value!r}")
    return value


def fitted(op: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as a tensor of type `dtype` holds it; refuse one that the type has not.

    Fractions are dropped where the type is an integer, infinities and NaN go into floating types only, and -1 to -255
    are 255 to 1 as uint8, as in PyTorch. Raises TypeError for what is no number, `DTypeError` for one out of range.

    >>> fitted("full", 2.5, np.dtype(np.uint8)), fitted("full", -1, np.dtype(np.uint8))
    (2, 255)
    >>> fitted("full", 300, np.dtype(np.uint8))
    Traceback (most recent call last):
    workbench.base.errors.DTypeError: full: value 300 cannot be converted to type uint8 without overflow: ...
    """
    value = number(op, value)
    kind = dtype.kind
    if isinstance(value, SymbolicFloat) and kind in "biu":
        value = value.fix()  # what is left of it without its fraction is no formula
    if not isinstance(value, int | float | complex):
        return value
    if kind == "c":
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        for one in (value.real, value.imag):
            fitted(op, float(one), part)
        return value
    if kind == "b":
        return bool(value)
    if isinstance(value, complex):
        if value.imag:
            raise DTypeError(
                f"{op}: a complex value cannot be put into a tensor of type {dtype}: {value} has an imaginary part. "
                "Write its .real, or make the tensor complex first"
            )
        value = value.real
    if getattr(dtype, "quantized", False):
        return float(value)  # rounded to the codes by who writes it
    if kind not in "iu":
        # NumPy's own finfo does not know bfloat16.
        largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        if (math.isfinite(value) if isinstance(value, float) else True) and not -largest <= value <= largest:
            raise _overflow(op, value, dtype, -largest, largest)
        return value
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    lowest = -high if kind == "u" and isinstance(value, int) else low
    if not lowest <= value <= high:  # neither is NaN within
        raise _overflow(op, value, dtype, low, high)
    return int(value) % (high + 1) if kind == "u" else int(value)


def check_range(op: str, array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    """Refuse an array, read from Python's numbers, of which one has no place in a tensor of type `dtype`."""
    if array.dtype.kind == "c" and dtype.kind not in "bc":
        raise DTypeError(f"{op}: must be real numbers for type {dtype}, not complex: write their .real")
    if dtype.kind not in "iu" or array.dtype.kind not in "iuf" or not array.size:
        return
    with np.errstate(invalid="ignore"):
        least, most = array.min(), array.max()
    for one in (least.item(), most.item()):
        fitted(op, one, dtype)


def wrapped(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a whole number beside a tensor of integers as one of their type: what is too large starts again.

    >>> wrapped(300, np.dtype(np.uint8)), wrapped(-1, np.dtype(np.uint8)), wrapped(200, np.dtype(np.int8))
    (44, 255, -56)
    """
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


def _overflow(op: str, value: Any, dtype: np.dtype[Any], low: Any, high: Any) -> DTypeError:
    name = dtype_of(np.empty(0, dtype)).name
    return DTypeError(
        f"{op}: value {value} cannot be converted to type {name} without overflow: it holds {low} to {high}"
    )
