"""Array code of ops on codes by whole numbers: softmax, norms, products of matrices.

What it gives is what the kernels give, to the last code: sums are whole, and each formula rounds to float32 in the same
places.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from workbench import kernels
from workbench.base.dtypes import quint8
from workbench.base.quantized_array import QuantizedArray

__all__ = ["Coded", "is_bytes", "normalised", "powers_of_e", "product_of_codes", "softmax_of_codes"]

_SOFTMAX = kernels.lookup("softmax_codes")
_NORM = kernels.lookup("normalise_codes")
_PRODUCT = kernels.lookup("multiply_matrices_of_codes")

_BITS = 23
"""Of a whole number that stands for e⁰: float32 holds all that are not greater."""


class Coded(NamedTuple):
    """What a result is coded by."""

    scale: float
    zero_point: int
    qmin: int
    qmax: int

    def codes(self, steps: Any, dtype: Any) -> Any:
        """Return values in steps of the scale as codes; NaN becomes the highest."""
        found = np.rint(steps) + np.float32(self.zero_point)
        found = np.where(np.isnan(found), np.float32(self.qmax), np.clip(found, self.qmin, self.qmax))
        return found.astype(dtype)


def is_bytes(q: Any) -> bool:
    """Say whether a payload has codes of 8 bits under one scale."""
    return isinstance(q, QuantizedArray) and q.per_tensor and q.dtype.bits == 8


@lru_cache(maxsize=64)
def powers_of_e(scale: float) -> Any:
    """Return e^(-k·scale) for k up to 255 as whole numbers of 2^-23, int32.

    >>> powers_of_e(0.5)[:3].tolist()
    [8388608, 5087948, 3085996]
    """
    found = np.rint(np.exp(-np.arange(256) * scale) * 2.0**_BITS).astype(np.int32)
    found.flags.writeable = False
    return found


def softmax_of_codes(codes: Any, scale: float, out: Coded, *, plainly: bool = False) -> Any:
    """Return the softmax of rows [N, n] of 8-bit codes as codes: whole powers by the table, whole sums.

    >>> softmax_of_codes(np.array([[0, 2]], np.uint8), np.log(3) / 2, Coded(1 / 256, 0, 0, 255))
    array([[ 64, 192]], dtype=uint8)
    """
    powers = powers_of_e(scale)
    if not plainly and _SOFTMAX is not None and _SOFTMAX.accepts(codes, powers):
        return _SOFTMAX.run(codes, powers, out)
    if not codes.size:
        return codes.copy()
    found = powers[codes.max(axis=1, keepdims=True).astype(np.int64) - codes]
    totals = found.sum(axis=1, keepdims=True, dtype=np.int64)
    factor = (1 / (totals.astype(np.float64) * out.scale)).astype(np.float32)
    return out.codes(found.astype(np.float32) * factor, codes.dtype)


def normalised(
    q: QuantizedArray, rows: int, run: int, weight: Any, bias: Any, centred: bool, eps: float, out: Coded,
    *, plainly: bool = False,
) -> Any:  # fmt: skip
    """Return the codes [rows, n] of normalised rows, which lie behind one another.

    Each `run` neighbours share a weight and a bias; there are as many as the rows need, and then the first again.
    Mean and mean square are made of whole sums; without `centred` rows are scaled by their root mean square.
    """
    codes = q.codes.reshape(rows, q.size // rows if rows else 0)
    count = codes.shape[1]
    factors = [
        None if one is None else np.ascontiguousarray(one, np.float32).reshape(-1) for one in (weight, bias)
    ]
    many = next((one.size for one in factors if one is not None), count // max(run, 1))
    given = (*factors, run, many, centred, eps, q.scale, int(q.zero_point), out)
    # A bias alone is rare: nothing but the plain way adds it.
    one_sided = factors[0] is None and factors[1] is not None
    if not plainly and _NORM is not None and codes.size and not one_sided and _NORM.accepts(codes, *given):
        return _NORM.run(codes, *given)
    if not codes.size:
        return codes.copy()
    whole = codes.astype(np.int64)
    sums, squares = whole.sum(axis=1, keepdims=True), (whole * whole).sum(axis=1, keepdims=True)
    if centred:
        mean = sums / float(count)
        variance = (count * squares - sums * sums).astype(np.float64) / (float(count) * float(count))
    else:
        zero = int(q.zero_point)
        mean = np.full(sums.shape, float(zero))
        variance = (squares - 2 * zero * sums + count * zero * zero).astype(np.float64) / float(count)
    with np.errstate(all="ignore"):
        factor = (q.scale / np.sqrt(variance * (q.scale * q.scale) + eps)).astype(np.float32)
        value = (codes.astype(np.float32) - mean.astype(np.float32)) * factor
        places = (np.arange(rows)[:, None] * (count // run) + np.arange(count) // run) % many
        if factors[0] is not None:
            value = value * factors[0][places]
        if factors[1] is not None:
            value = value + factors[1][places]
        return out.codes(value * (np.float32(1) / np.float32(out.scale)), codes.dtype)


def product_of_codes(
    a: QuantizedArray, b: QuantizedArray, out: Coded, *, plainly: bool = False
) -> QuantizedArray:
    """Return the product of matrices, as `matmul` takes them, of two tensors of codes: exact sums, rounded once."""
    left, right = a.codes, b.codes
    if left.ndim == 1:
        left = left[None]
    if right.ndim == 1:
        right = right[:, None]
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = [*batch, *((left.shape[-2],) if a.ndim > 1 else ()), *((right.shape[-1],) if b.ndim > 1 else ())]
    if right.ndim == 2:
        # One matrix for all rows.
        left = left.reshape(1, math.prod(left.shape[:-1]), left.shape[-1])
        right = right[None]
    else:
        many = math.prod(batch)
        left = np.broadcast_to(left, (*batch, *left.shape[-2:])).reshape(many, *left.shape[-2:])
        right = np.broadcast_to(right, (*batch, *right.shape[-2:])).reshape(many, *right.shape[-2:])
    given = (left, a.scale, int(a.zero_point), right, b.scale, int(b.zero_point))
    if not plainly and _PRODUCT is not None and a.dtype is b.dtype is quint8 and _PRODUCT.accepts(*given):
        codes = _PRODUCT.run(*given, out)
    else:
        # Of whole numbers that float64 holds.
        sums = (left.astype(np.float64) - a.zero_point) @ (right.astype(np.float64) - b.zero_point)
        factor = np.float32(a.scale) * np.float32(b.scale) * (np.float32(1) / np.float32(out.scale))
        codes = out.codes(sums.astype(np.float32) * factor, a.dtype.numpy)
    return QuantizedArray.own(codes.reshape(shape), out.scale, out.zero_point, a.dtype)
