"""Data types, and what two of them become together.

Promotion follows PyTorch: a type's category (bool < integer < float < complex) decides first. Tensors with
dims outrank 0-dim tensors and Python scalars of the same category.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from workbench.base.errors import DTypeError

__all__ = [
    "DIFFERENTIABLE",
    "TYPE_WORDS",
    "DType",
    "as_dtype",
    "as_numbers",
    "as_places",
    "bfloat16",
    "bool_",
    "complex64",
    "complex128",
    "can_cast",
    "dtype_of",
    "float16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "get_default_dtype",
    "half_width",
    "is_dtype",
    "number_dtype",
    "plain_dtype",
    "int8",
    "int16",
    "int32",
    "int64",
    "promote",
    "promote_types",
    "qint8",
    "qint32",
    "quint2x4",
    "quint4x2",
    "quint8",
    "set_default_dtype",
    "uint8",
]

DIFFERENTIABLE = "fcV"
"""Kinds of NumPy types that have gradients: floats, complex numbers, and bfloat16, which NumPy calls void."""


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
    bits: int = field(default=0)
    """Bits a value: fewer than 8 where several share a byte. By default what the NumPy type takes."""
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        # Codes are no whole numbers: what asks for such is not given them.
        object.__setattr__(self, "kind", "q" if self.quantized else self.numpy.kind)
        if not self.bits:
            object.__setattr__(self, "bits", 8 * self.numpy.itemsize)

    @property
    def itemsize(self) -> int:
        """Bytes a value."""
        return int(self.numpy.itemsize)

    @property
    def is_floating_point(self) -> bool:
        """True for real floating point types."""
        return self.kind in "fV"

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
        # By name, so that what is unpickled is the same object: types are compared by identity.
        return as_dtype, (self.name,)


float32 = DType("float32", "f32", np.dtype(np.float32))
float64 = DType("float64", "f64", np.dtype(np.float64))
float16 = DType("float16", "f16", np.dtype(np.float16))
bfloat16 = DType("bfloat16", "bf16", np.dtype(ml_dtypes.bfloat16))
"""The upper half of a float32: its range, with 8 bits of precision. Stored so; arithmetic is done in float32."""
float8_e4m3fn = DType("float8_e4m3fn", "f8e4m3", np.dtype(ml_dtypes.float8_e4m3fn))
"""8 bits with 3 of a fraction, without infinities. Stored so, and computed with in no op: see `narrowest`."""
float8_e5m2 = DType("float8_e5m2", "f8e5m2", np.dtype(ml_dtypes.float8_e5m2))
"""8 bits with 2 of a fraction: the upper half of a float16."""
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
quint4x2 = DType("quint4x2", "qu4", np.dtype(np.uint8), quantized=True, bits=4)
"""Codes of 4 bits, two in a byte."""
quint2x4 = DType("quint2x4", "qu2", np.dtype(np.uint8), quantized=True, bits=2)
"""Codes of 2 bits, four in a byte."""

_ALL = (
    float32, float64, float16, bfloat16, float8_e4m3fn, float8_e5m2, complex64, complex128,
    int64, int32, int16, int8, uint8, bool_, quint8, qint8, qint32, quint4x2, quint2x4,
)  # fmt: skip
TYPE_WORDS: dict[str, str] = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool", "quint8": "QUInt8", "qint8": "QInt8", "qint32": "QInt32", "quint4x2": "QUInt4x2",
    "quint2x4": "QUInt2x4", "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
}  # fmt: skip
"""What PyTorch's older types of tensors are called: ``FloatTensor``, without the second word."""
_BY_NAME = {one.name: one for one in _ALL} | {
    "float": float32,
    "double": float64,
    "half": float16,
    "long": int64,
    "int": int32,
    "short": int16,
    "cfloat": complex64,
    "cdouble": complex128,
}
# Codes lie in memory as plain integers: NumPy's type does not say that they are codes.
_BY_NUMPY = {one.numpy: one for one in _ALL if not one.quantized}
_PYTHON: dict[Any, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}
"""What Python's own types ask for where a type is given: their width, as in NumPy and PyTorch."""
_NUMBERS: dict[Any, DType] = {bool: bool_, int: int64, float: float32, complex: complex64}
"""What Python's numbers become: `set_default_dtype` says it of floats and complex numbers."""
# To NumPy bfloat16 is a type of raw bytes, of the kind V.
_CATEGORY = {"b": 0, "u": 1, "i": 1, "q": 1, "f": 2, "V": 2, "c": 3}
_HALVES = frozenset({float16.numpy, bfloat16.numpy})
_NARROWEST = frozenset({float8_e4m3fn.numpy, float8_e5m2.numpy})


