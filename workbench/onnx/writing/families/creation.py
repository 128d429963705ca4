"""Ops that make tensors of sizes and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, bfloat16, bool_, float32, float64, int32, int64
from workbench.graph.sizes import is_symbolic
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import LARGEST
from workbench.onnx.writing.table import written

__all__: list[str] = []

_MOST = 4096
"""Of more values than this nothing is written that sizes could make."""


@written("full")
def _full(call: Any) -> Any:
    params = call.params
    kind = as_dtype(params["dtype"])
    wide = float32 if kind == bfloat16 else kind
    found = call("Expand", call.number(params["value"], wide), call.row(params["sizes"]))
    return call.cast(found, wide, kind)


@written("arange")
def _arange(call: Any) -> Any:
    params, kind = call.params, as_dtype(call.params["dtype"])
    wide = kind if kind in (int32, int64) else float64 if kind.is_floating_point else int64
    names = [call.number(params[one], wide) for one in ("start", "end", "step")]
    return call.cast(call("Range", *names), wide, kind)


@written("eye", "tri", "linspace", "runs", "pad_places", "grid_points")
def _numbers(call: Any) -> Any:
    """Of known sizes they are the numbers that the op gives."""
    if is_symbolic(call.params):
        return _of_sizes(call)
    found = call.op(**call.params)
    if found.numel() > LARGEST or found.numel() > _MOST**2:
        raise OnnxError(f"it makes {found.numel()} numbers, and the format has no operator for them")
    return call.constant(found, call.out)


def _of_sizes(call: Any) -> Any:
    params, kind = call.params, as_dtype(call.params["dtype"])
    match call.op.name:
        case "eye" | "tri":
            rows, columns = (_range(call, params[one]) for one in ("rows", "columns"))
            rows = call.axes("Unsqueeze", rows, [1])
            if call.op.name == "eye":
                found = call("Equal", rows, columns)
            else:
                found = call(
                    "GreaterOrEqual", call("Add", rows, call.number(params["offset"], int64)), columns
                )
            return call.cast(found, bool_, kind)
        case "pad_places":
            return call.cast(_places(call), int64, kind)
        case "runs":
            # Nothing is below zero: cutting is rounding down.
            whole = _range(call, params["count"] * params["length"])
            return call.cast(call("Div", whole, call.number(params["length"], int64)), int64, kind)
    raise OnnxError("its sizes are not known, and the format has no operator for it")


def _range(call: Any, count: Any) -> Any:
    return call("Range", call.number(0, int64), call.number(count, int64), call.number(1, int64))


def _places(call: Any) -> Any:
    """Return which entries stand in a dim that is padded with its own."""
    params = call.params
    size, before, after = params["size"], params["before"], params["after"]
    number = call.number
    found = call("Sub", _range(call, size + before + after), number(before, int64))
    match params["mode"]:
        case "replicate":
            return call("Min", call("Max", found, number(0, int64)), number(size - 1, int64))
        case "circular":
            return call("Mod", found, number(size, int64))
    # Reflected at the first entry and at the last.
    found = call("Abs", found)
    last = number(size - 1, int64)
    return call("Sub", last, call("Abs", call("Sub", last, found)))


@written("one_hot")
def _one_hot(call: Any) -> Any:
    kind = as_dtype(call.params["dtype"])
    count = call.params["count"]
    # Compared with each class: a class that there is not is a row of nothing.
    x = call.axes("Unsqueeze", call.x(0, int64), [call.rank(0)])
    classes = call.constant(np.arange(count)) if type(count) is int else _range(call, count)
    return call.cast(call("Equal", x, classes), bool_, kind)
