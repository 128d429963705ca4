"""Pooling."""

from __future__ import annotations

import math
from typing import Any

from workbench.base.dtypes import int64
from workbench.graph.sizes import is_symbolic
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.table import written

__all__ = ["averages"]


def _whole(call: Any) -> bool:
    """Say whether a window is all that there is."""
    sizes, params = call.sizes(0)[2:], call.params
    return tuple(params["kernel"]) == tuple(sizes) and not any(params["padding"])


def _checked(call: Any) -> None:
    if is_symbolic((call.params["kernel"], call.params["stride"], call.params["padding"])):
        raise OnnxError(
            "the size of its window differs from run to run, and the operator has a number for it"
        )


@written("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(call: Any) -> Any:
    _checked(call)
    params, kind = call.params, call.kind(0)
    if not kind.is_floating_point:
        raise OnnxError("whole numbers have no such pooling in the format")
    indexed = call.reads(1)
    attributes = {
        "kernel_shape": list(params["kernel"]), "strides": list(params["stride"]), "pads": [*params["padding"]] * 2,
        "dilations": list(params["dilation"]), "ceil_mode": int(params.get("ceil_mode", False)),
    }  # fmt: skip
    if attributes["ceil_mode"] and any(params["padding"]):
        # The operator counts a window that begins in the padding behind, and PyTorch does not.
        if any(type(one) is not int for one in call.sizes(0)[2:]):
            raise OnnxError("rounded up with a padding, its size needs sizes that are known")
        attributes = _exact(call, attributes)
    if not indexed:
        found = str(call("MaxPool", call.raw(0), **attributes))
        return found, found
    values, places = call("MaxPool", call.raw(0), outputs=2, **attributes)
    # The operator counts through the whole tensor, and here each channel counts for itself.
    sizes = call.sizes(0)
    space = call.number(math.prod(sizes[2:]), int64)
    return str(values), str(call("Mod", places, space))


def _exact(call: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes that give these sizes without rounding up: with what is missing as padding behind."""
    params, pads = call.params, list(call.params["padding"])
    ends = []
    for i, size in enumerate(call.sizes(0)[2:]):
        reach = params["dilation"][i] * (params["kernel"][i] - 1) + 1
        ends.append(max((call.out_sizes()[2 + i] - 1) * params["stride"][i] + reach - size - pads[i], 0))
    return {**attributes, "ceil_mode": 0, "pads": [*pads, *ends]}


@written("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(call: Any) -> Any:
    params, kind = call.params, call.kind(0)
    if not kind.is_floating_point:
        raise OnnxError("whole numbers have no such pooling in the format")
    divisor = params.get("divisor_override")
    if _whole(call) and not divisor:
        return call("GlobalAveragePool", call.raw(0))
    _checked(call)
    inside = params.get("count_include_pad", True) and any(params["padding"])
    if params.get("ceil_mode", False):
        raise OnnxError(
            "runtimes count the values of windows that are cut off at the end in ways of their own"
        )
    found = call(
        "AveragePool", call.raw(0), kernel_shape=list(params["kernel"]), strides=list(params["stride"]),
        pads=[*params["padding"]] * 2, count_include_pad=int(inside or bool(divisor)),
    )  # fmt: skip
    if divisor:
        found = call("Mul", found, call.number(math.prod(params["kernel"]) / divisor, kind))
    return found


@written("adaptive_avg_pool")
def averages(call: Any) -> Any:
    """Write means over areas: along each dim a product with a matrix of shares."""
    sizes, wanted, kind = call.sizes(0)[2:], call.params["sizes"], call.kind(0)
    if all(one == 1 for one in wanted):
        return call("GlobalAveragePool", call.raw(0))
    if any(type(one) is not int for one in (*sizes, *wanted)):
        raise OnnxError("its sizes are not known, and the format has no operator for it")
    x, rank = call.raw(0), call.rank(0)
    for i, (size, out) in enumerate(zip(sizes, wanted, strict=True)):
        if size == out:
            continue
        rows = []
        for place in range(out):
            start, end = place * size // out, -(-(place + 1) * size // out)
            rows.append([1 / (end - start) if start <= j < end else 0.0 for j in range(size)])
        axis = 2 + i
        order = [*(j for j in range(rank) if j != axis), axis]
        x = call("MatMul", call.transpose(x, order), call.constant(list(zip(*rows, strict=True)), kind))
        x = call.transpose(x, [order.index(j) for j in range(rank)])
    return x


@written("adaptive_max_pool")
def _adaptive_max(call: Any) -> Any:
    sizes, wanted = call.sizes(0)[2:], call.params["sizes"]
    if all(one == 1 for one in wanted) and not call.reads(1):
        found = str(call("GlobalMaxPool", call.raw(0)))
        return found, found
    if any(type(one) is not int for one in (*sizes, *wanted)) or any(
        one % other for one, other in zip(sizes, wanted, strict=True)
    ):
        raise OnnxError("its windows are of several sizes, and the format has no operator for it")
    kernel = [one // other for one, other in zip(sizes, wanted, strict=True)]
    if not call.reads(1):
        found = str(call("MaxPool", call.raw(0), kernel_shape=kernel, strides=kernel))
        return found, found
    values, places = call("MaxPool", call.raw(0), outputs=2, kernel_shape=kernel, strides=kernel)
    return str(values), str(call("Mod", places, call.number(math.prod(sizes), int64)))


@written("max_unpool")
def _max_unpool(call: Any) -> Any:
    """Put values to their places among zeros, channel by channel."""
    own, wanted = call.sizes(0), call.out_sizes()
    zeros = call("Expand", call.number(0, call.kind(0)), call.row([*own[:2], math.prod(wanted[2:])]))
    row = [*own[:2], math.prod(own[2:])]
    values, places = call.reshape(call.raw(0), row), call.reshape(call.x(1, int64), row)
    return call.reshape(call("ScatterElements", zeros, places, values, axis=2), wanted)
