"""Cross entropy of scores and classes in one op: logarithms of probabilities are never written down."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.ops.nn.activation.softmax import shifted
from workbench.ops.nn.loss import batching
from workbench.ops.nn.loss.cross_entropy import checked_classes, nll_dims

__all__ = ["CROSS_ENTROPY", "CROSS_ENTROPY_GRADIENT"]


def _cross_entropy(x: Any, target: Any, *, reduction: str, ignore_index: int) -> Any:
    target, valid = checked_classes(target, x.shape[1], ignore_index)
    away = shifted(x, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(np.exp(away).sum(1)) - away[np.arange(len(target)), target]
    if valid is not None:
        loss = np.where(valid, loss, 0)
    if reduction == "none":
        return loss.astype(x.dtype, copy=False)
    total = loss.sum()
    if reduction == "mean":
        with np.errstate(invalid="ignore", divide="ignore"):
            total = total / x.dtype.type(len(target) if valid is None else valid.sum())
    return np.asarray(total, x.dtype)


def _cross_entropy_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, target = c.inputs
    return ops.cross_entropy_gradient(g, x, target, **c.params), None


def _samples() -> list[Sample]:
    target = np.array([0, 3, 1])
    return [
        Sample((grid(3, 4), target), {"reduction": "mean", "ignore_index": -100}, names=(("N", "C"), ("N",))),
        Sample((grid(3, 4) * 9, target), {"reduction": "sum", "ignore_index": 3}),
        Sample((grid(3, 4), target), {"reduction": "none", "ignore_index": 0}, names=(("N", "C"), ("N",))),
    ]


CROSS_ENTROPY = Op(
    name="cross_entropy",
    doc="Cross entropy between scores and one class for each row of them, for each or together.",
    equation="y_n = ln Σ_c e^{x[n, c]} - x[n, target_n]; what is ignored does not count",
    dims=nll_dims,
    rule="[N, C], [N] -> [N], or a scalar",
    dtype=KEEP,
    forward=_cross_entropy,
    vjp=_cross_entropy_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 5.0 * dims[0].numel,
    samples=_samples,
    bad=lambda: [
        BadInput(
            (grid(3, 4), np.array([0, 4, 1])),
            {"reduction": "none", "ignore_index": -100},
            DimensionIndexError,
            "Target 4 is out of bounds",
        ),
        BadInput(
            (grid(3, 4), np.array([0, 1])),
            {"reduction": "none", "ignore_index": -100},
            DimensionError,
            "one class [N] each",
        ),
    ],
    properties=frozenset({"wide"}),
    batch=batching.cross_entropy,
)


def _gradient(g: Any, x: Any, target: Any, *, reduction: str, ignore_index: int) -> Any:
    target, valid = checked_classes(target, x.shape[1], ignore_index)
    shares = np.exp(shifted(x, 1))
    shares /= shares.sum(1, keepdims=True)
    shares[np.arange(len(target)), target] -= 1
    with np.errstate(invalid="ignore", divide="ignore"):  # where nothing counts, the mean has no number
        if reduction == "mean":
            g = g / x.dtype.type(len(target) if valid is None else valid.sum())
        shares = shares * (g if reduction != "none" else g[:, None])
    return shares if valid is None else np.where(valid[:, None], shares, 0)


def _gradient_dims(g: Dims, x: Dims, target: Dims, **params: Any) -> Dims:
    return x


def _gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    g, x, target = c.inputs
    shares = ops.exp(ops.log_softmax(x, dim=1))
    along = ops.mul(u, shares)
    total = ops.sum(along, dim=(1,), keepdim=True)
    d_g = d_x = None
    if c.needs[0]:
        d_g = ops.nll_loss(ops.sub(u, total), target, **c.params)
    if c.needs[1]:
        spread = ops.nll_loss_gradient(g, target, sizes=x.payload.shape, **c.params)
        factors = ops.neg(ops.sum(spread, dim=(1,), keepdim=True))
        d_x = ops.mul(factors, ops.sub(along, ops.mul(shares, total)))
    return d_g, d_x, None


CROSS_ENTROPY_GRADIENT = Op(
    name="cross_entropy_gradient",
    doc="Gradient of the cross entropy for the scores.",
    equation="gx[n, c] = g_n·(softmax(x_n)[c] - [c = target_n])",
    dims=_gradient_dims,
    rule="as the scores",
    dtype=KEEP,
    forward=_gradient,
    vjp=_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 6.0 * dims[1].numel,
    samples=lambda: [
        Sample(
            (grid(3, seed=9) if sample.params["reduction"] == "none" else grid(seed=9), *sample.inputs),
            sample.params,
        )
        for sample in _samples()
    ],
    batch=batching.cross_entropy_gradient,
)
