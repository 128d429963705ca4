"""What the house computes on codes: the op on real numbers between codes, with a bias in the codes of its sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from workbench.base.dtypes import bool_, dtype_of, float32, int32, int64
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core.dispatch import numbers
from workbench.core.op import Op, ops, table
from workbench.core.quantization import Quantization
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.around import Real
from workbench.onnx.writing.codes import Codes, bias_codes
from workbench.onnx.writing.families.reductions import reduced
from workbench.onnx.writing.table import RULES, written

__all__ = ["declare"]

_RESULT = ("scale", "zero_point", "qmin", "qmax", "relu", "pool")
"""What ops on codes are told beside what those on numbers are."""


def _bias(call: Any) -> dict[int, str]:
    """Return what is read for a bias: codes of 32 bits where it is known, under the scale of the sums."""
    known = call.shared.held.get(call.inputs[2]) if call.given(2) else None
    x, weight = call.codes(0), call.codes(1)
    found = None if None in (known, x, weight) else bias_codes(numbers(known), x, weight)
    if found is None:
        return {}
    values, codes = found
    return {2: codes.dequantized(call, call.constant(values, int32))}


def _real(call: Any, of: Op, names: dict[int, str]) -> Real:
    own = {key: value for key, value in call.params.items() if key not in _RESULT}
    return Real(call, of, own, names)


def _coded(call: Any, found: str) -> str:
    """Write the codes of a result, rectified and pooled as codes: both keep their order."""
    params = call.params
    relu, pool = params.get("relu"), params.get("pool")
    if params["scale"] is None:
        found = call("Relu", found) if relu else found
        return call("MaxPool", found, kernel_shape=[2, 2], strides=[2, 2]) if pool else found
    codes = Codes(params["scale"], params["zero_point"], dtype_of(call.node.outputs[0].tensor))
    call.stands_for(codes)
    least = max(params["qmin"], params["zero_point"]) if relu else params["qmin"]
    found = codes.quantized(call, found, least, params["qmax"])
    return call("MaxPool", found, kernel_shape=[2, 2], strides=[2, 2]) if pool else found


def _computed(of: Op, call: Any) -> str:
    """Write an op on codes by the rule of that on numbers."""
    weighted = isinstance(of.quantized, Quantization) and of.quantized.travels == "weighted"
    found = RULES[of.name](_real(call, of, _bias(call) if weighted else {}))
    return _coded(call, found if isinstance(found, str) else found[0])


@written("quantized_linear", codes=True)
def _linear(call: Any) -> Any:
    """Write an affine map of a matrix: runtimes have that in whole numbers with its bias."""
    real = _real(call, ops.linear, _bias(call))
    if call.rank(0) == 2:
        return _coded(call, RULES["linear"](real))
    x, codes = call.reshape(call.raw(0), [-1, call.sizes(0)[-1]]), call.codes(0)
    bias = real.x(2, float32) if call.given(2) else None
    found = call("Gemm", codes.dequantized(call, x), real.x(1, float32), bias, transB=1)
    return call.reshape(_coded(call, found), call.out_sizes())


@written(*(f"quantized_conv_transpose{n}d" for n in (1, 2, 3)), codes=True)
def _transposed(call: Any) -> Any:
    params = call.params
    real = _real(call, call.op, _bias(call))
    found = call(
        "ConvTranspose", real.x(0, float32), real.x(1, float32), real.x(2, float32) if call.given(2) else None,
        kernel_shape=list(call.sizes(1)[2:]), strides=list(params["stride"]), pads=[*params["padding"]] * 2,
        dilations=list(params["dilation"]), group=params["groups"], output_padding=list(params["output_padding"]),
    )  # fmt: skip
    return _coded(call, found)


@written("quantized_max_pool2d", codes=True)
def _max_pool(call: Any) -> Any:
    params = call.params
    call.stands_for(call.codes(0))
    return call(
        "MaxPool", call.raw(0), kernel_shape=list(params["kernel"]), strides=list(params["stride"]),
        pads=[*params["padding"]] * 2, dilations=list(params["dilation"]), ceil_mode=int(params.get("ceil_mode", 0)),
    )  # fmt: skip


@written("quantized_clone", codes=True)
def _recoded(call: Any) -> Any:
    """Write codes under another scale; those that have it already are only cut."""
    held, params = call.codes(0), call.params
    own = Codes(params["scale"], params["zero_point"], dtype_of(call.node.outputs[0].tensor))
    if held != own:
        return _coded(call, held.dequantized(call, call.raw(0)))
    call.stands_for(own)
    found = own.cut(call, call.raw(0), params["qmin"], params["qmax"])
    return call("Identity", found) if found == call.raw(0) else found


# ---------------------------------------------------------------------------- tables in codes


def _rows(call: Any) -> str:
    """Write the rows of a table that are named: a zero point between codes is taken off as a number."""
    table = call.codes(1)
    zero = np.asarray(table.zero_point)
    if zero.dtype.kind != "f":
        return str(call("Gather", table.dequantized(call, call.raw(1)), call.x(0, int64), axis=0))
    whole = replace(table, zero_point=np.zeros(zero.shape, np.int64))
    rows = call("Gather", whole.dequantized(call, call.raw(1)), call.x(0, int64), axis=0)
    less = call.constant((zero * np.asarray(table.scale)).astype(np.float32)[:, None], float32)
    return str(call("Sub", rows, call("Gather", less, call.x(0, int64), axis=0)))


@written("quantized_embedding", codes=True)
def _embedding(call: Any) -> Any:
    return _coded(call, _rows(call))


@written("quantized_embedding_bag", codes=True)
def _embedding_bag(call: Any) -> Any:
    """Write bags as a matrix of which place is in which, by the rows: the format has no sums of stretches."""
    places, edges = call.x(0, int64), call.x(2, int64)
    count = call("Shape", places)
    each = call("Range", call.constant(0, int64), call("Squeeze", count), call.constant(1, int64))
    ends = [call.constant(np.array([one]), int64) for one in (0, 1, -1, np.iinfo(np.int64).max)]
    starts = call("Unsqueeze", call("Slice", edges, ends[0], ends[2]), ends[1])
    stops = call("Unsqueeze", call("Slice", edges, ends[1], ends[3]), ends[1])
    inside = call("And", call("Not", call("Less", each, starts)), call("Less", each, stops))
    if call.params["padding"] >= 0:
        padding = call("Equal", places, call.constant(call.params["padding"], int64))
        inside = call("And", inside, call("Not", padding))
    rows = _rows(call)
    counted = call.cast(inside, bool_, float32)
    if call.params["mode"] == "max":
        lowest = call.constant(np.float32(-np.inf), float32)
        chosen = call("Where", call("Unsqueeze", inside, call.constant(np.array([2]), int64)), rows, lowest)
        most = reduced(call, "ReduceMax", chosen, [1], False)
        return call("Where", call("Equal", most, lowest), call.constant(0.0, float32), most)
    by = counted if not call.given(3) else call("Mul", counted, call.x(3, float32))
    found = call("MatMul", by, rows)
    if call.params["mode"] == "sum":
        return found
    many = reduced(call, "ReduceSum", counted, [1], True)
    return call("Div", found, call("Max", many, call.constant(1.0, float32)))


# ---------------------------------------------------------------------------- numbers beside codes


@written("quantized_add_scalar", "quantized_mul_scalar", codes=True)
def _scalar(call: Any) -> Any:
    """Write a number added or multiplied: what all codes become is worked out now, and looked up in a run."""
    codes = call.codes(0)
    if codes.axis is not None:
        raise OnnxError(
            "codes with a scale for each entry of a dim meet no number: call dequantize() before it"
        )
    low, high = code_range(codes.dtype)
    each = np.arange(low, high + 1).astype(codes.dtype.numpy)
    made: Any = call.op.forward(
        QuantizedArray(each, codes.scale, codes.zero_point, codes.dtype), **call.params
    )
    call.stands_for(Codes(made.scale, made.zero_point, made.dtype))
    if np.array_equal(made.codes, each):
        return call("Identity", call.raw(0))
    places = call.x(0, int32)
    if low:
        places = call("Sub", places, call.constant(low, int32))
    return call("Gather", call.constant(made.codes, codes.dtype.numpy), places, axis=0)


def declare() -> None:
    """Write each op that a statement of the table names as the one on codes, and that has no rule of its own.

    Called when all rules are there.
    """
    for op in table():
        said = op.quantized
        if not isinstance(said, Quantization) or not isinstance(said.kernel, str):
            continue
        if said.kernel not in RULES and op.name in RULES:
            rule: Callable[[Any], Any] = partial(_computed, op)
            written(said.kernel, codes=True)(rule)
