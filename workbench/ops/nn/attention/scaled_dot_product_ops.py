"""Attention by head as one op: weights are never kept, and what is dropped of them is drawn again for the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast_size
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import hint
from workbench.core import dispatch
from workbench.core.contribution import composed
from workbench.core.dtype_rules import ATTENDED, ATTENDED_GRADIENT
from workbench.core.families import grid, unbroadcast
from workbench.core.op import Absent, BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, Quantization
from workbench.core.tape import Call
from workbench.ops.linalg.matrices import swap
from workbench.ops.random.counter_based import kept, least
from workbench.ops.shape.creation import filled, tri

__all__ = ["ATTENTION", "ATTENTION_GRADIENT"]

Array = Any


def _kept(sizes: tuple[int, ...], dropout: float, seed: int, dtype: Any) -> Array | None:
    """Return what weights are multiplied by: 0 with probability `dropout`, else what makes up for it; None for 1."""
    if not least(dropout):
        return None
    scale = 1 / (1 - dropout) if dropout < 1 else 0.0
    return np.where(kept(sizes, dropout, seed), np.asarray(scale, dtype), np.asarray(0, dtype))


def _unseen(queries: int, keys: int, dtype: Any) -> Array:
    """Return what is added to scores so that query i looks at keys 0 to i only."""
    return np.triu(np.full((queries, keys), -np.inf), 1).astype(dtype)


def _stretches(size: Any, to: Any) -> bool:
    """Say whether a size is another, or 1; of sizes of a trace no more is asked than that."""
    found = broadcast_size(size, to)
    return found is not None and bool(hint(found) == hint(to))


def _dims(
    query: Dims,
    key: Dims,
    value: Dims,
    mask: Dims | None = None,
    *,
    scale: float,
    causal: bool,
    dropout: float,
    seed: int,
) -> tuple[Dims, Dims]:
    q, k, v = query.sizes, key.sizes, value.sizes
    scores = (*q[:3], *k[2:3])
    fits = len(q) == len(k) == len(v) == 4 and q[:2] == k[:2] == v[:2] and q[3] == k[3] and k[2] == v[2]
    if fits and mask is not None:
        fits = len(mask.sizes) == 4 and all(map(_stretches, mask.sizes, scores))
    if not fits:
        raise DimensionError(
            "attention takes query [N, H, L, E], key [N, H, S, E], value [N, H, S, V] and a mask that stretches to "
            f"[N, H, L, S], got {', '.join(str(list(one)) for one in (q, k, v, *((mask.sizes,) if mask else ())))}.",
            op="attention",
            operands=(query.operand("query"), key.operand("key"), value.operand("value")),
        )
    last = value.names[3] if value.names[3] not in query.names[:3] else None
    return Dims((*query.names[:3], last), (*q[:3], v[3])), Dims(query.names[:3], q[:3])


def _scores(query: Any, key: Any, mask: Any, scale: float, causal: bool) -> Array:
    scores = (query * scale) @ key.swapaxes(2, 3)
    if mask is not None:
        scores = scores + mask
    return scores + _unseen(scores.shape[2], scores.shape[3], scores.dtype) if causal else scores


def _attention(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    *,
    scale: float,
    causal: bool,
    dropout: float,
    seed: int,
) -> Any:
    scores = _scores(query, key, mask, scale, causal)
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    # Such a query sees nothing: its weights are 0, where the difference of two infinities would be NaN.
    nothing = most == -np.inf
    weights = np.exp(scores - np.where(nothing, 0, most))
    total = weights.sum(-1, keepdims=True)
    # Infinite there, so that the gradient's exp(score - normal) is 0 too.
    normal = np.where(nothing, np.inf, most + np.log(np.where(nothing, 1, total)))[..., 0]
    weights = weights / np.where(nothing, 1, total)
    factors = _kept(weights.shape, dropout, seed, weights.dtype)
    return (weights if factors is None else weights * factors) @ value, normal.astype(scores.dtype)


def _attention_vjp(c: Call, g: Any, g_normal: Any) -> tuple[Any, ...]:
    query, key, value, *masks = c.inputs
    y, normal = c.outs
    masked = bool(masks) and c.needs[3]
    # Nobody records this: one op gives all three gradients and never keeps the weights.
    if g_normal is None and not masked and dispatch.ends_here():
        found = ops.attention_gradient(g, query, key, value, y, normal, *masks, **c.params)
        return (*found, *(None for _ in masks))
    scale = c.params["scale"]
    dtype, sizes = y.payload.dtype, (*query.payload.shape[:3], key.payload.shape[2])
    g = filled(y.payload.shape, 0, dtype) if g is None else g
    scores = ops.mul(ops.matmul(query, swap(key)), scale)
    for one in masks:
        scores = ops.add(scores, one)
    if c.params["causal"]:
        scores = ops.where(tri(sizes[2], sizes[3]), scores, -np.inf)
    weights = ops.exp(ops.sub(scores, ops.unsqueeze(normal, dim=3, name=None)))
    if weights.payload.dtype != dtype:
        weights = ops.to(weights, dtype=dtype)
    slopes = ops.matmul(g, swap(value))
    used = weights
    if least(c.params["dropout"]):
        used, slopes = _dropped(weights, c), _dropped(slopes, c)
    slopes = ops.sub(slopes, ops.sum(ops.mul(g, y), dim=(3,), keepdim=True))
    if g_normal is not None:
        slopes = ops.add(slopes, ops.unsqueeze(g_normal, dim=3, name=None))
    d_scores = ops.mul(weights, slopes)
    gradients = [
        ops.mul(ops.matmul(d_scores, key), scale),
        ops.mul(ops.matmul(swap(d_scores), query), scale),
        ops.matmul(swap(used), g),
    ]
    return (*gradients, *(unbroadcast(d_scores, one) for one in masks))


def _dropped(weights: Any, c: Call) -> Any:
    """Drop what the call dropped: by an op, since in a graph the seed is another one at every run."""
    share = c.params["dropout"]
    return ops.dropout(weights, **_dropping(share, c.params["seed"]))


def _dropping(share: float, seed: int) -> dict[str, Any]:
    settings = {"p": share, "seed": seed, "drawn": (0, 4), "high": 0.0, "low": 0.0}
    return settings | {"scale": 1 / (1 - share) if share < 1 else 0.0}


def _samples() -> list[Sample]:
    query, key, value = grid(2, 3, 4, 2), grid(2, 3, 5, 2, seed=1), grid(2, 3, 5, 3, seed=2)
    plain: dict[str, Any] = {"scale": 0.7, "causal": False, "dropout": 0.0, "seed": 0}
    return [
        Sample(
            (query, key, value),
            plain,
            names=(("N", "H", "L", "E"), ("N", "H", "S", "E"), ("N", "H", "S", "V")),
        ),
        Sample((query, key, value, grid(2, 1, 4, 5, seed=3)), plain),
        Sample((query, key, value, grid(1, 1, 1, 5, seed=4)), plain | {"dropout": 0.4, "seed": 7}),
        Sample((query, query, key[:, :, :4]), plain | {"causal": True}),
    ]


def _cost(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    # The gradient is given g before the others.
    query, key = dims[:2] if len(dims) < 6 else dims[1:3]
    return 4.0 * query.numel * key.sizes[2]


def _steps(
    constant: Callable[[Any], Any], query: Any, key: Any, value: Any, mask: Any = None,
    *, scale: float, causal: bool, dropout: float, seed: int,
) -> tuple[Any, Any]:  # fmt: skip
    scores = ops.mul(ops.matmul(query, swap(key)), scale)
    sizes = scores.payload.shape
    if mask is not None:
        scores = ops.add(scores, mask)
    if causal:
        scores = ops.where(tri(sizes[2], sizes[3]), scores, -np.inf)
    weights = ops.softmax(scores, dim=3)
    if least(dropout):
        weights = ops.dropout(weights, **_dropping(dropout, seed))
    return ops.matmul(weights, value), ops.logsumexp(constant(scores), dim=(3,), keepdim=False)


ATTENTION = Op(
    name="attention",
    contribution=composed(_steps),
    doc="Averages of values by how well their keys match a query, for each head; also the logarithms of the sums.",
    equation="y = softmax(scale·q·kᵀ + mask)·v",
    reference="Vaswani et al. 2017; in blocks: Dao et al. 2022",
    dims=_dims,
    rule="as the query, with the last dim of the value",
    dtype=ATTENDED,
    forward=_attention,
    vjp=_attention_vjp,
    saves=Saves(None, output=True),
    cost=_cost,
    samples=_samples,
    bad=lambda: [
        BadInput(
            (grid(2, 3, 4, 2), grid(2, 3, 5, 3), grid(2, 3, 5, 3)),
            {"scale": 1.0, "causal": False, "dropout": 0.0, "seed": 0},
            DimensionError,
            "key [N, H, S, E]",
        )
    ],
    outputs=2,
    tolerance=1e-5,
    properties=frozenset({"narrow"}),
    quantized=Quantization("own", inputs=("value", "value", "value", "plain")),
)


def _attention_gradient(
    g: Any, query: Any, key: Any, value: Any, y: Any, normal: Any, mask: Any = None,
    *, scale: float, causal: bool, dropout: float, seed: int,
) -> Any:  # fmt: skip
    weights = np.exp(_scores(query, key, mask, scale, causal) - normal[..., None])
    slopes = g @ value.swapaxes(2, 3)
    factors = _kept(weights.shape, dropout, seed, weights.dtype)
    used = weights
    if factors is not None:
        used, slopes = weights * factors, slopes * factors
    slopes = weights * (slopes - (g * y).sum(-1, keepdims=True)) * scale
    return slopes @ key, slopes.swapaxes(2, 3) @ query, used.swapaxes(2, 3) @ g


ATTENTION_GRADIENT = Op(
    name="attention_gradient",
    doc="Gradients of attention for query, key and value.",
    equation="with p the weights and d = p·(g·vᵀ - Σ g·y):  gq = scale·d·k, gk = scale·dᵀ·q, gv = pᵀ·g",
    reference="Dao et al. 2022",
    dims=lambda g, query, key, value, *rest, **params: (query, key, value),
    rule="as query, key and value",
    dtype=ATTENDED_GRADIENT,
    forward=_attention_gradient,
    vjp=Absent("where a gradient is recorded, the rule of attention takes it in other ops"),
    saves=Saves((), output=False),
    cost=_cost,
    samples=lambda: [
        Sample((grid(*np.shape(y), seed=9), *sample.inputs[:3], y, normal, *sample.inputs[3:]), sample.params)
        for sample in _samples()
        for y, normal in [_attention(*sample.inputs, **sample.params)]
    ],
    outputs=3,
    tolerance=1e-5,
    quantized=GRADIENT,
)
