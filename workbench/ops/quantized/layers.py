"""Layers on codes: integer convolution, affine map and pooling, from quantized tensors to quantized tensors.

Sums of products are exact integers. They are brought to the output's codes by
q = clamp(rne((Σ (x - zx)(w - zw) · sx·sw + b) / s) + z), with the bias in real units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dims import Dims
from workbench.base.dtypes import float32, qint8, quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.core.families import grid
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.ops.contract.matmul import LINEAR
from workbench.ops.nn.conv.convolution_ops import CONV2D, NCHW, Pair
from workbench.ops.nn.pool.pool_ops import MAX_POOL2D
from workbench.ops.quantized.quantize import REFERENCE

__all__ = ["QUANTIZED_CONV2D", "QUANTIZED_LINEAR", "QUANTIZED_MAX_POOL2D"]

NO_GRADIENT = Absent("codes are steps: train with fake quantization in floating point, then convert")
_GEOMETRY = ("stride", "padding", "dilation", "groups")
_OUTPUT = ("scale", "zero_point", "qmin", "qmax", "relu")


def _real(q: QuantizedArray) -> Any:
    """Codes less their zero point, in float64, which holds every sum of their products exactly."""
    return q.codes.astype(np.float64) - q.along_axis(q.zero_point)


def _factors(x: QuantizedArray, weight: QuantizedArray) -> Any:
    # Through float32, in which the kernels have them: both ways then give the same codes.
    scales = np.asarray(weight.scale, np.float32).astype(np.float64)
    return np.float64(np.float32(x.scale)) * scales


def _requantized(
    real: Any, scale: float | None, zero_point: int, qmin: int, qmax: int, relu: bool
) -> QuantizedArray | Any:
    if scale is None:
        return (np.maximum(real, 0) if relu else real).astype(np.float32)
    codes = np.rint(real / np.float64(np.float32(scale))) + zero_point
    # The code of zero is the least a rectified value has.
    low = max(qmin, zero_point) if relu else qmin
    return QuantizedArray(np.clip(codes, low, qmax).astype(np.uint8), scale, zero_point, quint8)


def _split(params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {key: params[key] for key in _GEOMETRY}, {key: params[key] for key in _OUTPUT}


def _packed(weight: QuantizedArray, bias: Any, kind: Any, make: Callable[[Any, Any], Any]) -> Any:
    """Return the compiled layer of these weights, packed once; a bias whose values changed packs it again."""
    held = weight.cache.get(kind)
    # By its bytes: a bias may be changed in place, which no identity would tell.
    now = b"" if bias is None else bias.tobytes()
    if held is None or held[0] != now:
        scales = np.atleast_1d(np.asarray(weight.scale, np.float32))
        own = None if bias is None else np.array(bias, np.float32)
        held = weight.cache[kind] = (now, make(scales, own))
    return held[1]


def _fits_kernel(x: Any, weight: Any) -> bool:
    fits = weight.cache.get("fits")
    # Codes never change, so that what they fit is found out once.
    if fits is None:
        signed = weight.dtype is qint8 and weight.axis in (None, 0) and not np.any(weight.zero_point)
        fits = weight.cache["fits"] = signed
    return fits and x.dtype is quint8 and x.scale > 0 and kernels.available()


def _run(packed: Any, x: QuantizedArray, out: dict[str, Any], **settings: Any) -> Any:
    scale, zero, relu = out["scale"], out["zero_point"], out["relu"]
    codes = packed.run(
        x.codes,
        x_scale=x.scale,
        x_zero_point=x.zero_point,
        scale=scale,
        zero_point=zero,
        relu=relu,
        highest=out["qmax"],
        **settings,
    )
    if scale is None:
        return codes
    # The kernel knows one lower bound, the code of zero of a rectified value.
    if out["qmin"] > 0 and not relu:
        np.maximum(codes, np.uint8(out["qmin"]), out=codes)
    return QuantizedArray.own(codes, scale, zero, quint8)


# ---------------------------------------------------------------------------------------- convolution


def _conv2d(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    geometry, out = _split(params)
    factors = np.atleast_1d(_factors(x, weight)).reshape(1, -1, 1, 1)
    real = CONV2D.forward(_real(x), _real(weight), **geometry) * factors
    if bias is not None:
        real += bias.reshape(1, -1, 1, 1)
    result = _requantized(real, **out)
    return result.with_codes(MAX_POOL2D.forward(result.codes, **_TWO_BY_TWO)[0]) if params["pool"] else result


def _conv2d_on_codes(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    if not _fits_kernel(x, weight) or params["scale"] is None:
        return _conv2d(x, weight, bias, **params)

    def make(scales: Any, own: Any) -> Any:
        return kernels.PackedQuantizedConv2d(weight.codes, scales, own, **_split(params)[0])

    packed = _packed(weight, bias, tuple([params[key] for key in _GEOMETRY]), make)
    return _run(packed, x, params, pool=params["pool"])


_TWO_BY_TWO: dict[str, Pair] = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}


def _conv2d_dims(*dims: Dims, **params: Any) -> Dims:
    geometry, _ = _split(params)
    found: Any = CONV2D.dims(*dims, **geometry)
    if not params["pool"]:
        return found  # type: ignore[no-any-return]
    batch, channels, height, width = found.sizes
    if height < 2 or width < 2:
        # Asked again for its words: it refuses such sizes.
        return MAX_POOL2D.dims(found, **_TWO_BY_TWO)[0]  # type: ignore[return-value]  # has the words of the refusal
    return Dims(found.names, (batch, channels, height // 2, width // 2))


def _output_type(dtype: Any, params: Any) -> Any:
    return float32.numpy if params["scale"] is None else quint8


def _codes(*shape: int, high: int = 127) -> QuantizedArray:
    values = np.random.default_rng(shape).integers(0, high, shape).astype(np.uint8)
    return QuantizedArray(values, 0.02, 60, quint8)


def _weights(*shape: int, per_channel: bool = True) -> QuantizedArray:
    values = np.random.default_rng(shape).integers(-128, 128, shape).astype(np.int8)
    if not per_channel:
        return QuantizedArray(values, 0.01, 0, qint8)
    return QuantizedArray(values, np.linspace(0.005, 0.02, shape[0]), np.zeros(shape[0], int), qint8, 0)


_OUT = {"scale": 0.0713, "zero_point": 101, "qmin": 0, "qmax": 255, "relu": False}
_PLAIN = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1, "pool": False, **_OUT}

QUANTIZED_CONV2D = Op(
    name="quantized_conv2d",
    doc="Two-dimensional convolution on codes; if asked rectified, and pooled to the largest of each 2 by 2.",
    equation="q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z, qmin, qmax); at least z if rectified",
    reference=REFERENCE,
    dims=_conv2d_dims,
    rule="[N, C, H, W] keep their names; C becomes the weight's output channels, H and W the window positions",
    dtype=DTypeRule("quint8; float32 without an output scale", None, _output_type),
    forward=_conv2d,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers(
        "quantized_conv2d", _conv2d_on_codes, "weighted", inputs=("value", "weight", "plain"), axis=0
    ),
    cost=lambda dims, out, **params: CONV2D.cost(dims, out),
    samples=lambda: [
        Sample((_codes(2, 3, 5, 5), _weights(4, 3, 3, 3), grid(4)), _PLAIN, names=(NCHW, None, None)),
        Sample((_codes(1, 4, 7, 6), _weights(6, 2, 3, 3, per_channel=False)), {**_PLAIN, "groups": 2}),
        Sample(
            (_codes(1, 3, 6, 6), _weights(8, 3, 3, 3), grid(8)),
            {**_PLAIN, "stride": (2, 2), "relu": True, "qmax": 127},
        ),
        Sample(
            (_codes(2, 3, 7, 6), _weights(8, 3, 3, 3), grid(8)),
            {**_PLAIN, "relu": True, "qmax": 127, "pool": True},
            names=(NCHW, None, None),
        ),
    ],
    bad=lambda: [
        BadInput(
            (_codes(2, 3, 5, 5), _weights(4, 2, 3, 3)), _PLAIN, RuntimeError, "to have 2 channels, but got 3"
        )
    ],
)

# --------------------------------------------------------------------------------------------- linear


def _linear(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    real = (_real(x) @ _real(weight).T) * _factors(x, weight)
    return _requantized(real if bias is None else real + bias, **params)


def _linear_on_codes(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
    if not _fits_kernel(x, weight):
        return _linear(x, weight, bias, **params)
    packed = _packed(
        weight,
        bias,
        "linear",
        lambda scales, own: kernels.PackedQuantizedLinear(weight.codes, scales, own),
    )
    return _run(packed, x, params)


QUANTIZED_LINEAR = Op(
    name="quantized_linear",
    doc="Affine map of the last dim on codes, rectified if asked; to float32 without an output scale.",
    equation="q = clamp(rne((Σ (x - zx)·(w - zw)·sx·sw[o] + b[o]) / s) + z, qmin, qmax); at least z if rectified",
    reference=REFERENCE,
    dims=lambda *dims, **params: LINEAR.dims(*dims),
    rule="the last dim ends here, the weight's out_features takes its place",
    dtype=DTypeRule("quint8; float32 without an output scale", None, _output_type),
    forward=_linear,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers(
        "quantized_linear", _linear_on_codes, "weighted", inputs=("value", "weight", "plain"), axis=0
    ),
    cost=lambda dims, out, **params: LINEAR.cost(dims, out),
    samples=lambda: [
        Sample(
            (_codes(5, 12), _weights(7, 12), grid(7)),
            _OUT,
            names=(("N", "features"), ("out_features", "in_features"), ("out_features",)),
        ),
        Sample((_codes(2, 3, 12), _weights(7, 12, per_channel=False)), {**_OUT, "relu": True, "qmax": 127}),
        Sample((_codes(5, 12), _weights(7, 12), grid(7).astype(np.float32)), {**_OUT, "scale": None}),
    ],
    bad=lambda: [BadInput((_codes(5, 11), _weights(7, 12)), _OUT, RuntimeError, "the weight takes 12")],
)

# ------------------------------------------------------------------------------------------ max pooling

_POOL = kernels.lookup("quantized_max_pool2d")


def _max_pool(x: Any, **params: Any) -> Any:
    return x.with_codes(MAX_POOL2D.forward(x.codes, **params)[0])


def _max_pool_on_codes(x: Any, **params: Any) -> Any:
    if _POOL is None or x.axis is not None or not _POOL.accepts(x.codes, **params):
        return _max_pool(x, **params)
    return QuantizedArray.own(_POOL.run(x.codes, **params), x.scale, x.zero_point, x.dtype)


def _max_pool_dims(x: Dims, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Dims:
    both: Any = MAX_POOL2D.dims(x, kernel, stride, padding, dilation)
    return both[0]  # type: ignore[no-any-return]


_WINDOW = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}

QUANTIZED_MAX_POOL2D = Op(
    name="quantized_max_pool2d",
    doc="Largest code of each window; scale and zero point stay.",
    equation="q[n, c, h, w] = max_{i, j} x[n, c, h·s + i·d - pad, w·s + j·d - pad]",
    dims=_max_pool_dims,
    rule="[N, C, H, W] keep their names; H and W become window positions",
    dtype=DTypeRule("as the input", None, lambda dtype, params: dtype),
    forward=_max_pool,
    vjp=NO_GRADIENT,
    saves=Saves(output=False),
    quantized=integers("quantized_max_pool2d", _max_pool_on_codes, "same"),
    cost=lambda dims, out, **params: MAX_POOL2D.cost(dims, out, **params),
    samples=lambda: [
        Sample((_codes(2, 3, 6, 6),), _WINDOW, names=(NCHW,)),
        Sample((_codes(1, 4, 7, 5),), {**_WINDOW, "kernel": (3, 3), "padding": (1, 1)}),
    ],
    bad=lambda: [BadInput((_codes(2, 3, 1, 1),), _WINDOW, RuntimeError, "output size is too small")],
)
