"""The grid of codes of a weight: a scale and a zero point for each group of neighbours in a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dtypes import DType, qint8, quint4x2
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray, code_range, to_codes

__all__ = ["TYPES", "Grid", "Setting"]

Array = np.ndarray[Any, Any]

TYPES: dict[int, DType] = {4: quint4x2, 8: qint8}
"""The type of codes of a number of bits."""


@dataclass(frozen=True)
class Setting:
    """How a weight becomes codes: bits, how many neighbours share a scale, whether zero is the middle code."""

    bits: int
    group: int
    symmetric: bool

    def __post_init__(self) -> None:
        if self.bits not in TYPES:
            raise QuantizationError(f"bits={self.bits}: weights have 4 or 8 bits")
        if type(self.group) is not int or self.group < 1:
            raise QuantizationError(
                f"group_size={self.group!r}: give a whole number of neighbours, 1 or more"
            )

    @property
    def dtype(self) -> DType:
        """The type of the codes."""
        return TYPES[self.bits]

    def grid(self, weight: Array, shrink: float | Array = 1.0) -> Grid:
        """Return the grid of [rows, columns]: the ends of each group, or a part of them, are the ends of its codes.

        s = (max - min) / (qmax - qmin) and z = qmin - rne(min / s), with 0 inside; where zero is the middle code,
        s = max |w| / ((qmax - qmin) / 2).
        """
        rows, columns = weight.shape
        groups = -(-columns // self.group)
        padded = np.zeros((rows, groups * self.group), np.float64)
        padded[:, :columns] = weight
        blocks = padded.reshape(rows, groups, self.group)
        qmin, qmax = code_range(self.dtype)
        # Between the ends 0 must lie, or it would be no code; the padding does no harm.
        low, high = np.minimum(blocks.min(2), 0) * shrink, np.maximum(blocks.max(2), 0) * shrink
        tiny = float(np.finfo(np.float32).eps)
        if self.symmetric:
            scale = np.maximum(np.maximum(-low, high) / ((qmax - qmin) / 2), tiny)
            zero = np.full(scale.shape, (qmin + qmax + 1) // 2)
        else:
            scale = np.maximum((high - low) / (qmax - qmin), tiny)
            zero = np.clip(qmin - np.rint(low / scale), qmin, qmax).astype(np.int64)
        return Grid(self, scale.astype(np.float32), zero)


@dataclass(frozen=True)
class Grid:
    """Scales and zero points [rows, groups] of one weight."""

    setting: Setting
    scale: Array
    zero: Array

    def column(self, values: Array, column: int) -> Array:
        """Return the values [rows] of one column on the grid."""
        at = column // self.setting.group
        return self._near(values, self.scale[:, at], self.zero[:, at])

    def near(self, weight: Array) -> Array:
        """Return a weight [rows, columns] rounded to the nearest point of the grid, as float32."""
        return self._near(weight, *(self._wide(one, weight.shape[1]) for one in (self.scale, self.zero)))

    def codes(self, weight: Array) -> QuantizedArray:
        """Return a weight [rows, columns] as codes."""
        setting = self.setting
        scale, zero = (self._wide(one, weight.shape[1]) for one in (self.scale, self.zero))
        found = to_codes(
            np.asarray(weight, np.float32), scale, zero, *code_range(setting.dtype), setting.dtype
        )
        return QuantizedArray(found, self.scale, self.zero, setting.dtype, None, setting.group)

    def _wide(self, values: Array, columns: int) -> Array:
        return np.repeat(values, self.setting.group, axis=1)[:, :columns]

    def _near(self, values: Array, scale: Array, zero: Array) -> Array:
        dtype = self.setting.dtype
        codes = to_codes(np.asarray(values, np.float32), scale, zero, *code_range(dtype), dtype)
        out: Array = (codes.astype(np.float32) - zero.astype(np.float32)) * scale
        return out
