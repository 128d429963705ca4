"""Ops that make one value of many, and that put values in order."""

from __future__ import annotations

import math
from typing import Any

from workbench.base.dtypes import bool_, float32, float64, int32, int64, uint8
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.table import written

__all__: list[str] = []


def reduced(call: Any, operator: str, name: str, axes: Any, keepdim: bool) -> Any:
    """Return a value reduced over axes: of none it is what it was."""
    if not len(axes):
        return call("Identity", name)
    since = 13 if operator == "ReduceSum" else 18
    return call.axes(operator, name, axes, since, keepdims=int(keepdim))


def _plain(call: Any) -> None:
    if call.kind(0).is_complex:
        raise OnnxError("complex numbers are no data type of the operator")


@written("sum", "mean", "prod", "amax", "amin")
def _reduced(call: Any) -> Any:
    _plain(call)
    operator = {"sum": "Sum", "mean": "Mean", "prod": "Prod", "amax": "Max", "amin": "Min"}[call.op.name]
    kind = call.kind(0)
    x = call.x(0, call.out)
    if kind == bool_ and operator in ("Max", "Min"):
        found = reduced(
            call, f"Reduce{operator}", call.x(0, int32), call.params["dim"], call.params["keepdim"]
        )
        return call.cast(found, int32, bool_)
    return reduced(call, f"Reduce{operator}", x, call.params["dim"], call.params["keepdim"])


@written("max", "min")
def _extreme(call: Any) -> Any:
    operator = "ReduceMax" if call.op.name == "max" else "ReduceMin"
    kind = call.kind(0)
    wide = int32 if kind == bool_ else kind
    found = reduced(call, operator, call.x(0, wide), range(call.rank(0)), False)
    return call.cast(found, wide, kind)


@written("any", "all")
def _truth(call: Any) -> Any:
    operator = "ReduceMax" if call.op.name == "any" else "ReduceMin"
    _plain(call)
    x = call.raw(0)
    if call.kind(0) != bool_:
        x = call("Not", call("Equal", x, call.number(0, call.kind(0))))
    found = reduced(call, operator, call.cast(x, bool_, int32), call.params["dim"], call.params["keepdim"])
    return (
        call.cast(call.cast(found, int32, bool_), bool_, call.out)
        if call.out != bool_
        else call.cast(found, int32, bool_)
    )


@written("logsumexp")
def _logsumexp(call: Any) -> Any:
    axes, keep = call.params["dim"], call.params["keepdim"]
    x = call.x(0)
    most = reduced(call, "ReduceMax", x, axes, True)
    if call.common in (float32, float64):
        # An infinity minus itself is nothing.
        most = call("Where", call("IsInf", most), call.number_like(0.0), most)
    inner = call("Exp", call("Sub", x, most))
    found = call("Add", call("Log", reduced(call, "ReduceSum", inner, axes, True)), most)
    return found if keep or not len(axes) else call.axes("Squeeze", found, axes)


@written("var", "std")
def _spread(call: Any) -> Any:
    _plain(call)
    axes, keep = call.params["dim"], call.params["keepdim"]
    x, kind, sizes = call.raw(0), call.kind(0), call.sizes(0)
    mean = reduced(call, "ReduceMean", x, axes, True)
    away = call("Sub", x, mean)
    total = reduced(call, "ReduceSum", call("Mul", away, away), axes, keep)
    count: Any = math.prod(sizes[axis] for axis in axes)
    left = count - call.params["correction"]
    if type(left) in (int, float):
        left = max(left, 0)
    found = call("Div", total, call.number(left, kind))
    return call("Sqrt", found) if call.op.name == "std" else found


@written("vector_norm")
def _norm(call: Any) -> Any:
    _plain(call)
    axes, keep, p = call.params["dim"], call.params["keepdim"], float(call.params["p"])
    kind = call.out
    x = call("Abs", call.x(0, kind))
    if p == math.inf or p == -math.inf:
        return reduced(call, "ReduceMax" if p > 0 else "ReduceMin", x, axes, keep)
    if p == 0:
        some = call.cast(call("Not", call("Equal", x, call.number(0, kind))), bool_, kind)
        return reduced(call, "ReduceSum", some, axes, keep)
    if p == 1:
        return reduced(call, "ReduceSum", x, axes, keep)
    if p == 2:
        return reduced(call, "ReduceL2", x, axes, keep)
    total = reduced(call, "ReduceSum", call("Pow", x, call.number(p, kind)), axes, keep)
    return call("Pow", total, call.number(1 / p, kind))


# ---------------------------------------------------------------------------------------------- places, order