def narrowest(dtype: np.dtype[Any]) -> bool:
    """Say whether `dtype` is an 8-bit float, which values are stored in and moved in, and computed in by no op."""
    return dtype in _NARROWEST


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array cast to `dtype`; what is beyond float8_e4m3fn, which has no infinity, becomes its largest.

    >>> converted(np.array([500.0, -1.3], np.float32), float8_e4m3fn.numpy).tolist()
    [448.0, -1.25]
    """
    if dtype == float8_e4m3fn.numpy and array.dtype != dtype:
        # As in PyTorch: infinite values as well, and NaN stays.
        return np.clip(np.asarray(array, np.float32), np.float32(-448), np.float32(448)).astype(dtype)
    return array.astype(dtype)


def half_width(dtype: np.dtype[Any]) -> bool:
    """Say whether `dtype` is a 16-bit float, on which arithmetic is done in float32."""
    return dtype in _HALVES


def get_default_dtype() -> DType:
    """Return the type that Python floats become: float32 unless `set_default_dtype` said otherwise.

    >>> get_default_dtype()
    workbench.float32
    """
    return _NUMBERS[float]


def set_default_dtype(dtype: Any) -> None:
    """Set the type that Python floats become, and with it the complex type of the same precision.

    Raises `DTypeError` unless it is a real floating point type.

    >>> set_default_dtype(float64)
    >>> get_default_dtype()
    workbench.float64
    >>> set_default_dtype(float32)
    """
    found = as_dtype(dtype)
    if not found.is_floating_point or narrowest(found.numpy):
        raise DTypeError(f"only floating-point types are supported as the default type, got {found.name}")
    _NUMBERS[float] = found
    _NUMBERS[complex] = complex128 if found is float64 else complex64


def promote_types(type1: Any, type2: Any) -> DType:
    """Return the smallest type that both become, by category and then by width.

    >>> promote_types("int32", "float16"), promote_types("uint8", "int8"), promote_types("bfloat16", "float16")
    (workbench.float16, workbench.int16, workbench.float32)
    """
    one, two = as_dtype(type1), as_dtype(type2)
    if one is two:
        return one
    _refuse_codes(one, two)
    return _BY_NUMPY[_together(one.numpy, two.numpy)]


def _refuse_codes(a: Any, b: Any) -> None:
    """Raise `DTypeError` where one of two types that are brought together has codes."""
    if any(getattr(one, "quantized", False) for one in (a, b)):
        raise DTypeError(
            f"{a.name} and {b.name} have no type in common: call .dequantize() on what is in codes"
        )


def can_cast(from_: Any, to: Any) -> bool:
    """Say whether results of type `from_` may be written into a tensor of type `to`: never to a lower category.

    >>> can_cast("float64", "float32"), can_cast("float32", "int64"), can_cast("int64", "uint8")
    (True, False, True)
    """
    a, b = as_dtype(from_), as_dtype(to)
    # PyTorch asks for kinds alone: float64 may become float16, and no float an integer.
    return _CATEGORY[a.kind] <= _CATEGORY[b.kind]


def as_dtype(spec: Any) -> DType:
    """Return the type called `spec`: a `DType`, its name, a Python type or a NumPy type.

    ``float`` is float64, whatever Python's floats become: that is `number_dtype`.

    >>> as_dtype("float64"), as_dtype(int), as_dtype(float), as_dtype(np.uint8)
    (workbench.float64, workbench.int64, workbench.float64, workbench.uint8)
    """
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, np.dtype) and (known := _BY_NUMPY.get(spec)) is not None:
        return known
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


def plain_dtype(spec: Any) -> DType:
    """Return the type called `spec` of numbers that stand for themselves.

    Raises `DTypeError` for types of codes, which stand for nothing without a scale and a zero point.

    >>> plain_dtype("float64"), plain_dtype(int)
    (workbench.float64, workbench.int64)
    """
    found = as_dtype(spec)
    if found.quantized:
        raise DTypeError(
            f"{found.name} are codes, which stand for numbers by a scale and a zero point: quantize_per_tensor and "
            f"quantize_per_channel make them of float32; plain whole numbers are {found.numpy}"
        )
    return found


def number_dtype(kind: type) -> DType:
    """Return what Python's numbers of a type become: floats the default type, see `set_default_dtype`.

    >>> number_dtype(float), number_dtype(complex), number_dtype(int)
    (workbench.float32, workbench.complex64, workbench.int64)
    """
    return _NUMBERS.get(kind) or as_dtype(kind)


def is_dtype(name: str) -> bool:
    """Say whether `name` is the name of a data type.

    >>> is_dtype("float64"), is_dtype("cpu")
    (True, False)
    """
    return name in _BY_NAME


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
            dtype, rank = number_dtype(type(operand)).numpy, 2
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
    if weak.kind == "c" and strong.kind in "fV":
        return np.dtype(np.complex128) if strong.itemsize == 8 else np.dtype(np.complex64)
    return weak


def as_numbers(value: str, dtype: Any) -> str:
    """Return what to write for floating point numbers of a tensor of this type, by what the tensor is called.

    >>> as_numbers("x", int64), as_numbers("x", quint8)
    ('x.float()', 'x.dequantize()')
    """
    return f"{value}.{'dequantize' if getattr(dtype, 'quantized', False) else 'float'}()"


def as_places(value: str, dtype: Any) -> str:
    """Return what to write for whole numbers, that say places, of a tensor of this type.

    >>> as_places("x", float32), as_places("x", quint8)
    ('x.long()', 'x.int_repr().long() for the codes, or x.dequantize().long() for what they stand for')
    """
    if not getattr(dtype, "quantized", False):
        return f"{value}.long()"
    return f"{value}.int_repr().long() for the codes, or {value}.dequantize().long() for what they stand for"


def _together(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """What two types of equal rank become; unlike NumPy an integer never widens a float."""
    if a == b:
        return a
    if a in _NARROWEST or b in _NARROWEST:
        raise DTypeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {a} and {b}: "
            "call .float() on what is stored in 8 bits"
        )
    higher, lower = (a, b) if _CATEGORY[a.kind] >= _CATEGORY[b.kind] else (b, a)
    category = _CATEGORY[higher.kind]
    if category >= 2 and _CATEGORY[lower.kind] < 2:
        return higher
    if category == 3:
        # The parts of a complex number become as wide as the float beside it.
        return np.dtype(np.complex128) if 16 in (a.itemsize, b.itemsize) or _wide(lower) else higher
    if "V" in (a.kind, b.kind):  # bfloat16 and float16 have no common 16-bit type
        return (
            np.dtype(np.float32) if lower.itemsize == higher.itemsize else max(a, b, key=lambda t: t.itemsize)
        )
    _refuse_codes(a, b)
    return np.promote_types(a, b)


def _wide(dtype: np.dtype[Any]) -> bool:
    return bool(dtype == np.float64)
