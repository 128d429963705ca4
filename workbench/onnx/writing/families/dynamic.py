"""Weights in codes that meet what is quantized in each run, or nothing that is quantized at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from workbench.base.dtypes import float32, int32, uint8
from workbench.core.op import ops
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import Message
from workbench.onnx.values import type_code
from workbench.onnx.writing.around import Real
from workbench.onnx.writing.bodies import Body
from workbench.onnx.writing.calls import Call
from workbench.onnx.writing.table import RULES, written

__all__: list[str] = []

_SMALLEST = 6.1e-5
"""Scales are not chosen below this."""
_BYTE = 255
_FLOAT8 = {"float8_e4m3fn": (17, 448.0), "float8_e5m2": (19, 57344.0)}
"""The format's code of each float of 8 bits, and its largest number."""


class _Weight:
    """A weight in codes [out, in] as products of whole numbers take it: [in, out], and a scale for each column."""

    def __init__(self, call: Any, i: int) -> None:
        codes = call.codes(i)
        if codes is None or codes.group is not None or codes.nibbles or np.any(codes.zero_point):
            raise OnnxError(
                "what is quantized in a run meets a weight of 8 bits around zero, with one scale or one for each row: "
                "quantize it to qint8, per tensor or per channel"
            )
        if codes.dtype.numpy.itemsize > 1 or codes.axis not in (None, 0):
            raise OnnxError(
                f"the weight is {codes.dtype} along the dim {codes.axis}, and is to be qint8 along its rows"
            )
        self.name = call.transpose(call.raw(i), [1, 0])
        self.scale = call.constant(np.asarray(codes.scale, np.float32), float32)


def _range(call: Any, x: str, highest: int, by_row: bool) -> tuple[str, str]:
    """Write scale and zero point of the values that there are, or of those of each row."""
    ends = []
    for reduce, operator in (("ReduceMin", "Min"), ("ReduceMax", "Max")):
        most = call.axes(reduce, x, [1], 18, keepdims=0) if by_row else call(reduce, x, keepdims=0)
        ends.append(call(operator, most, call.number(0.0, float32)))
    low, high = ends
    scale = call("Div", call("Sub", high, low), call.number(float(highest), float32))
    scale = call("Max", scale, call.number(_SMALLEST, float32))
    zero = call("Round", call("Div", call("Neg", low), scale))
    zero = call("Clip", zero, call.number(0.0, float32), call.number(float(highest), float32))
    return scale, call("Cast", zero, to=type_code(uint8))


def _product(call: Any, x: str, weight: _Weight, bias: str | None, highest: int) -> str:
    """Write values times a weight: quantized by their range, multiplied as whole numbers, brought back."""
    if highest == _BYTE:
        codes, scale, zero = call("DynamicQuantizeLinear", x, outputs=3)
    else:
        scale, zero = _range(call, x, highest, by_row=False)
        codes = _cut(call, call("QuantizeLinear", x, scale, zero), highest)
    whole = call("Cast", call("MatMulInteger", codes, weight.name, zero), to=type_code(float32))
    found = call("Mul", whole, call("Mul", scale, weight.scale))
    return str(found if bias is None else call("Add", found, bias))


def _cut(call: Any, codes: str, highest: int) -> str:
    if highest == _BYTE:
        return codes
    return str(call("Clip", codes, call.constant(0, uint8), call.constant(highest, uint8)))


def _product_by_row(call: Any, x: str, weight: _Weight, bias: str | None, highest: int, sizes: Any) -> str:
    """Write the same where each row has a scale: products with its zero point are those with sums of columns."""
    rows = call.reshape(x, [-1, sizes[0]])
    scale, zero = _range(call, rows, highest, by_row=True)
    codes = _cut(call, call("QuantizeLinear", rows, scale, zero, axis=0), highest)
    sums = call.axes("ReduceSum", call("Cast", weight.name, to=type_code(int32)), [0], 13, keepdims=1)
    zeros = call.axes("Unsqueeze", call("Cast", zero, to=type_code(int32)), [1])
    whole = call("Sub", call("MatMulInteger", codes, weight.name), call("Mul", zeros, sums))
    scales = call("Mul", call.axes("Unsqueeze", scale, [1]), weight.scale)
    found = call("Mul", call("Cast", whole, to=type_code(float32)), scales)
    found = found if bias is None else call("Add", found, bias)
    return str(call.reshape(found, sizes[1]))


@written("quantized_linear_dynamic", codes=True)
def _linear_dynamic(call: Any) -> Any:
    params = call.params
    x, weight = call.x(0, float32), _Weight(call, 1)
    bias = call.x(2, float32) if call.given(2) else None
    if params["by_row"]:
        sizes = call.sizes(0)[-1], call.out_sizes()
        found = _product_by_row(call, x, weight, bias, params["highest"], sizes)
    else:
        found = _product(call, x, weight, bias, params["highest"])
    return call("Relu", found) if params["relu"] else found


@written("quantized_linear_weight_only", codes=True)
def _linear_weight_only(call: Any) -> Any:
    return RULES["linear"](Real(call, ops.linear, {}))


# ------------------------------------------------------------------------------------- recurrent layers

Step = Callable[[Any, str, list[str], Callable[[str], str]], list[str]]


def _gates(call: Any, name: str, count: int, size: int) -> Any:
    return call("Split", name, call.row([size] * count), outputs=count, axis=1)


