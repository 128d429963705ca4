"""Functions of one value by a table: 8-bit codes have 256 values, so that many results are all there are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.base.dtypes import DType
from workbench.base.quantized_array import QuantizedArray, code_range, to_codes
from workbench.kernels.loader import native

__all__ = ["LEAST", "by_table", "looked_up"]

LEAST = 1024
"""How many values are worth a table."""


def by_table(
    op: Any,
    q: QuantizedArray,
    params: Mapping[str, Any],
    scale: float,
    zero_point: int,
    limits: tuple[int, int] | None = None,
) -> QuantizedArray:
    """Return an op of one value of the numbers that 8-bit codes stand for, under one scale, as codes of the same type.

    Without an op it is the numbers themselves, under another scale.

    >>> from workbench.base.dtypes import quint8
    >>> from workbench.core import ops
    >>> q = QuantizedArray(np.array([0, 3, 5], np.uint8), 0.5, 4, quint8)
    >>> by_table(ops.abs, q, {}, 0.5, 0).codes
    array([4, 1, 1], dtype=uint8)
    """
    told = tuple(params.items())
    asked = (q.dtype, q.scale, int(q.zero_point), scale, zero_point, *(limits or code_range(q.dtype)))
    try:
        table = _table(op, told, *asked)
    except TypeError:
        # Parameters that cannot be told from others, such as lists; or the op refuses them, and says so again.
        table = _table.__wrapped__(op, told, *asked)
    return QuantizedArray(looked_up(q.codes, table), scale, zero_point, q.dtype)


# A network asks for the same ones in each call.
@lru_cache(maxsize=1024)
def _table(
    op: Any, told: tuple[tuple[str, Any], ...], dtype: DType, from_scale: float, from_zero: int, scale: float,
    zero_point: int, low: int, high: int,
) -> Any:  # fmt: skip
    every = QuantizedArray(np.arange(256, dtype=np.uint8).view(dtype.numpy), from_scale, from_zero, dtype)
    numbers = every.dequantize()
    if op is not None:
        with np.errstate(all="ignore"):
            numbers = np.asarray(op.forward(numbers, **dict(told)), np.float32)
    table = to_codes(numbers, scale, zero_point, low, high, dtype)
    table.flags.writeable = False
    return table


def looked_up(codes: Any, table: Any) -> Any:
    """Return what a table has for each of some 8-bit codes, by their bytes: 256 entries of the type of the codes.

    >>> looked_up(np.array([1, 0], np.uint8), np.arange(256, dtype=np.uint8)[::-1]).tolist()
    [254, 255]
    """
    entries, places = np.ascontiguousarray(table).view(np.uint8), codes.view(np.uint8)
    found = entries[places] if native is None else native.look_up_codes(places, entries)
    return found.view(codes.dtype)
