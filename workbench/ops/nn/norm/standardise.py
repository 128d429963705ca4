"""What normalisations compute: values less their mean over some dims, by their deviation, and its gradients.

Values are laid out so that the dims to normalise over are dims of their own, and so that a weight and a bias broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.symbolic_size import as_float
from workbench.core.op import ops
from workbench.kernels._range import inverse_deviation, normalise_in_range
from workbench.ops.linalg.matrices import plus

Axes = tuple[int, ...]


def standardise(x: Any, weight: Any, bias: Any, axes: Axes, eps: float) -> tuple[Any, Any, Any]:
    def normalise(x: Any, eps: float) -> tuple[Any, Any, Any]:
        with np.errstate(invalid="ignore", over="ignore"):
            mean = x.mean(axis=axes, keepdims=True)
            y = x - mean
            rstd = inverse_deviation(np.mean(y * y, axis=axes, keepdims=True), eps)
            return y * rstd, mean, rstd

    y, mean, rstd = normalise_in_range(normalise, x, eps, lambda statistic: statistic)
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y, mean, rstd


def _to_sizes(x: Any, sizes: tuple[int, ...]) -> Any:
    """Sum over the dims along which `sizes` would be stretched."""
    extra = x.ndim - len(sizes)
    axes = tuple(i for i in range(x.ndim) if i < extra or (sizes[i - extra] == 1 and x.shape[i] != 1))
    return x.sum(axis=axes, keepdims=True).reshape(sizes) if axes else x


def gradients(
    g: Any, x: Any, mean: Any, rstd: Any, weight: Any, axes: Axes, factors: tuple[int, ...]
) -> tuple[Any, Any, Any]:
    """Return the gradients of values, weight and bias; without a mean, that of values scaled only."""
    normal = (x if mean is None else x - mean) * rstd
    h = g if weight is None else g * weight
    inner = h - normal * (h * normal).mean(axis=axes, keepdims=True)
    if mean is not None:
        inner -= h.mean(axis=axes, keepdims=True)
    return inner * rstd, _to_sizes(g * normal, factors), _to_sizes(g, factors)


def second_order(
    directions: Sequence[Any],
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    axes: Axes,
) -> tuple[Any, Any, Any, Any, Any]:
    """Gradients of `gradients` for g, x, mean, rstd and weight: adjoints of each of its lines, added up."""
    to_x, to_weight, to_bias = directions

    def average(v: Any) -> Any:
        return ops.mean(v, dim=axes, keepdim=True)

    centred = x if mean is None else ops.sub(x, mean)
    normal = ops.mul(centred, rstd)
    d_g = d_normal = d_rstd = d_weight = None
    if to_x is not None:
        h = g if weight is None else ops.mul(g, weight)
        share = average(ops.mul(h, normal))
        inner = ops.sub(h, ops.mul(normal, share))
        if mean is not None:
            inner = ops.sub(inner, average(h))
        d_rstd = ops.sum(ops.mul(to_x, inner), dim=axes, keepdim=True)
        d_inner = ops.mul(to_x, rstd)
        back = average(ops.mul(d_inner, normal))
        d_h = ops.sub(d_inner, ops.mul(normal, back))
        if mean is not None:
            d_h = ops.sub(d_h, average(d_inner))
        d_normal = ops.neg(ops.add(ops.mul(d_inner, share), ops.mul(h, back)))
        d_g = d_h if weight is None else ops.mul(d_h, weight)
        if weight is not None:
            d_weight = ops.sum_to(ops.mul(d_h, g), sizes=weight.payload.shape)
    if to_weight is not None:
        d_g = plus(d_g, ops.mul(normal, to_weight))
        d_normal = plus(d_normal, ops.mul(g, to_weight))
    if to_bias is not None:
        d_g = plus(d_g, ops.expand(to_bias, sizes=g.payload.shape))
    d_x = d_mean = None
    if d_normal is not None:
        d_x = ops.mul(d_normal, rstd)
        d_mean = None if mean is None else ops.neg(ops.sum(d_x, dim=axes, keepdim=True))
        d_rstd = plus(d_rstd, ops.sum(ops.mul(d_normal, centred), dim=axes, keepdim=True))
    return d_g, d_x, d_mean, d_rstd, d_weight


def through_statistics(x: Any, mean: Any, rstd: Any, g_mean: Any, g_rstd: Any, axes: Axes) -> Any:
    """What reaches the values through the returned mean and reciprocal deviation, for those who use them."""
    count = as_float(math.prod(x.payload.shape[i] for i in axes))
    total = None
    if g_mean is not None:
        total = ops.expand(ops.div(g_mean, count), sizes=x.payload.shape)
    if g_rstd is not None:
        cube = ops.mul(ops.mul(rstd, rstd), rstd)
        centred = x if mean is None else ops.sub(x, mean)
        total = plus(total, ops.mul(ops.mul(ops.mul(g_rstd, cube), -1.0 / count), centred))
    return total


def wanted(found: Sequence[Any], needs: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(one if need else None for one, need in zip(found, needs, strict=False))
