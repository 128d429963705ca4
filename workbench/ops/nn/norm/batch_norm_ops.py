"""Batch normalisation, by the statistics of a batch or by running ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import half_width
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import as_float
from workbench.core.contribution import NORMALIZATION, composed
from workbench.core.dtype_rules import NORMALISED, NORMALISED_GRADIENT
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, PLAIN, STATISTICS
from workbench.core.tape import Call
from workbench.kernels._range import inverse_deviation, normalise_in_range
from workbench.ops.elementwise.complex import zeros
from workbench.ops.nn import batching
from workbench.ops.nn.norm.steps import scaled, standardised

# ----------------------------------------------------------------------------------- batch normalisation


def _channel_axes(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def _channelwise(x: Any, ndim: int) -> Any:
    """Lay a vector of channels out against [N, C, …]."""
    return x.reshape((1, -1) + (1,) * (ndim - 2))


def _check_channels(x: Dims, op: str, **vectors: Dims) -> None:
    if len(x.sizes) < 2:
        raise DimensionError(
            f"expected at least 2 dims [N, C, ...], got {len(x.sizes)}.",
            op=op,
            operands=(x.operand("input"),),
        )
    for label, vector in vectors.items():
        if vector.sizes != (x.sizes[1],):
            raise DimensionError(
                f"{label} should contain {x.sizes[1]} elements (the channels of the input), not {list(vector.sizes)}.",
                op=op,
                operands=(x.operand("input", [1]), vector.operand(label, [0])),
            )


def _batch_norm_dims(x: Dims, weight: Dims, bias: Dims, eps: float) -> tuple[Dims, Dims, Dims]:
    _check_channels(x, "batch_norm", weight=weight, bias=bias)
    channels = Dims((x.names[1],), (x.sizes[1],))
    return x, channels, channels


def _batch_norm(x: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    if not x.size:
        nothing = np.full(x.shape[1], np.nan, x.dtype)
        return x.copy(), nothing, nothing.copy()
    axes, ndim = _channel_axes(x.ndim), x.ndim

    def normalise(x: Any, eps: float) -> tuple[Any, Any, Any]:
        with np.errstate(invalid="ignore", over="ignore"):
            mean = x.mean(axis=axes)
            rstd = inverse_deviation(x.var(axis=axes), eps)
            # Factor and shift are worked out by channel, so that a value takes one product and one sum.
            scale = rstd * weight
            return x * _channelwise(scale, ndim) + _channelwise(bias - mean * scale, ndim), mean, rstd

    y, mean, rstd = normalise_in_range(normalise, x, eps, lambda statistic: _channelwise(statistic, ndim))
    return y.astype(x.dtype, copy=False), mean.astype(x.dtype, copy=False), rstd.astype(x.dtype, copy=False)


def _batch_norm_vjp(c: Call, g: Any, g_mean: Any, g_rstd: Any) -> tuple[Any, ...]:
    x, weight, _ = c.inputs
    gx = gw = gb = None
    if g is not None:
        gx, gw, gb = ops.batch_norm_gradient(g, x, c.outs[1], c.outs[2], weight)
    extra = _statistics_gradient(c, g_mean, g_rstd)
    if extra is not None:
        gx = extra if gx is None else ops.add(gx, extra)
    return gx if c.needs[0] else None, gw if c.needs[1] else None, gb if c.needs[2] else None


def _statistics_gradient(c: Call, g_mean: Any, g_rstd: Any) -> Any:
    """What reaches the input through the returned mean and reciprocal deviation, for those who use them."""
    if g_mean is None and g_rstd is None:
        return None
    x = c.inputs[0]
    shape = x.payload.shape
    n = as_float(math.prod(shape) // shape[1])
    column = (1, shape[1]) + (1,) * (len(shape) - 2)
    total = None
    if g_mean is not None:
        total = ops.expand(ops.reshape(ops.div(g_mean, n), sizes=column), sizes=shape)
    if g_rstd is not None:
        rstd = c.outs[2]
        centred = ops.sub(x, ops.reshape(c.outs[1], sizes=column))
        cube = ops.mul(ops.mul(rstd, rstd), rstd)
        part = ops.mul(ops.reshape(ops.mul(ops.mul(g_rstd, cube), -1.0 / n), sizes=column), centred)
        total = part if total is None else ops.add(total, part)
    return total


def _steps(
    constant: Callable[[Any], Any], x: Any, weight: Any, bias: Any, *, eps: float
) -> tuple[Any, Any, Any]:
    shape = x.payload.shape
    y, mean, rstd = standardised(constant, x, _channel_axes(len(shape)), eps)
    y = scaled(y, weight, bias, (1, shape[1]) + (1,) * (len(shape) - 2))
    return y, ops.reshape(mean, sizes=shape[1:2]), ops.reshape(rstd, sizes=shape[1:2])


BATCH_NORM = Op(
    name="batch_norm",
    contribution=composed(_steps),
    doc="Scale each channel by its own mean and variance over the batch; also returns mean and reciprocal deviation.",
    equation="y = (x - E[x]) / √(Var[x] + ε) · w + b, over all dims but C",
    reference="Ioffe and Szegedy 2015",
    dims=_batch_norm_dims,
    rule="[N, C, …] passes through; the statistics have the channels' name",
    dtype=NORMALISED,
    forward=_batch_norm,
    vjp=_batch_norm_vjp,
    saves=Saves((0, 1), output=True, outputs=(1, 2)),
    cost=lambda dims, out, **params: 6.0 * dims[0].numel,
    samples=lambda: [
        Sample(
            (grid(4, 3, 2, 2), grid(3, seed=1), grid(3, seed=2)),
            {"eps": 1e-5},
            names=(("N", "C", "H", "W"), ("C",), ("C",)),
        ),
        Sample((grid(5, 2), grid(2, seed=1), grid(2, seed=2)), {"eps": 1e-3}),
    ],
    bad=lambda: [
        BadInput(
            (grid(4, 3, 2, 2), grid(4), grid(4)), {"eps": 1e-5}, DimensionError, "should contain 3 elements"
        ),
    ],
    outputs=3,
    tolerance=1e-5,
    batch=batching.as_channels,
    quantized=STATISTICS,
)


def _batch_norm_gradient(g: Any, x: Any, mean: Any, rstd: Any, weight: Any) -> tuple[Any, Any, Any]:
    if not x.size:
        return x.copy(), np.zeros(x.shape[1], x.dtype), np.zeros(x.shape[1], x.dtype)
    axes, n = _channel_axes(x.ndim), x.size / x.shape[1]
    normal = (x - _channelwise(mean, x.ndim)) * _channelwise(rstd, x.ndim)
    gb, gw = g.sum(axis=axes), (g * normal).sum(axis=axes)
    gx = _channelwise(weight * rstd, x.ndim) * (
        g - _channelwise(gb / n, x.ndim) - normal * _channelwise(gw / n, x.ndim)
    )
    return gx.astype(x.dtype, copy=False), gw.astype(x.dtype, copy=False), gb.astype(x.dtype, copy=False)


def _batch_norm_gradient_vjp(c: Call, *gradients: Any) -> tuple[Any, ...]:
    """Second order: differentiate the composed form, with `mean` and `rstd` as inputs of their own."""
    g, x, mean, rstd, weight = c.inputs
    shape = x.payload.shape
    axes = _channel_axes(len(shape))
    n = as_float(math.prod(shape) // shape[1])

    def column(v: Any) -> Any:
        return ops.reshape(v, sizes=(1, shape[1]) + (1,) * (len(shape) - 2))

    def total(v: Any) -> Any:
        return ops.sum(v, dim=axes, keepdim=False)

    ux, uw, ub = (u if u is not None else None for u in gradients)
    normal = ops.mul(ops.sub(x, column(mean)), column(rstd))
    gb, gw = total(g), total(ops.mul(g, normal))
    scale = ops.mul(weight, rstd)
    # gx = scale·(g − gb/n − normal·gw/n), gw = Σ g·normal, gb = Σ g: adjoints of each, added up.
    d_g = d_normal = d_scale = None
    d_gb, d_gw = ub, uw
    if ux is not None:
        inner = ops.sub(ops.sub(g, column(ops.div(gb, n))), ops.mul(normal, column(ops.div(gw, n))))
        d_scale = total(ops.mul(ux, inner))
        d_inner = ops.mul(ux, column(scale))
        d_g = d_inner
        d_normal = ops.neg(ops.mul(d_inner, column(ops.div(gw, n))))
        d_gb = _plus(d_gb, ops.neg(ops.div(total(d_inner), n)))
        d_gw = _plus(d_gw, ops.neg(ops.div(total(ops.mul(d_inner, normal)), n)))
    if d_gb is not None:
        d_g = _plus(d_g, ops.expand(column(d_gb), sizes=shape))
    if d_gw is not None:
        d_g = _plus(d_g, ops.mul(column(d_gw), normal))
        d_normal = _plus(d_normal, ops.mul(column(d_gw), g))
    if d_normal is None:  # only the bias' gradient was used, which is a sum
        return d_g if c.needs[0] else None, None, None, None, None
    d_x = ops.mul(d_normal, column(rstd))
    d_mean = ops.neg(total(d_x))
    d_rstd = total(ops.mul(d_normal, ops.sub(x, column(mean))))
    d_weight = zeros(weight)
    if d_scale is not None:
        d_rstd = ops.add(d_rstd, ops.mul(d_scale, weight))
        d_weight = ops.mul(d_scale, rstd)
    return tuple(
        v if need else None for v, need in zip((d_g, d_x, d_mean, d_rstd, d_weight), c.needs, strict=True)
    )


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else ops.add(a, b)


def _batch_norm_gradient_dims(
    g: Dims, x: Dims, mean: Dims, rstd: Dims, weight: Dims
) -> tuple[Dims, Dims, Dims]:
    channels = Dims((x.names[1],), (x.sizes[1],))
    return x, channels, channels


BATCH_NORM_GRADIENT = Op(
    name="batch_norm_gradient",
    doc="Gradients of batch normalisation for its input, weight and bias.",
    equation="gb = Σ g, gw = Σ g·x̂, gx = w·rstd·(g - gb/n - x̂·gw/n), with x̂ = (x - mean)·rstd",
    reference="Ioffe and Szegedy 2015",
    dims=_batch_norm_gradient_dims,
    rule="as the input of the normalisation, and its channels twice",
    dtype=NORMALISED_GRADIENT,
    forward=_batch_norm_gradient,
    vjp=_batch_norm_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 10.0 * dims[1].numel,
    samples=lambda: [
        Sample(
            (
                grid(4, 3, 2, seed=1),
                grid(4, 3, 2, seed=2),
                grid(3, seed=3),
                grid(3, low=0.5, seed=4),
                grid(3, seed=5),
            )
        ),
    ],
    outputs=3,
    tolerance=1e-5,
    batch=batching.as_channels,
    quantized=GRADIENT,
)


def _batch_norm_inference_dims(
    x: Dims, mean: Dims, variance: Dims, weight: Dims, bias: Dims, eps: float
) -> Dims:
    _check_channels(x, "batch_norm_inference", mean=mean, variance=variance, weight=weight, bias=bias)
    return x


def _batch_norm_inference(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    scale = weight / np.sqrt(variance + eps)
    return x * _channelwise(scale, x.ndim) + _channelwise(bias - mean * scale, x.ndim)


def _batch_norm_inference_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, mean, variance, weight, _ = c.inputs
    if half_width(x.payload.dtype) and not half_width(weight.payload.dtype):
        # Sums of 16-bit values that parameters in float32 wait for are not rounded on the way.
        g, x = ops.to(g, dtype=weight.payload.dtype), ops.to(x, dtype=weight.payload.dtype)
    shape = x.payload.shape
    axes = _channel_axes(len(shape))

    def column(v: Any) -> Any:
        return ops.reshape(v, sizes=(1, shape[1]) + (1,) * (len(shape) - 2))

    rstd = ops.rsqrt(ops.add(variance, c.params["eps"]))
    gb = ops.sum(g, dim=axes, keepdim=False) if any(c.needs[1:]) else None
    products = None
    if c.needs[2] or c.needs[3]:
        products = ops.sum(ops.mul(g, ops.sub(x, column(mean))), dim=axes, keepdim=False)
    return (
        ops.mul(g, column(ops.mul(weight, rstd))) if c.needs[0] else None,
        ops.neg(ops.mul(gb, ops.mul(weight, rstd))) if c.needs[1] else None,
        ops.mul(ops.mul(products, weight), ops.mul(ops.pow(rstd, 3.0), -0.5)) if c.needs[2] else None,
        ops.mul(products, rstd) if c.needs[3] else None,
        gb if c.needs[4] else None,
    )


BATCH_NORM_INFERENCE = Op(
    name="batch_norm_inference",
    contribution=NORMALIZATION,
    doc="Scale each channel by a mean and variance that were measured before.",
    equation="y = (x - mean) / √(variance + ε) · w + b",
    reference="Ioffe and Szegedy 2015",
    dims=_batch_norm_inference_dims,
    rule="[N, C, …] passes through",
    dtype=NORMALISED,
    forward=_batch_norm_inference,
    vjp=_batch_norm_inference_vjp,
    saves=Saves((0, 1, 2, 3), output=False),
    cost=lambda dims, out, **params: 2.0 * out.numel,
    samples=lambda: [
        Sample(
            (grid(4, 3, 2, 2), grid(3, seed=1), grid(3, low=0.3, seed=2), grid(3, seed=3), grid(3, seed=4)),
            {"eps": 1e-5},
            names=(("N", "C", "H", "W"), ("C",), ("C",), ("C",), ("C",)),
        ),
    ],
    batch=batching.as_channels,
    quantized=PLAIN,
)
