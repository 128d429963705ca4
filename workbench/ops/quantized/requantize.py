"""From exact sums to codes: what all layers on codes share.

Each formula rounds to float32 where the library that it follows does, so that NumPy, our kernels and PyTorch give the
same codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dtypes import float32, qint8, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import Absent
from workbench.ops.quantized.engines import Requantization, requantization

__all__ = [
    "NO_GRADIENT", "OUTPUT", "around_zero", "fits_bias", "fits_kernel", "output_type", "packed", "requantized",
    "require_one_scale", "run_packed", "sample_codes", "sample_weights",
]  # fmt: skip

NO_GRADIENT = Absent("codes are steps: train with fake quantization in floating point, then convert")
OUTPUT = ("scale", "zero_point", "qmin", "qmax", "relu")
"""What a layer on codes is told of its result."""


def around_zero(q: QuantizedArray) -> Any:
    """Return codes less their zero point, in float64, which holds every sum of their products exactly."""
    return q.codes.astype(np.float64) - q.along_axis(q.zero_point)


def _twice_inverted(scale: float) -> Any:
    # As PyTorch tells a scale to oneDNN: its last bit may change.
    return np.float32(1) / np.float32(1 / scale)


def _whole(sums: Any, factors: Any) -> Any:
    """Multiply by numbers below 1, of 31 bits, and shift to the right; both are rounded, as QNNPACK does it."""
    fraction, exponent = np.frexp(factors)
    multiplier = (fraction.astype(np.float64) * 2.0**31).astype(np.int64)
    right = np.clip(-exponent.astype(np.int64), -32, 31)
    limits = np.iinfo(np.int32)
    # What is multiplied by more than 1 is shifted to the left first.
    wide = np.clip(sums * (np.int64(1) << np.maximum(-right, 0)), limits.min, limits.max)
    right = np.maximum(right, 0)
    product = (wide * multiplier + (1 << 30)) >> 31
    mask = (np.int64(1) << right) - 1
    remainder = (product & mask) - (product < 0)
    return (product >> right) + (remainder > (mask >> 1))


def require_one_scale(op: str, x: QuantizedArray) -> None:
    """Raise `QuantizationError` for codes of values that have several scales: they cannot be added to each other."""
    if not x.per_tensor:
        raise QuantizationError(
            f"{op} takes codes under one scale, and got some with {x.scale.size} along dim {x.axis}: "
            "quantize_per_tensor(x.dequantize(), …) gives them one"
        )


def requantized(
    sums: Any,
    x: QuantizedArray,
    weight_scales: Any,
    bias: Any,
    how: Requantization,
    *,
    scale: float | None,
    zero_point: int,
    qmin: int,
    qmax: int,
    relu: bool,
) -> QuantizedArray | Any:
    """Bring exact sums of products to codes, or to float32 where `scale` is None.

    `weight_scales` and `bias` broadcast against the sums.
    """
    require_one_scale("a quantized layer", x)
    own, weights = np.float32(x.scale), np.asarray(weight_scales, np.float32)
    factors = own * weights
    added = np.float32(0) if bias is None else np.asarray(bias, np.float32)
    if scale is None:
        real = sums.astype(np.float32) * factors + added
        return np.maximum(real, np.float32(0)) if relu else real
    with np.errstate(over="ignore", invalid="ignore"):
        if how == "real":
            real = (sums.astype(np.float32) * _twice_inverted(x.scale)) * weights + added
            inverse = np.float32(1) / _twice_inverted(scale)
            codes = np.rint(real * inverse + np.float32(zero_point))
        elif how == "joined":
            joined = sums.astype(np.float32) + added / factors
            codes = np.rint(joined * (factors / np.float32(scale))) + np.float32(zero_point)
        else:
            whole = np.clip(np.rint(added.astype(np.float64) / factors), -(2.0**31), 2.0**31 - 1)
            codes = (
                _whole(sums.astype(np.int64) + whole.astype(np.int64), factors / np.float32(scale))
                + zero_point
            )
    # The code of zero is the least a rectified value has.
    low = max(qmin, zero_point) if relu else qmin
    return QuantizedArray(np.clip(codes, low, qmax).astype(np.uint8), scale, zero_point, quint8)


def output_type(dtype: Any, params: Any) -> Any:
    """Return the type of a layer's result: codes, or float32 where it is told no scale."""
    return float32.numpy if params["scale"] is None else quint8


