"""Resampling of pictures."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import float32
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.families.pools import averages
from workbench.onnx.writing.table import written

__all__: list[str] = []


@written("resample")
def _resample(call: Any) -> Any:
    params, kind = call.params, call.kind(0)
    mode = params["mode"]
    if not kind.is_floating_point:
        raise OnnxError("whole numbers are rounded after each dim, and the operator rounds once")
    if params["antialias"]:
        raise OnnxError("runtimes smooth in ways of their own")
    if mode == "area":
        return averages(call)
    if mode.startswith("nearest"):
        place = "half_pixel" if mode == "nearest-exact" else "asymmetric"
    else:
        place = "align_corners" if params["align_corners"] else "half_pixel"
    scales = params["scales"]
    named = {
        "mode": "nearest" if mode.startswith("nearest") else mode, "coordinate_transformation_mode": place,
        "nearest_mode": "floor" if mode == "nearest" else "round_prefer_ceil" if mode == "nearest-exact" else None,
        "cubic_coeff_a": -0.75 if mode == "cubic" else None,
    }  # fmt: skip
    x = call.x(0, kind)
    if any(one is not None for one in scales) and not params["align_corners"]:
        if any(one is None for one in scales):
            raise OnnxError("some dims have a scale and some a size")
        row = call.constant([1.0, 1.0, *map(float, scales)], float32)
        return call("Resize", x, None, row, **named)
    return call("Resize", x, None, None, call.row([*call.sizes(0)[:2], *params["sizes"]]), **named)


@written("sample_at")
def _sample_at(call: Any) -> Any:
    """For each of the few values picked a product, channel by channel."""
    x, index, weight = call.raw(0), call.raw(1), call.raw(2)
    n, channels, _ = call.sizes(0)
    count, places = call.sizes(1)[1:]
    row = call.reshape(index, [n, 1, count * places])
    row = call("Expand", row, call.row([n, channels, count * places]))
    found = call.reshape(call("GatherElements", x, row, axis=2), [n, channels, count, places])
    weighted = call("Mul", found, call.axes("Unsqueeze", weight, [1]))
    return call.axes("ReduceSum", weighted, [2], 13, keepdims=0)
