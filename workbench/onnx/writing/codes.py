"""Codes in a file: which numbers they stand for is said where they are read and where they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dtypes import DType, as_dtype, float32
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.onnx.errors import OnnxError
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["Codes", "codes_of", "storage"]


@dataclass(frozen=True)
class Codes:
    """What codes stand for: (code - zero point) scale, for all or along an axis."""

    scale: Any
    zero_point: Any
    dtype: DType
    axis: int | None = None

    def operands(self, call: Any) -> list[str]:
        """Return the names of scale and zero point."""
        kind = storage(self.dtype)
        scale = np.asarray(self.scale, np.float32)
        zero = np.asarray(self.zero_point).astype(kind.numpy)
        return [call.constant(scale, float32), call.constant(zero, kind)]

    @property
    def attributes(self) -> dict[str, Any]:
        """The axis, where each of its entries has a scale of its own."""
        return {} if self.axis is None else {"axis": self.axis}


def storage(dtype: DType) -> DType:
    """Return the type of the numbers that codes are: of any other type itself.

    >>> from workbench.base.dtypes import quint8
    >>> storage(quint8)
    workbench.uint8
    """
    return as_dtype(dtype.numpy) if dtype.is_quantized else dtype


def codes_of(payload: Any) -> tuple[Tensor, Codes]:
    """Return the codes of a quantized tensor as one of whole numbers, and what they stand for."""
    if not isinstance(payload, QuantizedArray):
        raise OnnxError("a quantized tensor has codes, and this one has none")
    codes = from_numpy(np.array(payload.codes))
    return codes, Codes(payload.scale, payload.zero_point, payload.dtype, payload.axis)


def bounds(codes: Codes, least: int, most: int) -> tuple[float | None, float | None]:
    """Return the least and the greatest number that codes in use stand for; None where their type ends there, too."""
    low, high = code_range(codes.dtype)
    zero, scale = np.float64(codes.zero_point), np.float64(np.float32(codes.scale))
    return (
        float((least - zero) * scale) if least > low else None,
        float((most - zero) * scale) if most < high else None,
    )