def _lstm_step(call: Any, x: str, states: list[str], product: Callable[[str], str]) -> list[str]:
    size = call.sizes(1)[-1]
    i, f, g, o = _gates(call, call("Add", x, product(states[0])), 4, size)
    kept = call("Mul", call("Sigmoid", f), states[1])
    cell = call("Add", kept, call("Mul", call("Sigmoid", i), call("Tanh", g)))
    return [call("Mul", call("Sigmoid", o), call("Tanh", cell)), cell]


def _gru_step(call: Any, x: str, states: list[str], product: Callable[[str], str]) -> list[str]:
    size = call.sizes(1)[-1]
    (r, z, n), (a, b, c) = _gates(call, x, 3, size), _gates(call, product(states[0]), 3, size)
    reset, keep = call("Sigmoid", call("Add", r, a)), call("Sigmoid", call("Add", z, b))
    fresh = call("Tanh", call("Add", n, call("Mul", reset, c)))
    return [call("Add", fresh, call("Mul", keep, call("Sub", states[0], fresh)))]


def _rnn_step(call: Any, x: str, states: list[str], product: Callable[[str], str]) -> list[str]:
    return [call("Relu" if call.params["relu"] else "Tanh", call("Add", x, product(states[0])))]


def _recurrent(call: Any, count: int, step: Step) -> Any:
    """Write layers one after the other, each way of each; what they are given and their states are quantized."""
    params, steps = call.params, call.params["batch_sizes"]
    if steps is not None and len(steps) > 1:
        raise OnnxError(
            "packed sequences in codes have no form: pad them, or leave the layer in floating point"
        )
    x, each = call.x(0, float32), 4 if params["biases"] else 2
    places = range((len(call.inputs) - 1 - count) // each)
    ends: list[list[str]] = []
    for first in places[:: params["directions"]]:
        outputs = []
        for way in range(params["directions"]):
            place = first + way
            weights = _weights(call, 1 + count + each * place, params["biases"])
            pre = _product(call, x, *weights[0], params["highest"])
            before = [
                call("Gather", call.x(1 + k, float32), call.constant(place), axis=0) for k in range(count)
            ]
            run = partial(_stepped, step, weights[1], params["highest"])
            found = run(call, pre, before) if steps is not None else _scan(call, pre, before, run, way)
            outputs.append(found[0] if steps is not None else found[-1])
            ends.append(found[:count])
        x = outputs[0] if len(outputs) == 1 else call("Concat", *outputs, axis=-1)
    last = [[call.axes("Unsqueeze", end[k], [0]) for end in ends] for k in range(count)]
    return call("Identity", x), *(call("Concat", *one, axis=0) for one in last)


def _weights(call: Any, place: int, biases: bool) -> list[tuple[_Weight, str | None]]:
    """Return what inputs and states are multiplied with, each with its bias."""
    return [(_Weight(call, place + k), call.x(place + 2 + k, float32) if biases else None) for k in range(2)]


def _stepped(
    step: Step, weight: tuple[_Weight, str | None], highest: int, call: Any, x: str, before: list[str]
) -> list[str]:
    """Write a step: its new states, the first of which is what it gives."""
    return step(call, x, before, lambda state: _product(call, state, *weight, highest))


def _scan(call: Any, x: str, before: list[str], run: Callable[..., list[str]], way: int) -> list[str]:
    """Write all steps; return the last states, and what each step gives."""
    inner = Call(Body(call.shared, call.body), call.node)
    names = [call.shared.fresh(f"{call.node.name}/{word}") for word in ("hidden", "cell")[: len(before)]]
    row = call.shared.fresh(f"{call.node.name}/step")
    after = run(inner, row, names)
    out = inner("Identity", after[0])
    body = Message(
        "Graph", name=f"{call.node.name}/body", node=inner.body.nodes,
        input=[Message("ValueInfo", name=one) for one in (*names, row)],
        output=[Message("ValueInfo", name=one) for one in (*after, out)],
    )  # fmt: skip
    return list(
        call(
            "Scan", *before, x, outputs=len(before) + 1, body=body, num_scan_inputs=1, scan_input_directions=[way],
            scan_output_directions=[way],
        )
    )  # fmt: skip


@written("quantized_lstm", codes=True)
def _lstm(call: Any) -> Any:
    return _recurrent(call, 2, _lstm_step)


@written("quantized_gru", codes=True)
def _gru(call: Any) -> Any:
    return _recurrent(call, 1, _gru_step)


@written("quantized_rnn", codes=True)
def _rnn(call: Any) -> Any:
    return _recurrent(call, 1, _rnn_step)


# ---------------------------------------------------------------------------------- floats of 8 bits


@written("fake_float8")
def _float8(call: Any) -> Any:
    if not call.has(19):
        raise OnnxError("floats of 8 bits came with version 19 of the operators: pass opset=19")
    code, largest = _FLOAT8[call.params["dtype"]]
    scale = call.number_like(call.params["scale"])
    ends = [call.number_like(one) for one in (-largest, largest)]
    shown = call("Cast", call("Clip", call("Div", call.x(0), scale), *ends), to=type_code(float32))
    narrow = call("Cast", call("Cast", shown, to=code), to=type_code(call.common))
    return call("Mul", narrow, scale)
