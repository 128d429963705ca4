"""Functions of one value by a table: 8-bit codes have 256 values, so that many results are all there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.quantized_array import QuantizedArray, code_range, to_codes
from workbench.kernels.loader import native

__all__ = ["LEAST", "by_table"]

LEAST = 1024
"""How many values are worth a table."""


def by_table(
    q: QuantizedArray,
    function: Callable[[Any], Any],
    scale: float,
    zero_point: int,
    limits: tuple[int, int] | None = None,
) -> QuantizedArray:
    """Return a function of the numbers that 8-bit codes stand for, under one scale, as codes of the same type.

    >>> from workbench.base.dtypes import quint8
    >>> q = QuantizedArray(np.array([0, 3, 5], np.uint8), 0.5, 4, quint8)
    >>> by_table(q, np.square, 1.0, 0).codes
    array([4, 0, 0], dtype=uint8)
    """
    unsigned = np.arange(256, dtype=np.uint8)
    every = QuantizedArray(unsigned.view(q.codes.dtype), q.scale, q.zero_point, q.dtype)
    with np.errstate(all="ignore"):
        numbers = np.asarray(function(every.dequantize()), np.float32)
    table = to_codes(numbers, scale, zero_point, *(limits or code_range(q.dtype)), q.dtype)
    codes = q.codes.view(np.uint8)
    if native is None:
        found = table.view(np.uint8)[codes]
    else:
        found = native.look_up_codes(codes, np.ascontiguousarray(table).view(np.uint8))
    return QuantizedArray(found.view(q.codes.dtype), scale, zero_point, q.dtype)
