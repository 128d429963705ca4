"""Codes in a file: which numbers they stand for is said where they are read and where they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dtypes import DType, as_dtype, float32, qint32
from workbench.base.quantized_array import PackedArray, QuantizedArray
from workbench.onnx.errors import OnnxError
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["GROUPS", "Codes", "bias_codes", "codes_of", "storage"]

GROUPS = 21
"""From this version on the format has codes of 4 bits, and scales of groups of neighbours."""


@dataclass(frozen=True)
class Codes:
    """What codes stand for: (code - zero point) scale, for all, along an axis, or in groups along the last dim."""

    scale: Any
    """A number, or an array; or the name of a value, where the file computes it."""
    zero_point: Any
    dtype: DType
    axis: int | None = None
    group: int | None = None
    nibbles: bool = False
    """True where two codes stand in a byte of the file."""

    def __post_init__(self) -> None:
        if isinstance(self.scale, str):
            return
        scale = np.asarray(self.scale, np.float32)
        if not (np.isfinite(scale) & (scale > 0)).all():
            bad = scale.reshape(-1)[~(np.isfinite(scale) & (scale > 0)).reshape(-1)][0]
            raise OnnxError(
                f"codes have the scale {bad:g}, under which they stand for no numbers: calibrate with data whose range "
                "is not empty, or give the layer a scale above 0"
            )

    def operands(self, call: Any) -> list[str]:
        """Return the names of scale and zero point; codes of 32 bits have none."""
        if isinstance(self.scale, str):
            return [self.scale, self.zero_point]
        scale = call.constant(np.asarray(self.scale, np.float32), float32)
        zero = np.asarray(self.zero_point)
        if zero.dtype.kind == "f":
            raise OnnxError("a zero point between codes has no form in the format")
        if self.dtype is qint32:
            if zero.any():
                raise OnnxError(
                    f"codes of 32 bits have the zero point 0 in the format, not {zero.reshape(-1)[0]}"
                )
            return [scale]
        if self.nibbles:
            return [scale, call.shared.nibbles(zero.astype(np.uint8))]
        return [scale, call.constant(zero.astype(self.dtype.numpy), storage(self.dtype))]

    def attributes(self, call: Any) -> dict[str, Any]:
        """Return what says which codes share a scale."""
        if self.group is None:
            return {} if self.axis is None else {"axis": self.axis}
        if not call.has(GROUPS):
            raise OnnxError(
                f"codes in groups came with version {GROUPS} of the operators: pass opset={GROUPS}, or quantize with a "
                "scale for each row"
            )
        return {"axis": self.axis, "block_size": self.group}

    def dequantized(self, call: Any, name: str) -> str:
        """Write what codes stand for."""
        return str(call("DequantizeLinear", name, *self.operands(call), **self.attributes(call)))

    def quantized(self, call: Any, name: str, least: int, most: int) -> str:
        """Write the codes of real numbers: as codes they are cut where fewer are in use than their type has."""
        if self.dtype.numpy.itemsize > 1:
            raise OnnxError(f"the operator QuantizeLinear makes no {self.dtype}: quantize to quint8 or qint8")
        found = call("QuantizeLinear", name, *self.operands(call), **self.attributes(call))
        return self.cut(call, found, least, most)

    def cut(self, call: Any, name: str, least: int, most: int) -> str:
        """Write codes between two ends, where their type goes further."""
        limits = np.iinfo(self.dtype.numpy)
        if least <= limits.min and most >= limits.max:
            return name
        kind = storage(self.dtype)
        return str(call("Clip", name, call.constant(least, kind), call.constant(most, kind)))


def storage(dtype: DType) -> DType:
    """Return the type of the numbers that codes are: of any other type itself.

    >>> from workbench.base.dtypes import quint8
    >>> storage(quint8)
    workbench.uint8
    """
    return as_dtype(dtype.numpy) if dtype.is_quantized else dtype


def codes_of(payload: Any, opset: int) -> tuple[Tensor, Codes]:
    """Return the codes of a quantized tensor as one of whole numbers, and what they stand for."""
    if not isinstance(payload, QuantizedArray):
        raise OnnxError("a quantized tensor has codes, and this one has none")
    nibbles = isinstance(payload, PackedArray) and opset >= GROUPS
    codes = from_numpy(np.array(payload.codes))
    return codes, Codes(
        payload.scale, payload.zero_point, payload.dtype, payload.axis, payload.group, nibbles
    )


def bias_codes(bias: Any, x: Codes, weight: Codes) -> tuple[Tensor, Codes] | None:
    """Return a bias as codes of 32 bits, under the scale of the sums that it is added to; None where it has none."""
    if isinstance(x.scale, str) or isinstance(weight.scale, str):
        return None
    scale = np.asarray(x.scale, np.float32) * np.asarray(weight.scale, np.float32)
    if not np.all(scale > 0) or weight.group is not None:
        return None
    if scale.ndim:
        # A transposed convolution in groups has the scales of one of them, and those of the others are the same.
        scale = np.tile(scale, len(bias) // len(scale))
    with np.errstate(over="ignore"):
        codes = np.rint(np.asarray(bias, np.float64) / scale)
    limits = np.iinfo(np.int32)
    if not np.all((codes >= limits.min) & (codes <= limits.max)):
        return None
    axis = None if scale.ndim == 0 else 0
    return from_numpy(codes.astype(np.int32)), Codes(scale, np.zeros(scale.shape, np.int64), qint32, axis)