def _ordered(call: Any) -> Any:
    """Return the operand in a type that the operators of order take, and what brings values back."""
    kind = call.kind(0)
    wide = int32 if kind in (bool_, uint8) or (kind.itemsize < 4 and not kind.is_floating_point) else kind
    return str(call.x(0, wide)), lambda found: call.cast(found, wide, kind)


def _row(call: Any, x: str) -> Any:
    """Return a number without dims as a row of one."""
    return str(call.reshape(x, [1])) if call.rank(0) == 0 else x


@written("argmax", "argmin")
def _place(call: Any) -> Any:
    operator = "ArgMax" if call.op.name == "argmax" else "ArgMin"
    x, _ = _ordered(call)
    axes, keep = call.params["dim"], call.params["keepdim"]
    if call.rank(0) == 0:
        return call.reshape(call(operator, _row(call, x), axis=0, keepdims=0), [])
    if len(axes) == 1:
        return call(operator, x, axis=axes[0], keepdims=int(keep))
    if tuple(axes) != tuple(range(call.rank(0))):
        raise OnnxError("the operator finds a place along one axis")
    found = call(operator, call.reshape(x, [-1]), axis=0, keepdims=0)
    return call.reshape(found, [1] * call.rank(0)) if keep else found


@written("max_dim", "min_dim")
def _extreme_and_place(call: Any) -> Any:
    axis, keep = call.params["dim"], call.params["keepdim"]
    x, back = _ordered(call)
    if call.rank(0) == 0:
        raise OnnxError("a number without dims has no place")
    word = "Max" if call.op.name == "max_dim" else "Min"
    value = back(reduced(call, f"Reduce{word}", x, [axis], keep))
    return value, str(call(f"Arg{word}", x, axis=axis, keepdims=int(keep)))


@written("topk", "sort")
def _topk(call: Any) -> Any:
    params, (x, back) = call.params, _ordered(call)
    if call.rank(0) == 0:
        x = call.reshape(x, [1])
        values, places = call("TopK", x, call.constant([1]), outputs=2, axis=0)
        return back(call.reshape(values, [])), str(call.reshape(places, []))
    largest = params["largest"] if call.op.name == "topk" else params["descending"]
    axis = params["dim"]
    count = params["k"] if call.op.name == "topk" else call.sizes(0)[axis]
    values, places = call("TopK", x, call.row([count]), outputs=2, axis=axis, largest=int(largest))
    return back(values), str(places)


@written("kthvalue", "median_dim")
def _kth(call: Any) -> Any:
    axis, keep, (x, back) = call.params["dim"], call.params["keepdim"], _ordered(call)
    if call.rank(0) == 0:
        raise OnnxError("a number without dims has no order")
    k = call.params["k"] if call.op.name == "kthvalue" else (call.sizes(0)[axis] + 1) // 2
    values, places = call("TopK", x, call.row([k]), outputs=2, axis=axis, largest=0)
    found = []
    for one in (values, places):
        last = call("Slice", one, call.constant([-1]), call.constant([1 << 62]), call.constant([axis]))
        found.append(str(last if keep else call.axes("Squeeze", last, [axis])))
    return back(found[0]), found[1]


@written("median")
def _median(call: Any) -> Any:
    x, back = _ordered(call)
    x, count = call.reshape(x, [-1]), math.prod(call.sizes(0))
    values, _ = call("TopK", x, call.row([(count + 1) // 2]), outputs=2, axis=0, largest=0)
    return back(call("Gather", values, call.constant(-1), axis=0))


# --------------------------------------------------------------------------------------------- one after other


@written("cumsum")
def _cumsum(call: Any) -> Any:
    kind = call.out
    wide = (
        kind if kind in (float32, float64, int32, int64) else int64 if not kind.is_floating_point else float32
    )
    x = call.x(0, wide)
    if call.rank(0) == 0:
        return call.cast(call("Identity", x), wide, kind)
    return call.cast(call("CumSum", x, call.constant(call.params["dim"])), wide, kind)


@written("logcumsumexp")
def _logcumsumexp(call: Any) -> Any:
    if call.rank(0) == 0:
        return call("Identity", call.x(0))
    axis = call.params["dim"]
    x = call.x(0)
    # The greatest of all, not of those so far: what is far below it is lost.
    most = reduced(call, "ReduceMax", x, [axis], True)
    total = call("CumSum", call("Exp", call("Sub", x, most)), call.constant(axis))
    return call("Add", call("Log", total), most)


@written("sum_to")
def _sum_to(call: Any) -> Any:
    own, sizes = call.sizes(0), call.params["sizes"]
    extra = len(own) - len(sizes)
    axes = [*range(extra)] + [extra + i for i, one in enumerate(sizes) if one == 1 and own[extra + i] != 1]
    found = reduced(call, "ReduceSum", call.raw(0), axes, True)
    return call.axes("Squeeze", found, range(extra)) if extra else found
