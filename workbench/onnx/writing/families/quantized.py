"""Quantized values: codes between QuantizeLinear and DequantizeLinear, around the operators of real numbers.

Runtimes find such pairs and compute with the codes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, float32, qint8, quint8
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.codes import Codes, bounds
from workbench.onnx.writing.table import written

__all__: list[str] = []


def _real(call: Any, i: int) -> str:
    """Return an operand as real numbers."""
    codes = call.codes(i)
    if codes is None:
        return call.x(i, float32)  # type: ignore[no-any-return]
    return call("DequantizeLinear", call.raw(i), *codes.operands(call), **codes.attributes)  # type: ignore[no-any-return]


def _quantized(call: Any, x: str, codes: Codes, least: int, most: int) -> str:
    """Return the codes of real numbers: fewer than the type has are cut off before."""
    if codes.dtype not in (quint8, qint8):
        raise OnnxError(f"the operator QuantizeLinear makes no {codes.dtype}")
    if codes.axis is None:
        low, high = bounds(codes, least, most)
        if low is not None or high is not None:
            ends = [None if one is None else call.number(one, float32) for one in (low, high)]
            x = call("Clip", x, *ends)
    elif (least, most) != _whole(codes):
        raise OnnxError("codes along an axis take all that their type has")
    return call("QuantizeLinear", x, *codes.operands(call), **codes.attributes)  # type: ignore[no-any-return]


def _whole(codes: Codes) -> tuple[int, int]:
    limits = np.iinfo(codes.dtype.numpy)
    return int(limits.min), int(limits.max)


@written("quantize_per_tensor")
def _per_tensor(call: Any) -> Any:
    params = call.params
    codes = Codes(params["scale"], params["zero_point"], as_dtype(params["dtype"]))
    call.stands_for(codes)
    return _quantized(call, call.x(0, float32), codes, params["qmin"], params["qmax"])


@written("quantize_per_channel")
def _per_channel(call: Any) -> Any:
    params = call.params
    codes = Codes(params["scales"], params["zero_points"], as_dtype(params["dtype"]), params["axis"])
    call.stands_for(codes)
    return _quantized(call, call.x(0, float32), codes, params["qmin"], params["qmax"])


@written("dequantize")
def _dequantize(call: Any) -> Any:
    return _real(call, 0) if call.codes(0) is not None else call.raw(0)


@written("int_repr")
def _int_repr(call: Any) -> Any:
    return call("Identity", call.raw(0))


@written("fake_quantize_per_tensor", "fake_quantize_per_channel")
def _fake(call: Any) -> Any:
    params, kind = call.params, call.common
    if kind != float32:
        raise OnnxError("the operator QuantizeLinear takes float32")
    least, most = params["qmin"], params["qmax"]
    dtype = quint8 if least >= 0 else qint8
    low, high = _whole(Codes(1.0, 0, dtype))
    if least < low or most > high:
        raise OnnxError(f"codes from {least} to {most} are more than 8 bits have")
    along = call.op.name == "fake_quantize_per_channel"
    if along:
        codes = Codes(params["scales"], params["zero_points"], dtype, params["axis"])
    else:
        codes = Codes(params["scale"], params["zero_point"], dtype)
    x = call.x(0)
    if along and (least, most) != (low, high):
        shape = [-1 if i == codes.axis else 1 for i in range(call.rank(0))]
        scale, zero = np.asarray(codes.scale, np.float64), np.asarray(codes.zero_point, np.float64)
        for end, operator in ((least, "Max"), (most, "Min")):
            x = call(operator, x, call.constant(((end - zero) * scale).reshape(shape), float32))
        least, most = low, high
    found = _quantized(call, x, codes, least, most)
    return call("DequantizeLinear", found, *codes.operands(call), **codes.attributes)


@written("quantized_conv2d", "quantized_linear")
def _layer(call: Any) -> Any:
    params = call.params
    x, weight = _real(call, 0), _real(call, 1)
    bias = call.x(2, float32) if call.given(2) else None
    if call.op.name == "quantized_linear":
        if call.rank(0) == 2:
            found = call("Gemm", x, weight, bias, transB=1)
        else:
            found = call("MatMul", x, call.transpose(weight, [1, 0]))
            found = found if bias is None else call("Add", found, bias)
    else:
        found = call(
            "Conv", x, weight, bias, kernel_shape=list(call.sizes(1)[2:]), strides=list(params["stride"]),
            pads=[*params["padding"]] * 2, dilations=list(params["dilation"]), group=params["groups"],
        )  # fmt: skip
    if params["relu"]:
        found = call("Relu", found)
    if params.get("pool"):
        found = call("MaxPool", found, kernel_shape=[2, 2], strides=[2, 2])
    if params["scale"] is None:
        return found
    codes = Codes(params["scale"], params["zero_point"], quint8)
    call.stands_for(codes)
    return _quantized(call, found, codes, params["qmin"], params["qmax"])


@written("quantized_max_pool2d")
def _max_pool(call: Any) -> Any:
    params = call.params
    call.stands_for(call.codes(0))
    return call(
        "MaxPool", call.raw(0), kernel_shape=list(params["kernel"]), strides=list(params["stride"]),
        pads=[*params["padding"]] * 2, dilations=list(params["dilation"]), ceil_mode=int(params.get("ceil_mode", 0)),
    )  # fmt: skip
