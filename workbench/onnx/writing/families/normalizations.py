"""Normalizations."""

from __future__ import annotations

import math
from typing import Any

from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.families.reductions import reduced
from workbench.onnx.writing.table import written

__all__: list[str] = []


def _standardised(call: Any, x: str, axes: list[int], eps: float) -> Any:
    """Return values less their mean, divided by their deviation; the mean and the reciprocal deviation."""
    number = call.number_like
    mean = reduced(call, "ReduceMean", x, axes, True)
    away = call("Sub", x, mean)
    spread = reduced(call, "ReduceMean", call("Mul", away, away), axes, True)
    rstd = call("Reciprocal", call("Sqrt", call("Add", spread, number(float(eps)))))
    return str(call("Mul", away, rstd)), mean, str(rstd)


def _scaled(call: Any, x: str, weight: int, bias: int, shape: list[int] | None) -> Any:
    for i, operator in ((weight, "Mul"), (bias, "Add")):
        if call.given(i):
            factor = call.x(i)
            x = str(call(operator, x, factor if shape is None else call.reshape(factor, shape)))
    return x


@written("batch_norm_inference")
def _batch_norm_inference(call: Any) -> Any:
    if call.rank(0) < 2 or call.kind(0) != call.common:
        raise OnnxError("the operator normalizes the channels of numbers with a point")
    names = [call.x(i, call.common) for i in (0, 3, 4, 1, 2)]
    return call("BatchNormalization", *names, epsilon=float(call.params["eps"]))


@written("batch_norm")
def _batch_norm(call: Any) -> Any:
    rank = call.rank(0)
    axes = [i for i in range(rank) if i != 1]
    found, mean, rstd = _standardised(call, call.x(0), axes, call.params["eps"])
    found = _scaled(call, found, 1, 2, [-1] + [1] * (rank - 2))
    return found, call.reshape(mean, [-1]), call.reshape(rstd, [-1])


@written("layer_norm")
def _layer_norm(call: Any) -> Any:
    count, rank = call.params["count"], call.rank(0)
    axes = list(range(rank - count, rank))
    if call.has(17) and not call.reads(1) and not call.reads(2):
        sizes = call.sizes(0)[rank - count :]
        weight = call.x(1) if call.given(1) else None
        if weight is None and all(type(one) is int for one in sizes):
            weight = call("Expand", call.number_like(1.0), call.row(sizes))
        if weight is not None:
            bias = call.x(2) if call.given(2) else None
            found = str(
                call(
                    "LayerNormalization",
                    call.x(0),
                    weight,
                    bias,
                    axis=-count,
                    epsilon=float(call.params["eps"]),
                )
            )
            return found, found, found
    found, mean, rstd = _standardised(call, call.x(0), axes, call.params["eps"])
    return _scaled(call, found, 1, 2, None), mean, rstd


@written("rms_norm")
def _rms_norm(call: Any) -> Any:
    count, rank, x = call.params["count"], call.rank(0), call.x(0)
    axes = list(range(rank - count, rank))
    square = reduced(call, "ReduceMean", call("Mul", x, x), axes, True)
    rstd = call("Reciprocal", call("Sqrt", call("Add", square, call.number_like(float(call.params["eps"])))))
    return _scaled(call, str(call("Mul", x, rstd)), 1, 99, None), str(rstd)


@written("group_norm")
def _group_norm(call: Any) -> Any:
    groups, sizes = call.params["groups"], call.sizes(0)
    n, channels, rest = sizes[0], sizes[1], math.prod(sizes[2:])
    if (
        groups == channels
        and type(channels) is int
        and len(sizes) > 2
        and not call.reads(1)
        and not call.reads(2)
    ):
        weight = call.x(1) if call.given(1) else call("Expand", call.number_like(1.0), call.row([channels]))
        bias = call.x(2) if call.given(2) else call("Expand", call.number_like(0.0), call.row([channels]))
        found = str(call("InstanceNormalization", call.x(0), weight, bias, epsilon=float(call.params["eps"])))
        return found, found, found
    x = call.reshape(call.x(0), [n, groups, channels // groups * rest])
    found, mean, rstd = _standardised(call, x, [2], call.params["eps"])
    found = _scaled(call, call.reshape(found, sizes), 1, 2, [-1] + [1] * (len(sizes) - 2))
    return found, call.reshape(mean, [n, groups]), call.reshape(rstd, [n, groups])


@written("running_statistics")
def _running(call: Any) -> Any:
    raise OnnxError("it changes the statistics of a model in training, and a file changes nothing")
