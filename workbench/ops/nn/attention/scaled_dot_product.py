"""Attention: averages of values, weighted by how well their keys match a query."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.random import Generator
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of, new
from workbench.ops.linalg.matrices import swap
from workbench.ops.nn.attention.scaled_dot_product_ops import ATTENTION
from workbench.ops.offer import offered
from workbench.ops.random.counter_based import seed_from
from workbench.ops.random.dropout import dropout
from workbench.ops.shape.creation import tri


def bare(value: Any) -> Any:
    """Return a value without names; None stays."""
    return ops.rename(value, names=None) if value is not None and value._names is not None else value


def _masked(scores: Any, mask: Any) -> Any:
    """Leave scores where a bool mask is True, else -∞; add a mask of numbers."""
    if mask.payload.dtype.kind == "b":
        return ops.where(mask, scores, -math.inf)
    return ops.add(scores, mask)


def weights_of(scores: Any, masked: bool) -> Any:
    """Softmax over the last dim; a query that may look at nothing gets zeros."""
    last = len(scores.payload.shape) - 1
    if not masked:
        return ops.softmax(scores, dim=last)
    nothing = ops.all(ops.eq(scores, -math.inf), dim=(last,), keepdim=True)
    return ops.where(nothing, 0.0, ops.softmax(ops.where(nothing, 0.0, scores), dim=last))


def by_the_op(
    query: Any, key: Any, value: Tensor, mask: Any, scale: float, causal: bool, dropout: float, generator: Any
) -> Tensor | None:
    """Run the op, where it takes sizes and types; None where it does not."""
    q, k, v = (one.payload.shape for one in (query, key, value))
    if len(q) > 4 or not len(q) == len(k) == len(v) or not q[:-2] == k[:-2] == v[:-2]:
        return None
    if (
        dropout >= 1
        or k[-2] != v[-2]
        or q[-1] != k[-1]
        or any(one.payload.dtype.kind == "c" for one in (query, key))
    ):
        return None
    lead = (1,) * (4 - len(q))
    if mask is not None:
        sizes = mask.payload.shape
        if len(sizes) > len(q):
            return None
        if mask.payload.dtype.kind == "b":
            mask = ops.where(mask, new(np.zeros((), query.payload.dtype)), -math.inf)
        sizes = (1,) * (4 - len(sizes)) + sizes
        if any(a not in (1, b) for a, b in zip(sizes, (*lead, *q[:-1], k[-2]), strict=True)):
            return None
        mask = ops.reshape(mask, sizes=sizes)
    arrays = [
        ops.reshape(one, sizes=(*lead, *one.payload.shape)) if lead else one for one in (query, key, value)
    ]
    masks = () if mask is None else (mask,)
    out, _ = ATTENTION(
        *arrays,
        *masks,
        scale=float(scale),
        causal=causal,
        dropout=float(dropout),
        seed=seed_from(generator) if dropout > 0 else 0,
    )
    return ops.reshape(out, sizes=out.payload.shape[len(lead) :]) if lead else out


def _repeated(x: Any, heads: int, label: str) -> Any:
    """Repeat each head of [..., heads, S, E] so that there are `heads`."""
    sizes = x.payload.shape
    if sizes[-3] == heads:
        return x
    if heads % sizes[-3]:
        raise DimensionError(
            f"Number of heads in {label} must divide the number of heads in query: {sizes[-3]} and {heads}",
            op="scaled_dot_product_attention",
            operands=(dims_of(x).operand(label),),
        )
    times = heads // sizes[-3]
    # Copies stand beside their head, as repeat_interleave lays them.
    wide = ops.reshape(x, sizes=(*sizes[:-2], 1, *sizes[-2:]))
    wide = ops.expand(wide, sizes=(*sizes[:-2], times, *sizes[-2:]))
    return ops.reshape(wide, sizes=(*sizes[:-3], heads, *sizes[-2:]))


@offered("nn.functional")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """softmax(scale·q·kᵀ + mask)·v: for each query the average of the values, by how well their keys match it.

    Shapes: query [..., L, E], key [..., S, E], value [..., S, V] -> [..., L, V]; the query's names stay. `attn_mask`
    broadcasts to [..., L, S]: True where a query may look, or numbers to add. `is_causal` lets query i look at keys 0
    to i. `scale` is 1/√E by default. With `enable_gqa`, heads of keys and values (third dim from the right) are
    repeated to match the query's. `dropout_p` drops weights, whatever the mode of a model is. Vaswani et al. 2017.

    >>> import workbench as wb
    >>> q = wb.tensor([[1.0, 0.0]])
    >>> wb.nn.functional.scaled_dot_product_attention(q, wb.zeros(2, 2), wb.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    operands = tuple(dims_of(one) for one in (query, key, value))
    labels = ("query", "key", "value")
    for dims, label in zip(operands, labels, strict=True):
        if len(dims.sizes) < 2:
            raise DimensionError(
                f"scaled_dot_product_attention: {label} must be at least 2 dimensional, got {list(dims.sizes)}",
                op="scaled_dot_product_attention",
                operands=tuple(d.operand(name) for d, name in zip(operands, labels, strict=True)),
            )
    if attn_mask is not None and is_causal:
        raise DimensionError(
            "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
            op="scaled_dot_product_attention",
        )
    if attn_mask is not None and attn_mask.payload.dtype.kind not in "bfV":
        raise DTypeError(
            f"Expected attn_mask dtype to be bool or float, got {attn_mask.dtype.name}. Cast it: attn_mask.bool()"
        )
    out_names = (*operands[0].names[:-1], operands[2].names[-1])
    query, key, value, attn_mask = (bare(one) for one in (query, key, value, attn_mask))
    if enable_gqa:
        heads = query.payload.shape[-3]
        key, value = _repeated(key, heads, "key"), _repeated(value, heads, "value")
    scale = 1 / math.sqrt(query.payload.shape[-1]) if scale is None else scale
    out = by_the_op(query, key, value, attn_mask, scale, is_causal, dropout_p, generator)
    if out is None:
        out = step_by_step(query, key, value, attn_mask, scale, is_causal, dropout_p, generator)
    given = [name for name in out_names if name]
    if not given or len(out_names) != len(out.payload.shape):
        return out
    if len(set(given)) != len(given):
        out_names = (*out_names[:-1], None)
    return ops.rename(out, names=out_names)


def step_by_step(
    query: Any,
    key: Any,
    value: Tensor,
    mask: Any,
    scale: float,
    causal: bool,
    dropout_p: float,
    generator: Any,
) -> Tensor:
    """The same in several ops, for sizes that stretch to each other, more dims, and complex numbers."""
    scores = ops.matmul(ops.mul(query, float(scale)), swap(key))
    if causal:
        mask = tri(*scores.payload.shape[-2:])
    if mask is not None:
        broadcast("scaled_dot_product_attention", dims_of(scores), dims_of(mask))
        scores = _masked(scores, mask)
    weights = weights_of(scores, mask is not None)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, generator=generator)
    return ops.matmul(weights, value)
