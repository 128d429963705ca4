"""Activations."""

from __future__ import annotations

import math
from typing import Any

from workbench.base.dtypes import float64
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.table import written

__all__: list[str] = []


@written("hardtanh")
def _hardtanh(call: Any) -> Any:
    low, high = call.number_like(call.params["low"]), call.number_like(call.params["high"])
    return call("Clip", call.x(0), low, high)


@written("hardsigmoid")
def _hardsigmoid(call: Any) -> Any:
    return call("HardSigmoid", call.x(0), alpha=1 / 6, beta=0.5)


@written("hardswish")
def _hardswish(call: Any) -> Any:
    x = call.x(0)
    if call.has(14):
        return call("HardSwish", x)
    return call("Mul", x, call("HardSigmoid", x, alpha=1 / 6, beta=0.5))


@written("leaky_relu")
def _leaky_relu(call: Any) -> Any:
    slope = call.params["slope"]
    if call.common == float64:
        # The attribute is a float32, and the slope may be none.
        x = call.x(0)
        return call("PRelu", x, call.number_like(slope))
    return call("LeakyRelu", call.x(0), alpha=float(slope))


@written("prelu")
def _prelu(call: Any) -> Any:
    slope = call.x(1)
    count, rank = call.rank(1), call.rank(0)
    if count > rank:
        x = call.x(0)
        return call("Where", call("Greater", x, call.number_like(0.0)), x, call("Mul", x, slope))
    if count == 0:
        slope = call.reshape(slope, [1])
    elif count == 1 and rank > 1:
        # One for each channel: the operator's broadcasting goes from the right.
        shape = [-1] + [1] * (rank - 2)
        slope = call.reshape(slope, shape)
    return call("PRelu", call.x(0), slope)


@written("elu")
def _elu(call: Any) -> Any:
    x, params, number = call.x(0), call.params, call.number_like
    if params["scale"] == 1 and params["input_scale"] == 1 and call.common != float64:
        return call("Elu", x, alpha=float(params["alpha"]))
    zero = number(0.0)
    half = call("Mul", call("Min", x, zero), number(params["input_scale"] / 2))
    below = call("Mul", call("Sinh", half), call("Exp", half))
    below = call("Mul", below, number(2.0 * params["alpha"] * params["scale"]))
    return call("Where", call("Greater", x, zero), call("Mul", x, number(params["scale"])), below)


@written("softshrink")
def _softshrink(call: Any) -> Any:
    x, bound = call.x(0), call.params["bound"]
    high = call("Max", call("Sub", x, call.number_like(bound)), call.number_like(0.0))
    low = call("Min", call("Add", x, call.number_like(bound)), call.number_like(0.0))
    return call("Add", high, low)


@written("hardshrink")
def _hardshrink(call: Any) -> Any:
    x, bound = call.x(0), call.number_like(call.params["bound"])
    return call("Where", call("LessOrEqual", call("Abs", x), bound), call.number_like(0.0), x)


@written("threshold")
def _threshold(call: Any) -> Any:
    x = call.x(0)
    above = call("Greater", x, call.number_like(call.params["threshold"]))
    return call("Where", above, x, call.number_like(call.params["value"]))


@written("softplus")
def _softplus(call: Any) -> Any:
    x, beta, number = call.x(0), call.params["beta"], call.number_like
    scaled = call("Mul", x, number(beta)) if beta != 1 else x
    found = call("Softplus", scaled)
    if beta != 1:
        found = call("Div", found, number(beta))
    return call("Where", call("Greater", scaled, number(call.params["threshold"])), x, found)


@written("logsigmoid")
def _logsigmoid(call: Any) -> Any:
    return call("Neg", call("Softplus", call("Neg", call.x(0))))


@written("mish")
def _mish(call: Any) -> Any:
    x = call.x(0)
    return call("Mul", x, call("Tanh", call("Softplus", x)))


@written("silu")
def _silu(call: Any) -> Any:
    x = call.x(0)
    return call("Mul", x, call("Sigmoid", x))


@written("gelu")
def _gelu(call: Any) -> Any:
    x, number = call.x(0), call.number_like
    if call.has(20):
        return call("Gelu", x)
    # In this order runtimes find it again, and compute it as one.
    inner = call("Add", call("Erf", call("Div", x, number(math.sqrt(2)))), number(1.0))
    return call("Mul", call("Mul", x, inner), number(0.5))


@written("gelu_tanh")
def _gelu_tanh(call: Any) -> Any:
    x, number = call.x(0), call.number_like
    if call.has(20):
        return call("Gelu", x, approximate="tanh")
    cube = call("Mul", call("Mul", x, call("Mul", x, x)), number(0.044715))
    inner = call("Mul", call("Add", x, cube), number(math.sqrt(2 / math.pi)))
    return call("Mul", call("Mul", x, call("Add", call("Tanh", inner), number(1.0))), number(0.5))


@written("glu")
def _glu(call: Any) -> Any:
    axis = call.params["dim"]
    half = call.row([call.sizes(0)[axis] // 2] * 2)
    first, second = call("Split", call.x(0), half, outputs=2, axis=axis)
    return call("Mul", first, call("Sigmoid", second))


@written("softmax", "log_softmax")
def _softmax(call: Any) -> Any:
    operator = "Softmax" if call.op.name == "softmax" else "LogSoftmax"
    size = call.sizes(0)[call.params["dim"]] if call.rank(0) else 1
    # A size that is not known yet is no int.
    if operator == "Softmax" and type(size) is int and size == 1:
        # It is 1 over one value, and NaN where that is not finite; ONNX Runtime gives the code of 0 for codes there.
        nothing = call("Mul", call.x(0), call.number_like(0.0))
        return call("Add", nothing, call.number_like(1.0))
    if call.rank(0) == 0:
        return call.reshape(call(operator, call.reshape(call.x(0), [1]), axis=0), [])
    return call(operator, call.x(0), axis=call.params["dim"])


@written("dropout")
def _dropout(call: Any) -> Any:
    params = call.params
    if not call.shared.training:
        raise OnnxError(
            "it draws numbers: call model.eval(), or pass training=True to write it as a Dropout in training"
        )
    if (params["high"], params["low"]) != (0.0, 0.0) or call.given(1):
        raise OnnxError("a file's Dropout makes zeros of single values, and this one does something else")
    if tuple(params["drawn"]) != (0, call.rank(0)):
        raise OnnxError("a file's Dropout drops single values, and this one whole channels")
    ratio, training = call.number_like(params["p"]), call.constant(True, "bool")
    return call("Dropout", call.x(0), ratio, training)
