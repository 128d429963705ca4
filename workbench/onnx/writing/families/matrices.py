"""Products of matrices, and attention."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import float32, float64, int32, int64
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.table import written

__all__: list[str] = []


@written("matmul")
def _matmul(call: Any) -> Any:
    kind = call.common
    if kind.is_complex:
        raise OnnxError("complex numbers are no data type of the operator")
    wide = kind if kind.is_floating_point else int32 if kind == int32 else int64
    return call.cast(call("MatMul", call.x(0, wide), call.x(1, wide)), wide, kind)


@written("linear")
def _linear(call: Any) -> Any:
    x, weight, rank = call.x(0), call.x(1), call.rank(0)
    if not call.common.is_floating_point:
        raise OnnxError("whole numbers have no linear layer in the format")
    bias = call.x(2) if call.given(2) else None
    if rank == 2 and call.rank(1) == 2:
        return call("Gemm", x, weight, bias, transB=1)
    if call.rank(1) == 2:
        weight = call.transpose(weight, [1, 0])
    found = call("MatMul", x, weight)
    return found if bias is None else call("Add", found, bias)


@written("attention")
def _attention(call: Any) -> Any:
    params = call.params
    if params["dropout"]:
        raise OnnxError("it drops weights at random: call model.eval()")
    kind = call.common
    query, key, value = (call.x(i) for i in range(3))
    scores = call("MatMul", query, call.transpose(key, [0, 1, 3, 2]))
    scores = call("Mul", scores, call.number(float(params["scale"]), kind))
    if call.given(3):
        scores = call("Add", scores, call.x(3))
    if params["causal"]:
        rows, columns = call.sizes(0)[2], call.sizes(1)[2]
        row, column = (
            call("Range", call.number(0, int64), call.number(one, int64), call.number(1, int64))
            for one in (rows, columns)
        )
        later = call("Less", call.axes("Unsqueeze", row, [1]), column)
        scores = call("Where", later, call.number(float("-inf"), kind), scores)
    found = str(call("MatMul", call("Softmax", scores, axis=3), value))
    if not call.reads(1):
        return found, found
    most = call.axes("ReduceMax", scores, [3], 18, keepdims=1)
    total = call.axes("ReduceSum", call("Exp", call("Sub", scores, most)), [3], 13, keepdims=0)
    normal = call("Add", call("Log", total), call.axes("Squeeze", most, [3]))
    return found, call.cast(normal, kind, float32 if kind != float64 else kind)


@written("cdist")
def _cdist(call: Any) -> Any:
    p = float(call.params["p"])
    first = call.axes("Unsqueeze", call.x(0), [call.rank(0) - 1])
    second = call.axes("Unsqueeze", call.x(1), [call.rank(1) - 2])
    away = call("Abs", call("Sub", first, second))
    axis = [max(call.rank(0), call.rank(1))]
    if p == 2:
        return call.axes("ReduceL2", away, axis, 18, keepdims=0)
    if p == 1:
        return call.axes("ReduceSum", away, axis, 13, keepdims=0)
    if p == float("inf"):
        return call.axes("ReduceMax", away, axis, 18, keepdims=0)
    if p == 0:
        raise OnnxError("counting differences has no operator in the format")
    total = call.axes("ReduceSum", call("Pow", away, call.number_like(p)), axis, 13, keepdims=0)
    return call("Pow", total, call.number_like(1 / p))


@written("linalg_det")
def _det(call: Any) -> Any:
    if call.common not in (float32, float64):
        raise OnnxError("the operator Det takes numbers of 32 and 64 bits")
    return call("Det", call.x(0))
