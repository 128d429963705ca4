"""From real numbers to codes and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, float32, qint8, quint8
from workbench.base.quantized_array import code_range
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import type_code
from workbench.onnx.writing.codes import Codes, storage
from workbench.onnx.writing.table import written

__all__: list[str] = []


@written("quantize_per_tensor")
def _per_tensor(call: Any) -> Any:
    params = call.params
    codes = Codes(params["scale"], params["zero_point"], as_dtype(params["dtype"]))
    call.stands_for(codes)
    return codes.quantized(call, call.x(0, float32), params["qmin"], params["qmax"])


@written("quantize_per_channel")
def _per_channel(call: Any) -> Any:
    params = call.params
    codes = Codes(params["scales"], params["zero_points"], as_dtype(params["dtype"]), params["axis"])
    call.stands_for(codes)
    return codes.quantized(call, call.x(0, float32), params["qmin"], params["qmax"])


@written("quantize_per_group")
def _per_group(call: Any) -> Any:
    dtype = as_dtype(call.params["dtype"])
    kind = storage(dtype)
    codes = Codes(call.x(1, float32), call.x(2, kind), dtype, call.rank(0) - 1, call.params["group"])
    call.stands_for(codes)
    return codes.quantized(call, call.x(0, float32), *code_range(dtype))


@written("dequantize", codes=True)
def _dequantize(call: Any) -> Any:
    codes = call.codes(0)
    return call.raw(0) if codes is None else codes.dequantized(call, call.raw(0))


@written("int_repr", codes=True)
def _int_repr(call: Any) -> Any:
    return call("Identity", call.raw(0))


def _least_and_most(call: Any) -> tuple[Any, int, int, int, int]:
    """Return the type of fake codes, those in use, and those that the type has."""
    least, most = call.params["qmin"], call.params["qmax"]
    if call.common != float32:
        raise OnnxError("the operator QuantizeLinear takes float32")
    dtype = quint8 if least >= 0 else qint8
    low, high = code_range(dtype)
    if least < low or most > high:
        raise OnnxError(f"codes from {least} to {most} are more than 8 bits have")
    return dtype, least, most, low, high


@written("fake_quantize_per_tensor", "fake_quantize_per_channel")
def _fake(call: Any) -> Any:
    params = call.params
    dtype, least, most, low, high = _least_and_most(call)
    if call.op.name == "fake_quantize_per_channel":
        codes = Codes(params["scales"], params["zero_points"], dtype, params["axis"])
    else:
        codes = Codes(params["scale"], params["zero_point"], dtype)
    x = call.x(0)
    # As numbers, and not as codes: who learns through the file finds a pair, and nothing in between.
    shape = [-1 if i == codes.axis else 1 for i in range(call.rank(0))] if codes.axis is not None else []
    scale, zero = (np.asarray(one, np.float64).reshape(shape) for one in (codes.scale, codes.zero_point))
    for end, limit, operator in ((least, low, "Max"), (most, high, "Min")):
        if end != limit:
            x = call(operator, x, call.constant((end - zero) * scale, float32))
    found = codes.quantized(call, x, low, high)
    return codes.dequantized(call, found)


@written("fake_quantize_learnable")
def _learnable(call: Any) -> Any:
    return _by_values(call, call.x(0), call.x(1, float32), call.x(2, float32), call.params["axis"])


@written("fake_quantize_scaled")
def _scaled(call: Any) -> Any:
    factor = call("Reshape", call.x(1, float32), call.row([-1] + [1] * (call.rank(0) - 1)))
    return _by_values(call, call("Mul", call.x(0), factor), call.x(2, float32), call.x(3, float32), 0)


def _by_values(call: Any, x: Any, scale: Any, zero: Any, axis: int | None) -> Any:
    """Return `x` rounded to codes whose scale and zero point are values of the graph."""
    dtype, least, most, _, _ = _least_and_most(call)
    kind = storage(dtype)
    ends = [call.number(float(one), float32) for one in (least, most)]
    zero = call("Cast", call("Clip", call("Round", zero), *ends), to=type_code(kind))
    if axis is None:
        scale, zero = (call("Reshape", one, call.row([])) for one in (scale, zero))
    found = call("QuantizeLinear", x, scale, zero, axis=axis)
    found = Codes(1.0, 0, dtype).cut(call, found, least, most)
    return call("DequantizeLinear", found, scale, zero, axis=axis)
