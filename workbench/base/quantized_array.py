"""Quantized payloads: integer codes, and the affine map from codes to real numbers.

real = (code - zero_point) · scale, with one scale and zero point for all values or one for each entry of an axis.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from workbench.base.dtypes import DType
from workbench.base.errors import QuantizationError

__all__ = ["QScheme", "QuantizedArray", "code_range"]

Array = np.ndarray[Any, Any]


class QScheme(Enum):
    """How real numbers are mapped to codes."""

    PER_TENSOR_AFFINE = "per_tensor_affine"
    PER_TENSOR_SYMMETRIC = "per_tensor_symmetric"
    PER_CHANNEL_AFFINE = "per_channel_affine"
    PER_CHANNEL_SYMMETRIC = "per_channel_symmetric"
    PER_CHANNEL_AFFINE_FLOAT_QPARAMS = "per_channel_affine_float_qparams"

    @property
    def per_channel(self) -> bool:
        """True if each channel has a scale and a zero point of its own."""
        return self.value.startswith("per_channel")

    @property
    def symmetric(self) -> bool:
        """True if zero stands in the middle of the codes."""
        return self.value.endswith("symmetric")

    def __repr__(self) -> str:
        return f"workbench.{self.value}"

    __str__ = __repr__


def code_range(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest code of a quantized type.

    >>> from workbench.base.dtypes import qint8
    >>> code_range(qint8)
    (-128, 127)
    """
    if not dtype.is_quantized:
        raise QuantizationError(f"{dtype.name} is not a quantized type; use quint8, qint8 or qint32")
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


class QuantizedArray:
    """Immutable codes with scale and zero point; a payload of a tensor, as a NumPy array is.

    `scale` and `zero_point` are a float and an int, or arrays with one entry for each entry of `axis`.

    >>> from workbench.base.dtypes import quint8
    >>> q = QuantizedArray(np.array([0, 12], np.uint8), 0.5, 10, quint8)
    >>> q.dequantize()
    array([-5.,  1.], dtype=float32)
    """

    __slots__ = ("__weakref__", "axis", "cache", "codes", "dtype", "scale", "shape", "zero_point")
    # NumPy's arithmetic is refused: entry by entry it would make an array of objects.
    __array_ufunc__ = None
    """NumPy leaves arithmetic on it alone."""

    codes: Array
    scale: Any
    zero_point: Any
    axis: int | None
    dtype: DType
    shape: tuple[int, ...]
    cache: dict[str, Any]
    """What integer layers have packed of it."""

    def __init__(
        self, codes: Array, scale: Any, zero_point: Any, dtype: DType, axis: int | None = None
    ) -> None:
        if codes.dtype != dtype.numpy or not dtype.is_quantized:
            raise QuantizationError(f"codes of NumPy's type {codes.dtype} cannot be {dtype.name}")
        # The caller's array stays as writable as it was.
        view = codes.view()
        view.flags.writeable = False
        self.codes = view
        self.dtype = dtype
        self.axis = axis
        self.shape = codes.shape
        # What is computed from the codes may be kept: they never change.
        self.cache = {}
        if axis is None:
            self.scale, self.zero_point = float(scale), int(zero_point)
        else:
            self.scale, self.zero_point = _entries(scale, zero_point, axis, codes.shape)

    @classmethod
    def own(cls, codes: Array, scale: float, zero_point: int, dtype: DType) -> QuantizedArray:
        """Return a payload, quantized per tensor, of codes that nobody else holds: nothing is checked or copied."""
        made = cls.__new__(cls)
        codes.flags.writeable = False
        made.codes, made.shape, made.dtype, made.axis = codes, codes.shape, dtype, None
        made.scale, made.zero_point, made.cache = scale, zero_point, {}
        return made

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(self.codes.size)

    @property
    def nbytes(self) -> int:
        """Bytes that codes, scales and zero points take: a scale counts 4 bytes, a zero point 4."""
        channels = 1 if self.axis is None else self.shape[self.axis]
        return int(self.codes.nbytes) + 8 * channels

    @property
    def qscheme(self) -> QScheme:
        """How codes stand for numbers: by one scale, or by one a channel."""
        return QScheme.PER_TENSOR_AFFINE if self.axis is None else QScheme.PER_CHANNEL_AFFINE

    def along_axis(self, values: Any) -> Any:
        """Return scales or zero points shaped so that they broadcast against the codes."""
        if self.axis is None:
            return values
        return np.asarray(values).reshape([-1 if i == self.axis else 1 for i in range(self.ndim)])

    def dequantize(self) -> Array:
        """Return the float32 numbers that the codes stand for: (code - zero_point) · scale."""
        scale = np.asarray(self.along_axis(self.scale), np.float32)
        zero = self.along_axis(self.zero_point)
        if self.dtype.itemsize > 1:  # float32 does not hold every 32-bit code
            wide: Array = (self.codes.astype(np.float64) - zero) * scale
            return wide.astype(np.float32)
        out: Array = (self.codes.astype(np.float32) - np.asarray(zero, np.float32)) * scale
        return out

    def with_codes(self, codes: Array, *, same_places: bool = False) -> QuantizedArray:
        """Return other codes with this scale and zero point.

        `same_places` says that each value stayed where it was. Where each channel has its own scale, values that
        moved would get the scale of another channel, so that is refused.
        """
        if self.axis is not None and not same_places and codes is not self.codes:
            raise QuantizationError(
                f"values quantized per channel (along dim {self.axis}) cannot be moved: each would get another "
                "channel's scale. Call .dequantize() first."
            )
        return QuantizedArray(codes, self.scale, self.zero_point, self.dtype, self.axis)

    def zero_point_like_codes(self) -> Any:
        """Return the code of zero, shaped and typed to compare with the codes."""
        return np.asarray(self.along_axis(self.zero_point), self.codes.dtype)

    def quantizer(self) -> list[str]:
        """Return how this is quantized, as the printed form of a tensor says it."""
        parts = [f"size={self.shape}", f"quantization_scheme={self.qscheme!r}"]
        if self.axis is None:
            return [*parts, f"scale={self.scale}", f"zero_point={self.zero_point}"]
        return [
            *parts,
            f"scale={_short(self.scale)}",
            f"zero_point={_short(self.zero_point)}",
            f"axis={self.axis}",
        ]

    def copy(self) -> QuantizedArray:
        """Return this: it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> QuantizedArray:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return QuantizedArray, (np.array(self.codes), self.scale, self.zero_point, self.dtype, self.axis)

    def __repr__(self) -> str:
        return f"QuantizedArray({self.dtype.name}, {', '.join(self.quantizer())})"


def _entries(scale: Any, zero_point: Any, axis: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    if not 0 <= axis < len(shape):
        raise QuantizationError(f"axis {axis} is out of range for codes with {len(shape)} dims")
    scales, zeros = np.array(scale, np.float64), np.array(zero_point, np.int64)
    for values, what in ((scales, "scales"), (zeros, "zero_points")):
        if values.shape != (shape[axis],):
            raise QuantizationError(
                f"length of {what} must equal to channel, expected {shape[axis]} got, {values.size}"
            )
        values.flags.writeable = False
    return scales, zeros


def _short(values: Array) -> str:
    shown = ", ".join(f"{one:.4g}" for one in values[:3].tolist())
    return f"[{shown}, … {len(values)} in all]" if len(values) > 3 else f"[{shown}]"
