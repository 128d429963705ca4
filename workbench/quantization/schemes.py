"""From a range of real numbers to scale and zero point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np

from workbench.base.dtypes import DType, quint8
from workbench.base.errors import QuantizationError, short
from workbench.base.quantized_array import QScheme, code_range

__all__ = ["EPS", "Scheme", "real_number", "scheme_of"]

Array = np.ndarray[Any, Any]

EPS = float(np.finfo(np.float32).eps)
"""Least scale, so that constant values do not divide by zero."""


def real_number(value: Any, what: str) -> float:
    """Return a number of Python's, of NumPy's or of a tensor with one entry; raise `QuantizationError` for others.

    >>> real_number(np.float32(0.5), "the low end of a range")
    0.5
    """
    held: Any = getattr(value, "payload", value)
    if not isinstance(value, SupportsFloat) or np.size(held) != 1:
        raise QuantizationError(f"{what} is a number, and {short(value)} was given")
    return float(value)


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a range becomes codes: the type of the codes, their limits, and whether zero stands in the middle.

    >>> from workbench.base.dtypes import quint8
    >>> scheme = scheme_of(quint8, QScheme.PER_TENSOR_AFFINE)
    >>> scale, zero_point = scheme.qparams(-1.0, 3.0)
    >>> round(float(scale), 5), int(zero_point)
    (0.01569, 64)
    """

    dtype: DType
    qscheme: QScheme
    quant_min: int
    quant_max: int
    eps: float = EPS
    customized: bool = False
    """True if the limits were given and are not those of the type."""

    @property
    def bits(self) -> int:
        """Bits that tell the codes apart.

        >>> from workbench.base.dtypes import quint8
        >>> scheme_of(quint8, QScheme.PER_TENSOR_AFFINE, reduce_range=True).bits
        7
        """
        return max(1, math.ceil(math.log2(self.quant_max - self.quant_min + 1)))

    def qparams(self, low: Any, high: Any) -> tuple[Array, Array]:
        """Return scale (float32) and zero point (int64) for ranges, widened to hold zero.

        Affine: s = (max - min) / (qmax - qmin), z = clamp(qmin - rne(min / s)). Symmetric: s = 2·max(|min|, |max|) /
        (qmax - qmin), z in the middle. The arithmetic is that of float32, as PyTorch's observers do it.
        """
        # Every range holds 0, which padding and ReLU need exactly.
        least = np.minimum(np.asarray(low, np.float32), np.float32(0))
        most = np.maximum(np.asarray(high, np.float32), np.float32(0))
        span = np.float32(self.quant_max - self.quant_min)
        if self.qscheme is QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS:
            return self._float_qparams(np.asarray(low, np.float32), np.asarray(high, np.float32), span)
        if self.qscheme.symmetric:
            scale = np.maximum(-least, most) / np.float32(float(span) / 2)
            scale = np.maximum(scale, np.float32(self.eps))
            return scale, np.full(scale.shape, self._middle(), np.int64)
        scale = np.maximum(_width(least, most) / span, np.float32(self.eps)).astype(np.float32)
        steps = np.rint(least / scale).astype(np.int64)
        # For one range, `np.clip` takes several times as long as these.
        return scale, np.minimum(np.maximum(self.quant_min - steps, self.quant_min), self.quant_max)

    def _float_qparams(self, low: Array, high: Array, span: Any) -> tuple[Array, Array]:
        """Scale and a zero point between codes: the range need not hold zero, and its low end is exact."""
        scale = np.asarray(_width(low, high) / span, np.float32)
        scale = np.where(scale > np.float32(self.eps), scale, np.float32(1))
        return scale, (-low / scale).astype(np.float32)

    def _middle(self) -> int:
        if self.dtype.name not in ("quint8", "uint8"):
            return 0
        # PyTorch has 128 for the type's own limits, and the middle of those that are given.
        return (self.quant_min + self.quant_max) // 2 if self.customized else 128

    def range_of(self, scale: float, zero_point: int) -> tuple[float, float]:
        """Return the range that has this scale and zero point.

        Raises `QuantizationError` where the scale is no positive number, the zero point is no code, or the scheme has
        another one.
        """
        scale, point = real_number(scale, "a scale"), real_number(zero_point, "a zero point")
        if not (math.isfinite(scale) and scale > 0):
            raise QuantizationError(f"a scale is a finite number above 0, and {scale} was given")
        if not point.is_integer():
            raise QuantizationError(f"a zero point is a whole number, and {zero_point} was given")
        zero_point = int(point)
        if not self.quant_min <= zero_point <= self.quant_max:
            raise QuantizationError(
                f"zero point {zero_point} is no code: they go from {self.quant_min} to {self.quant_max}"
            )
        if self.qscheme.per_channel:
            raise QuantizationError(
                "each channel has a scale of its own: set the range instead, which limits those of all channels, or "
                "turn per channel off"
            )
        if not self.qscheme.symmetric:
            return (self.quant_min - zero_point) * scale, (self.quant_max - zero_point) * scale
        if zero_point != self._middle():
            raise QuantizationError(
                f"symmetric codes have {self._middle()} as zero point, and {zero_point} was given: choose affine for "
                "another one"
            )
        half = scale * (self.quant_max - self.quant_min) / 2
        return -half, half

    def widened(self, low: float, high: float) -> tuple[float, float]:
        """Return the range that codes will span: it holds zero, and is symmetric where the scheme is."""
        low, high = min(low, 0.0), max(high, 0.0)
        if self.qscheme.symmetric:
            high = max(-low, high)
            return -high, high
        return low, high


