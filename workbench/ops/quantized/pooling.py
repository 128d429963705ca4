"""Pooling on codes."""

from __future__ import annotations

from typing import Any

from workbench import kernels
from workbench.base.dims import Dims
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.ops.nn.conv.convolution_ops import NCHW, Pair
from workbench.ops.nn.pool.pool_ops import MAX_POOL2D
from workbench.ops.quantized.requantize import NO_GRADIENT, sample_codes

__all__ = ["QUANTIZED_MAX_POOL2D"]

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
        Sample((sample_codes(2, 3, 6, 6),), _WINDOW, names=(NCHW,)),
        Sample((sample_codes(1, 4, 7, 5),), {**_WINDOW, "kernel": (3, 3), "padding": (1, 1)}),
    ],
    bad=lambda: [BadInput((sample_codes(2, 3, 1, 1),), _WINDOW, RuntimeError, "output size is too small")],
)
