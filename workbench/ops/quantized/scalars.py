"""A number added to codes, or multiplied with them: mostly the codes stay, and what they stand for changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import quint8
from workbench.base.quantized_array import QuantizedArray, code_range, to_codes
from workbench.core.op import DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.ops.quantized.requantize import NO_GRADIENT, require_one_scale

__all__ = ["QUANTIZED_ADD_SCALAR", "QUANTIZED_MUL_SCALAR"]

_KEPT = DTypeRule("the quantized type of the input", None, lambda dtype, params: dtype)


def _rectified(q: QuantizedArray, relu: bool) -> QuantizedArray:
    return q.with_codes(np.maximum(q.codes, q.zero_point_like_codes())) if relu else q


def _add(q: Any, *, value: float, relu: bool) -> QuantizedArray:
    """Move the zero point; where it would leave the codes, these are made anew under a wider scale."""
    require_one_scale("quantized add_scalar", q)
    low, high = code_range(q.dtype)
    zero = q.zero_point - int(np.rint(value / q.scale))
    if low <= zero <= high:
        return _rectified(QuantizedArray(q.codes, q.scale, zero, q.dtype), relu)
    scale = (high - zero if zero < low else zero - low) / (high - low) * q.scale
    bound = low if zero < low else high
    numbers = ((q.codes.astype(np.float64) - zero) * q.scale).astype(np.float32)
    codes = to_codes(numbers, scale, bound, low, high, q.dtype)
    return _rectified(QuantizedArray(np.asarray(codes), scale, bound, q.dtype), relu)


def _mul(q: Any, *, value: float, relu: bool) -> QuantizedArray:
    """Change the scale; a negative number turns the codes around."""
    require_one_scale("quantized mul_scalar", q)
    low, high = code_range(q.dtype)
    if value == 0:
        found = QuantizedArray(np.zeros_like(q.codes), 1.0, 0, q.dtype)
    elif value > 0:
        found = QuantizedArray(q.codes, q.scale * value, q.zero_point, q.dtype)
    else:
        turned = (low + high - q.codes.astype(np.int64)).astype(q.codes.dtype)
        found = QuantizedArray(turned, q.scale * -value, low + high - q.zero_point, q.dtype)
    return _rectified(found, relu)


def _record(name: str, doc: str, equation: str, forward: Any) -> Op:
    def samples() -> list[Sample]:
        codes = QuantizedArray(np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 6), 0.05, 100, quint8)
        return [
            Sample((codes,), {"value": 1.3, "relu": False}, names=(("N", "C"),)),
            Sample((codes,), {"value": -9.0, "relu": True}),
            Sample((codes,), {"value": 20.0, "relu": False}),
            Sample((codes,), {"value": 0.0, "relu": False}),
        ]

    def dims(x: Dims, **params: Any) -> Dims:
        return x

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=dims,
        rule="names and sizes pass through",
        dtype=_KEPT,
        forward=forward,
        vjp=NO_GRADIENT,
        saves=Saves(output=False),
        quantized=integers(name, forward),
        samples=samples,
    )


QUANTIZED_ADD_SCALAR = _record(
    "quantized_add_scalar",
    "Add a number to what codes stand for; rectified if asked.",
    "x = (q - z)·s + c: z' = z - rne(c / s), where that is a code",
    _add,
)
QUANTIZED_MUL_SCALAR = _record(
    "quantized_mul_scalar",
    "Multiply what codes stand for with a number; rectified if asked.",
    "x = (q - z)·s·c: s' = s·|c|, and q' = qmin + qmax - q where c < 0",
    _mul,
)
