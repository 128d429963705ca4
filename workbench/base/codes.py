"""From numbers to codes: schemes, the codes that a type has, rounding, and the scales and zero points of an array."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from workbench.base.dtypes import DType
from workbench.base.errors import QuantizationError

__all__ = ["QScheme", "code_range", "entries", "groups", "to_codes"]

Array = np.ndarray[Any, Any]


class QScheme(Enum):
    """How real numbers are mapped to codes."""

    PER_TENSOR_AFFINE = "per_tensor_affine"
    PER_TENSOR_SYMMETRIC = "per_tensor_symmetric"
    PER_CHANNEL_AFFINE = "per_channel_affine"
    PER_CHANNEL_SYMMETRIC = "per_channel_symmetric"
    PER_CHANNEL_AFFINE_FLOAT_QPARAMS = "per_channel_affine_float_qparams"
    """Zero points are real numbers too, as for embeddings: real = (code - zero_point) · scale all the same."""
    PER_GROUP_AFFINE = "per_group_affine"
    """Each group of neighbours along the last dim has its own, as for weights of 4 bits."""

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

    >>> from workbench.base.dtypes import qint8, quint4x2
    >>> code_range(qint8), code_range(quint4x2)
    ((-128, 127), (0, 15))
    """
    if not dtype.is_quantized:
        raise QuantizationError(f"{dtype.name} is not a quantized type; use quint8, qint8 or qint32")
    if dtype.bits < 8:
        return 0, 2**dtype.bits - 1
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


def to_codes(x: Any, scale: Any, zero_point: Any, qmin: int, qmax: int, dtype: DType) -> Any:
    """Return clamp(rne(x·(1/s) + z)) of float32 values; NaN becomes the greatest code of 8 bits, else the least.

    In float32; of one scale and 8 bits the product is not rounded before the zero point is added, as in PyTorch.

    >>> from workbench.base.dtypes import quint8
    >>> to_codes(np.array([0.5, np.nan, -1.0], np.float32), 1.0, 1, 0, 255, quint8)
    array([  2, 255,   0], dtype=uint8)
    """
    # Times the inverse in float32, as in PyTorch: a division would round some halves the other way.
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        inverse = np.float32(1) / np.asarray(scale, np.float32)
        if np.ndim(scale) == 0 and dtype.bits == 8:
            # float64 holds the product: this is a fused multiply-add.
            rounded = np.rint(np.asarray(x * np.float64(inverse) + zero_point).astype(np.float32))
        else:
            rounded = np.rint(x * inverse + np.asarray(zero_point, np.float32))
        # float32 does not hold the ends of 32 bits.
        wide = rounded if dtype.itemsize == 1 else rounded.astype(np.float64)
        nothing = qmax if dtype.bits == 8 else qmin
        return np.where(np.isnan(wide), nothing, np.clip(wide, qmin, qmax)).astype(dtype.numpy)


def entries(scale: Any, zero_point: Any, axis: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the scales and zero points of codes of a shape, one for each entry of `axis`, as read-only arrays.

    Raises `QuantizationError` for another number of them.
    """
    if not 0 <= axis < len(shape):
        raise QuantizationError(f"axis {axis} is out of range for codes with {len(shape)} dims")
    scales, zeros = _pair(scale, zero_point)
    for values, what in ((scales, "scales"), (zeros, "zero_points")):
        if values.shape != (shape[axis],):
            raise QuantizationError(
                f"length of {what} must equal to channel, expected {shape[axis]} got, {values.size}"
            )
    return scales, zeros


def groups(scale: Any, zero_point: Any, group: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return them with one entry for each `group` of neighbours along the last dim."""
    if group < 1 or not shape:
        raise QuantizationError(
            f"groups of {group} values along the last of {len(shape)} dims: there is no such"
        )
    scales, zeros = _pair(scale, zero_point)
    expected = (*shape[:-1], -(-shape[-1] // group))
    for values, what in ((scales, "scales"), (zeros, "zero_points")):
        if values.shape != expected:
            raise QuantizationError(
                f"{what} must have one entry a group of {group}: {list(expected)} for codes of {list(shape)}, and "
                f"have {list(values.shape)}"
            )
    return scales, zeros


def _pair(scale: Any, zero_point: Any) -> tuple[Array, Array]:
    """Return scales and zero points as read-only arrays: float64 and int64, or both float32 where zeros are real."""
    zeros = np.array(zero_point)
    # Those of 16 bits are no kind of their own in NumPy: what is not whole is real.
    real = zeros.dtype.kind not in "iub"
    # PyTorch keeps parameters that are real numbers in single precision.
    scales = np.array(scale, np.float32 if real else np.float64)
    zeros = zeros.astype(np.float32 if real else np.int64)
    scales.flags.writeable = zeros.flags.writeable = False
    return scales, zeros
