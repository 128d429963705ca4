"""Functions of one value by a table: 8-bit codes have 256 values, so that many results are all there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.quantized_array import QuantizedArray, code_range, to_codes
from workbench.kernels.loader import native

__all__ = ["LEAST", "by_table", "looked_up"]

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
    return QuantizedArray(looked_up(q.codes, table), scale, zero_point, q.dtype)


def looked_up(codes: Any, table: Any) -> Any:
    """Return what a table has for each of some 8-bit codes, by their bytes: 256 entries of the type of the codes.

    >>> looked_up(np.array([1, 0], np.uint8), np.arange(256, dtype=np.uint8)[::-1]).tolist()
    [254, 255]
    """
    entries, places = np.ascontiguousarray(table).view(np.uint8), codes.view(np.uint8)
    found = entries[places] if native is None else native.look_up_codes(places, entries)
    return found.view(codes.dtype)