def _width(low: Array, high: Array) -> Array:
    """Return high - low in float32; where that is too wide for it, in float64, so that no scale is infinite."""
    with np.errstate(over="ignore"):
        width = np.asarray(high - low)
    if np.isfinite(width).all():
        return width
    return np.asarray(high, np.float64) - np.asarray(low, np.float64)


def _limits(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest code: of a quantized type, or of whole numbers that are used as codes."""
    if dtype.kind in "iu" and not dtype.is_quantized:
        info = np.iinfo(dtype.numpy)
        return int(info.min), int(info.max)
    return code_range(dtype)


def scheme_of(
    dtype: DType,
    qscheme: QScheme,
    *,
    reduce_range: bool = False,
    quant_min: int | None = None,
    quant_max: int | None = None,
    eps: float = EPS,
) -> Scheme:
    """Return the scheme of these settings; with `reduce_range` codes have one bit less, as 16-bit sums need it.

    Raises `QuantizationError` where the codes do not fit the type or leave zero out.
    """
    least, most = _limits(dtype)
    low, high = least if quant_min is None else quant_min, most if quant_max is None else quant_max
    if not isinstance(qscheme, QScheme):
        raise QuantizationError(
            f"qscheme= is a scheme such as wb.per_tensor_affine, and {short(qscheme)} was given"
        )
    for name, value in (("quant_min", low), ("quant_max", high)):
        if not isinstance(value, int | np.integer):
            raise QuantizationError(f"{name}= is a whole number, and {short(value)} was given")
    real_number(eps, "eps=, the least scale,")
    if (quant_min is None) is not (quant_max is None):
        raise QuantizationError("quant_min and quant_max go together: give both or none")
    if not low < high:
        raise QuantizationError(f"quant_min must be less than quant_max: {low} and {high} were given")
    if low < least or high > most:
        raise QuantizationError(
            f"codes from {low} to {high} do not fit {dtype.name}, which has {least} to {most}"
        )
    if not low <= 0 <= high:
        raise QuantizationError(f"codes from {low} to {high} must include 0")
    customized = quant_min is not None
    if reduce_range:
        if qscheme.symmetric and dtype is quint8:
            raise QuantizationError("Cannot reduce range for symmetric quantization for quint8; use qint8")
        # Sums of wider or narrower codes are not those of 8 bits: they keep their range unless limits are given.
        if customized or most - least == 255:
            low, high = low // 2, high // 2
    return Scheme(dtype, qscheme, low, high, eps, customized)
