"""Cross entropy of scores and classes in one op: logarithms of probabilities are never written down."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, LOSS
from workbench.core.tape import Call
from workbench.ops.nn.activation.softmax import shifted
from workbench.ops.nn.loss import batching
from workbench.ops.nn.loss.cross_entropy import checked_classes, nll_dims, smoothed_nll_loss

__all__ = ["CROSS_ENTROPY", "CROSS_ENTROPY_GRADIENT"]


def _cross_entropy(x: Any, target: Any, *, reduction: str, ignore_index: int, smoothing: float = 0.0) -> Any:
    target, valid = checked_classes(target, x.shape[1], ignore_index)
    away = shifted(x, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = np.log(np.exp(away).sum(1))
        loss = logarithm - np.take_along_axis(away, np.expand_dims(target, 1), 1).squeeze(1)
        if smoothing:
            loss = (1 - smoothing) * loss + smoothing * (logarithm - away.mean(1))
    if valid is not None:
        loss = np.where(valid, loss, 0)
    if reduction == "none":
        return loss.astype(x.dtype, copy=False)
    total = loss.sum()
    if reduction == "mean":
        with np.errstate(invalid="ignore", divide="ignore"):
            total = total / x.dtype.type(target.size if valid is None else valid.sum())
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
        Sample((grid(3, 4), target), {"reduction": "mean", "ignore_index": 3, "smoothing": 0.25}),
        Sample(
            (grid(2, 4, 3), np.array([target, [2, 2, 0]])),
            {"reduction": "none", "ignore_index": 0, "smoothing": 0.1},
            names=(("N", "C", "T"), ("N", "T")),
        ),
        Sample((grid(2, 4, 3), np.array([target, [2, 2, 0]])), {"reduction": "sum", "ignore_index": -100}),
    ]


def _dims(x: Dims, target: Dims, *, reduction: str, ignore_index: int, smoothing: float = 0.0) -> Dims:
    return nll_dims(x, target, reduction=reduction, ignore_index=ignore_index)


CROSS_ENTROPY = Op(
    name="cross_entropy",
    doc="Cross entropy between scores and one class for each place of them, for each or together.",
    equation="y_n = ln Σ_c e^{x[n, c]} - (1 - s)·x[n, target_n] - s·Σ_c x[n, c]/C; what is ignored does not count",
    dims=_dims,
    rule="[N, C, …], [N, …] -> [N, …], or a scalar",
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
    quantized=LOSS,
)


def _gradient(
    g: Any, x: Any, target: Any, *, reduction: str, ignore_index: int, smoothing: float = 0.0
) -> Any:
    target, valid = checked_classes(target, x.shape[1], ignore_index)
    shares = np.exp(shifted(x, 1))
    shares /= shares.sum(1, keepdims=True)
    if smoothing:
        shares -= smoothing / x.shape[1]
    places = np.expand_dims(target, 1)
    np.put_along_axis(shares, places, np.take_along_axis(shares, places, 1) - (1 - smoothing), 1)
    with np.errstate(invalid="ignore", divide="ignore"):  # where nothing counts, the mean has no number
        if reduction == "mean":
            g = g / x.dtype.type(target.size if valid is None else valid.sum())
        shares = shares * (g if reduction != "none" else np.expand_dims(g, 1))
    return shares if valid is None else np.where(np.expand_dims(valid, 1), shares, 0)


def _gradient_dims(g: Dims, x: Dims, target: Dims, **params: Any) -> Dims:
    return x


def _gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    g, x, target = c.inputs
    params = {name: c.params[name] for name in ("reduction", "ignore_index")}
    shares = ops.exp(ops.log_softmax(x, dim=1))
    along = ops.mul(u, shares)
    total = ops.sum(along, dim=(1,), keepdim=True)
    d_g = d_x = None
    if c.needs[0]:
        # What a loss is to scores, this is to u less its mean under the softmax: linear in them.
        d_g = smoothed_nll_loss(
            ops.sub(u, total), target, None, smoothing=c.params.get("smoothing", 0.0), **params
        )
    if c.needs[1]:
        # What each place counts for, whichever classes it is shared out to.
        spread = ops.nll_loss_gradient(g, target, sizes=x.payload.shape, **params)
        factors = ops.neg(ops.sum(spread, dim=(1,), keepdim=True))
        d_x = ops.mul(factors, ops.sub(along, ops.mul(shares, total)))
    return d_g, d_x, None


CROSS_ENTROPY_GRADIENT = Op(
    name="cross_entropy_gradient",
    doc="Gradient of the cross entropy for the scores.",
    equation="gx[n, c] = g_n·(softmax(x_n)[c] - (1 - s)·[c = target_n] - s/C)",
    dims=_gradient_dims,
    rule="as the scores",
    dtype=KEEP,
    forward=_gradient,
    vjp=_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 6.0 * dims[1].numel,
    samples=lambda: [
        Sample(
            (
                grid(*sample.inputs[1].shape if sample.params["reduction"] == "none" else (), seed=9),
                *sample.inputs,
            ),
            sample.params,
        )
        for sample in _samples()
    ],
    batch=batching.cross_entropy_gradient,
    quantized=GRADIENT,
)
