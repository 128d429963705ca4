"""Attention, and what goes with it."""

from __future__ import annotations

import math
from typing import Any

from workbench.base.dtypes import bool_
from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import data_type, wb

__all__: list[str] = []


def _heads(x: Any, count: int | None) -> Any:
    """Return `[N, heads, length, width]`."""
    if x.dim() == 4:
        return x
    if not count:
        raise OnnxError("with 3 dims it needs the number of heads")
    n, length, width = x.shape
    return x.reshape(n, length, count, width // count).transpose(1, 2)


def _masked(
    shape: list[Any], mask: Any, causal: bool, past: int, lengths: Any, kind: Any, left: int, right: int
) -> Any:
    """Return what is added to the scores: 0 where a query may look, -inf where it may not."""
    rows, columns = shape
    total = None
    if causal or left >= 0 or right >= 0:
        query, key = wb.arange(rows).reshape(-1, 1) + past, wb.arange(columns)
        if lengths is not None:
            # The queries are the last of what is no padding.
            query = wb.arange(rows).reshape(1, 1, -1, 1) + (lengths.long().reshape(-1, 1, 1, 1) - rows)
        allowed = query >= key if causal else query == query
        if left >= 0:
            allowed = wb.logical_and(allowed, key >= query - left)
        if right >= 0:
            allowed = wb.logical_and(allowed, key <= query + right)
        total = _added(allowed, kind)
    if lengths is not None:
        real = wb.arange(columns).reshape(1, 1, 1, -1) < lengths.reshape(-1, 1, 1, 1)
        total = _added(real, kind) if total is None else total + _added(real, kind)
    if mask is not None:
        own = _added(mask, kind) if mask.dtype == bool_ else mask.to(kind)
        # A shorter mask says nothing of the last keys: they are not looked at.
        if own.shape[-1] != columns:
            own = wb.constant_pad_nd(own, [0, columns - own.shape[-1]], -math.inf)
        total = own if total is None else total + own
    return total


def _added(allowed: Any, kind: Any) -> Any:
    return wb.where(allowed, wb.zeros((), dtype=kind), wb.full((), -math.inf, dtype=kind))


@operator("Attention", since=23)
def _attention(
    q: Any, k: Any, v: Any, mask: Any = None, past_key: Any = None, past_value: Any = None, lengths: Any = None, *,
    is_causal: int = 0, kv_num_heads: int = 0, left_window_size: int = -1, q_num_heads: int = 0,
    qk_matmul_output_mode: int = 0, right_window_size: int = -1, scale: float | None = None, softcap: float = 0.0,
    softmax_precision: int = 0, outputs: int,
) -> Any:  # fmt: skip
    flat, kind = q.dim() == 3, q.dtype
    q, k, v = _heads(q, q_num_heads), _heads(k, kv_num_heads), _heads(v, kv_num_heads)
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = wb.cat([past_key, k], dim=2), wb.cat([past_value, v], dim=2)
    present_key, present_value = k, v
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    root = math.sqrt(factor)
    scores = wb.matmul(q * root, k.transpose(-1, -2) * root)
    raw = scores
    bias = _masked(
        list(scores.shape[-2:]),
        mask,
        bool(is_causal),
        past,
        lengths,
        kind,
        left_window_size,
        right_window_size,
    )
    capped = softcap * wb.tanh(scores / softcap) if softcap else scores
    biased = capped if bias is None else capped + bias
    wide = data_type(softmax_precision) if softmax_precision else kind
    # A row that may look at nothing gives nothing, where a softmax of it would be no number.
    values = biased.to(wide)
    high = wb.amax(values, -1, keepdim=True)
    high = wb.where(wb.isneginf(high), wb.zeros_like(high), high)
    powers = wb.exp(values - high)
    total = wb.sum(powers, -1, keepdim=True)
    weights = (powers / wb.where(total == 0, wb.ones_like(total), total)).to(kind)
    found = wb.matmul(weights, v)
    if flat:
        n, heads, length, width = found.shape
        found = found.transpose(1, 2).reshape(n, length, heads * width)
    shown = {0: raw, 1: capped, 2: biased, 3: weights}.get(qk_matmul_output_mode)
    if shown is None:
        raise OnnxError(f"qk_matmul_output_mode is 0 to 3, not {qk_matmul_output_mode}")
    return found, present_key, present_value, shown


@operator("RotaryEmbedding", since=23)
def _rotary(
    x: Any, cosine: Any, sine: Any, places: Any = None, *, interleaved: int = 0, num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Any:  # fmt: skip
    shape = x.shape
    if x.dim() == 4:
        x = x.transpose(1, 2)
    else:
        if not num_heads:
            raise OnnxError("with 3 dims it needs the number of heads")
        x = x.reshape(shape[0], shape[1], num_heads, -1)
    width = rotary_embedding_dim or x.shape[-1]
    turned, rest = x[..., :width], x[..., width:]
    if places is not None:
        picked = [
            wb.index_select(one, 0, places.reshape(-1)).reshape([*places.shape, -1]) for one in (cosine, sine)
        ]
        cosine, sine = picked
    cosine, sine = cosine[..., : width // 2].unsqueeze(2), sine[..., : width // 2].unsqueeze(2)
    if interleaved:
        one, two = turned[..., 0::2], turned[..., 1::2]
    else:
        one, two = turned[..., : width // 2], turned[..., width // 2 :]
    first, second = cosine * one - sine * two, sine * one + cosine * two
    if interleaved:
        found = wb.stack([first, second], dim=-1).reshape(turned.shape)
    else:
        found = wb.cat([first, second], dim=-1)
    found = wb.cat([found, rest], dim=-1)
    return found.transpose(1, 2) if len(shape) == 4 else found.reshape(shape)
