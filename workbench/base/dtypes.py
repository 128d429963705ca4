"""Data types, and what two of them become together.

Promotion follows PyTorch: a type's category (bool < integer < float < complex) decides first. Tensors with
dims outrank 0-dim tensors and Python scalars of the same category.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.errors import DTypeError

__all__ = [
    "DType",
    "as_dtype",
    "bool_",
    "complex64",
    "complex128",
    "dtype_of",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "int8",
    "int16",
    "int32",
    "int64",
    "promote",
    "qint8",
    "qint32",
    "quint8",
    "uint8",
]


@dataclass(frozen=True, eq=False)
class DType:
    """A data type: its name, the NumPy type that stores it, and its category.

    >>> float32.itemsize, float32.is_floating_point, quint8.is_quantized
    (4, True, True)
    """

    name: str
    short: str
    """Short name in pictures and graphs, e.g. ``f32``."""
    numpy: np.dtype[Any]
    quantized: bool = False
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.numpy.kind)

    @property
    def itemsize(self) -> int:
        """Bytes a value."""
        return int(self.numpy.itemsize)

    @property
    def is_floating_point(self) -> bool:
        """True for real floating point types."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """True for complex types."""
        return self.kind == "c"

    @property
    def is_quantized(self) -> bool:
        """True for integer codes that stand for real numbers through a scale and a zero point."""
        return self.quantized

    def __repr__(self) -> str:
        return f"workbench.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


float32 = DType("float32", "f32", np.dtype(np.float32))
float64 = DType("float64", "f64", np.dtype(np.float64))
float16 = DType("float16", "f16", np.dtype(np.float16))
complex64 = DType("complex64", "c64", np.dtype(np.complex64))
complex128 = DType("complex128", "c128", np.dtype(np.complex128))
int64 = DType("int64", "i64", np.dtype(np.int64))
int32 = DType("int32", "i32", np.dtype(np.int32))
int16 = DType("int16", "i16", np.dtype(np.int16))
int8 = DType("int8", "i8", np.dtype(np.int8))
uint8 = DType("uint8", "u8", np.dtype(np.uint8))
bool_ = DType("bool", "bool", np.dtype(np.bool_))
quint8 = DType("quint8", "qu8", np.dtype(np.uint8), quantized=True)
qint8 = DType("qint8", "qi8", np.dtype(np.int8), quantized=True)
qint32 = DType("qint32", "qi32", np.dtype(np.int32), quantized=True)

_ALL = (
    float32, float64, float16, complex64, complex128, int64, int32, int16, int8, uint8, bool_, quint8, qint8, qint32,
)  # fmt: skip
_BY_NAME = {one.name: one for one in _ALL} | {
    "float": float32,
    "double": float64,
    "half": float16,
    "long": int64,
}
_BY_NUMPY = {one.numpy: one for one in _ALL if not one.quantized}
_PYTHON: dict[Any, DType] = {bool: bool_, int: int64, float: float32, complex: complex64}
_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def get_default_dtype() -> DType:
    """Return the type that Python floats become: float32.

    >>> get_default_dtype()
    workbench.float32
    """
    return float32


def as_dtype(spec: Any) -> DType:
    """Return the type called `spec`: a `DType`, its name, a Python type or a NumPy type.

    >>> as_dtype("float64"), as_dtype(int), as_dtype(np.uint8)
    (workbench.float64, workbench.int64, workbench.uint8)
    """
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str) and spec in _BY_NAME:
        return _BY_NAME[spec]
    if isinstance(spec, type) and spec in _PYTHON:
        return _PYTHON[spec]
    try:
        found = _BY_NUMPY.get(np.dtype(spec))
    except TypeError:
        found = None
    if found is None:
        raise DTypeError(
            f"{spec!r} is not a data type of the workbench; it has {', '.join(one.name for one in _ALL)}"
        )
    return found


def dtype_of(array: Any) -> DType:
    """Return the type of an array (or of anything with a NumPy ``dtype``)."""
    dtype = array.dtype
    if isinstance(dtype, DType):
        return dtype
    found = _BY_NUMPY.get(dtype)
    if found is None:
        raise DTypeError(
            f"the workbench has no data type for NumPy's {dtype}; convert it first, e.g. array.astype('f4')"
        )
    return found


def promote(operands: tuple[tuple[np.dtype[Any], int] | bool | int | float | complex, ...]) -> np.dtype[Any]:
    """Return the type that `operands` become together.

    An operand is a pair of NumPy type and number of dims, or a Python scalar. Among operands of the highest
    category those with dims decide, then 0-dim ones, then Python scalars (int64, float32, complex64).

    >>> promote(((np.dtype("i8"), 1), (np.dtype("f4"), 1))), promote(((np.dtype("f4"), 1), 2.5))
    (dtype('float32'), dtype('float32'))
    """
    ranks: list[np.dtype[Any] | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, tuple):
            dtype, rank = operand[0], (0 if operand[1] else 1)
        else:
            dtype, rank = as_dtype(type(operand)).numpy, 2
        before = ranks[rank]
        ranks[rank] = dtype if before is None else _together(before, dtype)
    result: np.dtype[Any] | None = None
    for one in ranks:
        if one is not None:
            higher = result is not None and _CATEGORY[one.kind] > _CATEGORY[result.kind]
            result = one if result is None else _lift(result, one) if higher else result
    if result is None:
        raise DTypeError("nothing to promote")
    return result


def _lift(strong: np.dtype[Any], weak: np.dtype[Any]) -> np.dtype[Any]:
    """A weaker operand of a higher category: its category, with the width of the stronger where it has one."""
    if weak.kind == "c" and strong.kind == "f":
        return np.dtype(np.complex128) if strong.itemsize == 8 else np.dtype(np.complex64)
    return weak


def _together(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """What two types of equal rank become; unlike NumPy an integer never widens a float."""
    if a == b:
        return a
    if a.kind in "fc" and b.kind in "biu":
        return a
    if b.kind in "fc" and a.kind in "biu":
        return b
    return np.promote_types(a, b)