# --------------------------------------------------------------------------- packed once, and run often


def packed(weight: QuantizedArray, bias: Any, kind: Any, make: Callable[[Any], Any]) -> Any:
    """Return the compiled layer of these weights, packed once; a bias whose values changed packs it again."""
    held = weight.cache.get(kind)
    # By its bytes: a bias may be changed in place, which no identity would tell.
    now = b"" if bias is None else bias.tobytes()
    if held is None or held[0] != now:
        own = None if bias is None else np.array(bias, np.float32)
        held = weight.cache[kind] = (now, make(own))
    return held[1]


def fits_kernel(x: Any, weight: QuantizedArray, axis: int = 0) -> bool:
    """Say whether compiled code takes these codes: unsigned ones of values, signed ones of weights around zero."""
    fits = weight.cache.get("fits")
    # Codes never change, so that what they fit is found out once.
    if fits is None:
        signed = weight.dtype is qint8 and weight.axis in (None, axis) and not np.any(weight.zero_point)
        fits = weight.cache["fits"] = signed and bool(np.all(np.asarray(weight.scale) > 0))
    return fits and x.dtype is quint8 and x.axis is None and x.scale > 0 and kernels.available()


def fits_bias(x: Any, weight: QuantizedArray, bias: Any, kind: str) -> bool:
    """Say whether compiled code takes a bias: by whole numbers its sums leave room for one of 30 bits and a sign."""
    if bias is None or requantization(kind) != "whole":
        return True
    scales = np.asarray(weight.scale, np.float64)
    # Of a transposed layer with groups each has the same scales.
    along = scales if scales.size in (1, bias.size) else np.resize(scales, bias.size)
    return bool(np.all(np.abs(bias) < (2.0**30 - 1) * (x.scale * along)))


def run_packed(layer: Any, x: Any, codes: Any, kind: str, out: dict[str, Any], **settings: Any) -> Any:
    """Run a compiled layer on codes, and say what its result stands for."""
    scale, zero, relu = out["scale"], out["zero_point"], out["relu"]
    found = layer.run(
        codes,
        x_scale=x.scale,
        x_zero_point=x.zero_point,
        scale=scale,
        zero_point=zero,
        relu=relu,
        highest=out["qmax"],
        requantization=requantization(kind),
        **settings,
    )
    if scale is None:
        return found
    # The kernel knows one lower bound, the code of zero of a rectified value.
    if out["qmin"] > (zero if relu else 0):
        np.maximum(found, np.uint8(out["qmin"]), out=found)
    return QuantizedArray.own(found, scale, zero, quint8)


# ------------------------------------------------------------------------------------------- samples


def sample_codes(*shape: int, high: int = 127) -> QuantizedArray:
    """Return codes of values for samples."""
    values = np.random.default_rng(shape).integers(0, high, shape).astype(np.uint8)
    return QuantizedArray(values, 0.02, 60, quint8)


def sample_weights(*shape: int, per_channel: bool = True, axis: int = 0) -> QuantizedArray:
    """Return codes of weights for samples."""
    values = np.random.default_rng(shape).integers(-128, 128, shape).astype(np.int8)
    if not per_channel:
        return QuantizedArray(values, 0.01, 0, qint8)
    count = shape[axis]
    return QuantizedArray(values, np.linspace(0.005, 0.02, count), np.zeros(count, int), qint8, axis)
