"""Weighted sums of picked values, y = Σ_k w_k·x[i_k]: three bilinear ops that are each other's derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.contribution import PRODUCT
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, PLAIN
from workbench.core.tape import Call
from workbench.ops.nn import batching

EVERYTHING = Saves(None, output=False)


def _sample_dims(x: Dims, index: Dims, weight: Dims) -> Dims:
    if len(x.sizes) != 3 or index.sizes != weight.sizes or index.sizes[:1] != x.sizes[:1]:
        raise DimensionError(
            "expected values [N, C, S] and indices and weights [N, K, P] of one size.",
            op="sample_at",
            operands=(x.operand("input"), index.operand("index"), weight.operand("weight")),
        )
    return Dims((*x.names[:2], None), (*x.sizes[:2], index.sizes[2]))


def _sample(x: Any, index: Any, weight: Any) -> Any:
    out = np.zeros((*x.shape[:2], index.shape[2]), x.dtype)
    for example, (values, places, shares) in enumerate(zip(x, index, weight, strict=True)):
        # Corner by corner: all of them at once would be several images in memory.
        for place, share in zip(places, shares, strict=True):
            out[example] += values.take(place, 1) * share
    return out


def _sample_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, index, weight = c.inputs
    return (
        ops.sample_at_input_gradient(g, index, weight, size=x.payload.shape[2]) if c.needs[0] else None,
        None,
        ops.sample_at_weight_gradient(g, index, x) if c.needs[2] else None,
    )


def _input_gradient(g: Any, index: Any, weight: Any, size: int) -> Any:
    examples, channels = g.shape[:2]
    out = np.empty((examples, channels, size), g.dtype)
    for example in range(examples):
        places = index[example].ravel()
        for channel in range(channels):
            shares = (weight[example] * g[example, channel]).ravel()
            # It adds in double precision, however many meet at a place.
            out[example, channel] = np.bincount(places, shares, size)
    return out


def _input_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    g, index, weight = c.inputs
    return (
        ops.sample_at(u, index, weight) if c.needs[0] else None,
        None,
        ops.sample_at_weight_gradient(g, index, u) if c.needs[2] else None,
    )


def _weight_gradient(g: Any, index: Any, x: Any) -> Any:
    out = np.empty(index.shape, g.dtype)
    for example, (values, places, gradient) in enumerate(zip(x, index, g, strict=True)):
        for k, place in enumerate(places):
            out[example, k] = (values.take(place, 1) * gradient).sum(0)
    return out


def _weight_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    g, index, x = c.inputs
    return (
        ops.sample_at(x, index, u) if c.needs[0] else None,
        None,
        ops.sample_at_input_gradient(g, index, u, size=x.payload.shape[2]) if c.needs[2] else None,
    )


def _places() -> Any:
    return np.random.default_rng(3).integers(0, 5, (2, 4, 6))


def _cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    return 2.0 * dims[1].numel * dims[0].sizes[1]


SAMPLE_AT = Op(
    name="sample_at",
    contribution=PRODUCT,
    doc="For each position the weighted sum of a few values picked by index.",
    equation="y[n, c, p] = Σ_k w[n, k, p]·x[n, c, i[n, k, p]]",
    dims=_sample_dims,
    rule="N and C keep their names; the positions have none",
    dtype=KEEP,
    forward=_sample,
    vjp=_sample_vjp,
    saves=EVERYTHING,
    cost=_cost,
    samples=lambda: [
        Sample((grid(2, 3, 5), _places(), grid(2, 4, 6)), names=(("N", "C", None), None, None)),
    ],
    bad=lambda: [
        BadInput((grid(2, 3, 5), _places(), grid(2, 4, 5)), {}, DimensionError, "of one size"),
    ],
    batch=batching.as_samples,
    quantized=PLAIN,
)

SAMPLE_AT_INPUT_GRADIENT = Op(
    name="sample_at_input_gradient",
    doc="Gradient of sample_at for its values: each position gives to the values that it was made from.",
    equation="gx[n, c, i[n, k, p]] += w[n, k, p]·g[n, c, p]",
    dims=lambda g, index, weight, size: Dims((*g.names[:2], None), (*g.sizes[:2], size)),
    rule="N and C keep their names",
    dtype=KEEP,
    forward=_input_gradient,
    vjp=_input_gradient_vjp,
    saves=EVERYTHING,
    cost=_cost,
    samples=lambda: [Sample((grid(2, 3, 6), _places(), grid(2, 4, 6)), {"size": 5})],
    batch=batching.as_samples,
    quantized=GRADIENT,
)

SAMPLE_AT_WEIGHT_GRADIENT = Op(
    name="sample_at_weight_gradient",
    doc="Gradient of sample_at for its weights.",
    equation="gw[n, k, p] = Σ_c g[n, c, p]·x[n, c, i[n, k, p]]",
    dims=lambda g, index, x: Dims((None,) * 3, index.sizes),
    rule="unnamed, sizes of the indices",
    dtype=KEEP,
    forward=_weight_gradient,
    vjp=_weight_gradient_vjp,
    saves=EVERYTHING,
    cost=_cost,
    samples=lambda: [Sample((grid(2, 3, 6), _places(), grid(2, 3, 5)))],
    batch=batching.as_samples,
    quantized=GRADIENT,
)
