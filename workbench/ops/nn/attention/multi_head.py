"""Attention of several heads: queries, keys and values projected, weighed apart, and brought together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims, unify_names
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.random import Generator
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of, new
from workbench.ops.contract.matmul import linear
from workbench.ops.linalg.matrices import swap
from workbench.ops.nn.attention.scaled_dot_product import bare, by_the_op, step_by_step, weights_of
from workbench.ops.offer import offered
from workbench.ops.random.dropout import dropout


def _as_numbers(mask: Any, label: str, dtype: Any) -> Any:
    """Return a mask to add: -∞ where a bool mask is True, which here is where *not* to look."""
    if mask is None:
        return None
    kind = mask.payload.dtype.kind
    if kind not in "bfV":
        raise DTypeError(f"only bool and floating types of {label} are supported, got {mask.dtype.name}")
    if kind != "b":
        return mask
    return ops.where(mask, new(np.asarray(-math.inf, dtype)), new(np.asarray(0.0, dtype)))


def _widened(mask: Any, value: float = 0.0) -> Any:
    """Add a column to a mask, for a key that was added."""
    if mask is None:
        return None
    ndim = len(mask.payload.shape)
    return ops.pad(mask, padding=((0, 0),) * (ndim - 1) + ((0, 1),), value=value)


def _project(
    query: Any, key: Any, value: Tensor, weights: tuple[Any, ...], bias: Any
) -> tuple[Any, Any, Any]:
    embedding = query.payload.shape[-1]
    biases: list[Any] = [None, None, None]
    if bias is not None:
        biases = [ops.index(bias, key=(slice(i * embedding, (i + 1) * embedding),)) for i in range(3)]
    q, k, v = (
        linear(one, weight, b) for one, weight, b in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _by_head(x: Any, batch: int, heads: int) -> Any:
    """Turn [T, N, E] into [N·heads, T, E/heads]."""
    length, _, width = x.payload.shape
    return ops.permute(ops.reshape(x, sizes=(length, batch * heads, width // heads)), dim=(1, 0, 2))


def _check_heads(query: Any, key: Any, value: Tensor, num_heads: int, expected: int, separate: bool) -> None:
    ranks = {len(one.payload.shape) for one in (query, key, value)}
    if ranks not in ({2}, {3}):
        raise DimensionError(
            "query, key and value should all be unbatched 2D or batched 3D tensors: [L, E] or [L, N, E], got "
            + ", ".join(f"{len(one.payload.shape)}D" for one in (query, key, value)),
            op="multi_head_attention_forward",
        )
    width = query.payload.shape[-1]
    if width != expected:
        raise DimensionError(
            f"was expecting embedding dimension of {expected}, but got {width}",
            op="multi_head_attention_forward",
            operands=(dims_of(query).operand("query", [len(query.payload.shape) - 1]),),
        )
    if width % num_heads:
        raise DimensionError(
            f"embed_dim {width} not divisible by num_heads {num_heads}", op="multi_head_attention_forward"
        )
    a, b = key.payload.shape, value.payload.shape
    if (a[:-1] != b[:-1]) if separate else (a != b):
        raise DimensionError(
            f"key shape {list(a)} does not match value shape {list(b)}",
            op="multi_head_attention_forward",
            operands=(dims_of(key).operand("key"), dims_of(value).operand("value")),
        )


def _check_names(query: Any, key: Any, value: Tensor) -> None:
    """Refuse values whose names say other sources than the keys', and keys of another batch than the queries'."""
    k, v = dims_of(key), dims_of(value)
    unify_names(
        "attention: key and value", Dims(k.names[:-1], k.sizes[:-1]), Dims(v.names[:-1], v.sizes[:-1])
    )
    if len(k.sizes) == 3:
        q = dims_of(query)
        unify_names(
            "attention: batch of query and key",
            Dims(q.names[1:2], q.sizes[1:2]),
            Dims(k.names[1:2], k.sizes[1:2]),
        )


def _names_of_weights(query: Any, key: Any, heads: bool) -> tuple[str | None, ...]:
    """Return the names of weights [N, heads?, L, S]; places looked at have none where queries are called the same."""
    q, k = dims_of(query).names, dims_of(key).names
    batch = (q[1] or k[1],) if len(q) == 3 else ()
    names: list[str | None] = [*batch, *(("heads",) if heads else ()), q[0], k[0]]
    return tuple(None if name in names[:i] else name for i, name in enumerate(names))


@offered("nn.functional")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    *,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several heads: inputs projected, attended to by head, put together and projected.

    Shapes: query [L, N, E] (or [L, E]), key and value [S, N, E]; returns the output in the query's shape and names, and
    the weights [N, L, S] (their mean over the heads, or [N, heads, L, S]), None without `need_weights`. In both masks
    True means *not* to look: `key_padding_mask` [N, S], `attn_mask` [L, S] or [N·heads, L, S]; numbers are added.
    Raises `DimensionError` where names say that key and value, or the batches of query and key, are others.
    """
    _check_heads(query, key, value, num_heads, embed_dim_to_check, use_separate_proj_weight)
    told = query, key, value
    query, key, value, mask, padding = _ready(told, num_heads, attn_mask, key_padding_mask, is_causal)
    length, batch, width = query.payload.shape
    weights: tuple[Any, ...] = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        packed = bare(in_proj_weight)
        weights = tuple(ops.index(packed, key=(slice(i * width, (i + 1) * width),)) for i in range(3))
    q, k, v = _project(query, key, value, tuple(bare(one) for one in weights), bare(in_proj_bias))
    out, attention = _attended(
        q, k, v, num_heads, (bias_k, bias_v), (mask, padding), add_zero_attn, dropout_p if training else 0.0,
        need_weights, average_attn_weights, static_k, static_v, generator,
    )  # fmt: skip
    out = linear(out, bare(out_proj_weight), bare(out_proj_bias))
    return _given_back(told, ops.reshape(out, sizes=(length, batch, out.payload.shape[1])), attention)


def attention_of_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Do what `multi_head_attention_forward` does between its projections, of what was projected."""
    _check_heads(query, key, value, num_heads, query.payload.shape[-1], True)
    told = query, key, value
    q, k, v, mask, padding = _ready(told, num_heads, attn_mask, key_padding_mask, is_causal)
    biases, masks = (bias_k, bias_v), (mask, padding)
    out, attention = _attended(
        q, k, v, num_heads, biases, masks, add_zero_attn, dropout_p, need_weights, average_attn_weights
    )
    return _given_back(told, ops.reshape(out, sizes=q.payload.shape), attention)


def _ready(
    told: tuple[Any, ...], heads: int, attn_mask: Any, key_padding_mask: Any, is_causal: bool
) -> tuple[Any, ...]:
    """Return query, key and value without names and with a batch, and the masks as numbers to add."""
    if is_causal and attn_mask is None:
        raise DimensionError(
            "Need attn_mask if specifying the is_causal hint: it says that the mask given is the causal one.",
            op="multi_head_attention_forward",
        )
    _check_names(*told)
    query, key, value = (bare(one) for one in told)
    if len(query.payload.shape) == 2:
        query, key, value = (ops.unsqueeze(one, dim=1, name=None) for one in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = ops.unsqueeze(bare(key_padding_mask), dim=0, name=None)
    length, batch, _ = query.payload.shape
    dtype = query.payload.dtype
    padding = _as_numbers(bare(key_padding_mask), "key_padding_mask", dtype)
    mask = _attention_mask(_as_numbers(bare(attn_mask), "attn_mask", dtype), batch * heads, length, key)
    return query, key, value, mask, padding


def _given_back(told: tuple[Any, ...], out: Any, attention: Any) -> tuple[Any, Any]:
    """Return an output [L, N, E] and weights [N, …], None where nobody wants them, in sizes and names of the query."""
    query, key, _ = told
    names, batched = query._names, len(query.payload.shape) == 3
    if not batched:
        out = ops.squeeze(out, dim=(1,))
    if names is not None:
        out = ops.rename(out, names=names)
    if attention is None:
        return out, None
    attention = attention if batched else ops.squeeze(attention, dim=(0,))
    by_head = len(attention.payload.shape) == len(query.payload.shape) + 1
    weight_names = _names_of_weights(query, key, by_head)
    return out, ops.rename(attention, names=weight_names) if names is not None else attention


def _attended(
    q: Any, k: Any, v: Any, heads: int, biases: tuple[Any, Any], masks: tuple[Any, Any], add_zero: bool, dropped: float,
    need_weights: bool, average: bool, static_k: Any = None, static_v: Any = None, generator: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return what heads find, [L·N, E], and the weights, [N, L, S] or [N, heads, L, S], of what was projected.

    q [L, N, E], k and v [S, N, E], without names; `masks` are numbers to add, [1 or N·heads, L, S] and [N, S].
    """
    (bias_k, bias_v), (mask, padding) = biases, masks
    length, batch, width = q.payload.shape
    if (bias_k is None) != (bias_v is None):
        raise ValueError("bias_k and bias_v come together: one of them is None")
    if bias_k is not None:
        k, v = (
            ops.cat(one, ops.expand(bare(bias), sizes=(1, batch, width)), dim=0)
            for one, bias in ((k, bias_k), (v, bias_v))
        )
        mask, padding = _widened(mask), _widened(padding)
    attend = _heads_weighed if need_weights or static_k is not None or static_v is not None else _heads
    out, attention = attend(
        q, k, v, mask, padding, heads, add_zero, dropped, not need_weights, static_k, static_v, generator
    )
    if not need_weights:
        return out, None
    attention = ops.reshape(attention, sizes=(batch, heads, length, attention.payload.shape[2]))
    return out, ops.mean(attention, dim=(1,), keepdim=False) if average else attention


def _heads(
    q: Any, k: Any, v: Any, mask: Any, padding: Any, heads: int, add_zero: bool, dropped: float,
    safe: bool, static_k: Any, static_v: Any, generator: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Attend by head without a copy of anything: heads are views of what the projections gave."""
    length, batch, width = q.payload.shape
    if add_zero:
        k, v = (ops.pad(one, padding=((0, 1), (0, 0), (0, 0)), value=0.0) for one in (k, v))
        mask, padding = _widened(mask), _widened(padding)
    sources = k.payload.shape[0]
    if mask is not None:
        rows = mask.payload.shape[0]
        mask = ops.reshape(mask, sizes=(*((1, 1) if rows == 1 else (batch, heads)), length, sources))
    if padding is not None:
        padding = ops.reshape(padding, sizes=(batch, 1, 1, sources))
        mask = padding if mask is None else ops.add(mask, padding)
    q, k, v = (
        ops.permute(
            ops.reshape(one, sizes=(one.payload.shape[0], batch, heads, width // heads)), dim=(1, 2, 0, 3)
        )
        for one in (q, k, v)
    )
    # One over the root of a head's width.
    scale = math.sqrt(heads / width)
    out = by_the_op(q, k, v, mask, scale, False, dropped, generator)
    if out is None:  # all is dropped
        out = step_by_step(q, k, v, mask, scale, False, dropped, generator)
    return ops.reshape(ops.permute(out, dim=(2, 0, 1, 3)), sizes=(length * batch, width)), None


def _heads_weighed(
    q: Any, k: Any, v: Any, mask: Any, padding: Any, heads: int, add_zero: bool, dropped: float,
    safe: bool, static_k: Any, static_v: Any, generator: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Attend by head, and return the weights too."""
    length, batch, width = q.payload.shape
    q = _by_head(q, batch, heads)
    k = _by_head(k, batch, heads) if static_k is None else bare(static_k)
    v = _by_head(v, batch, heads) if static_v is None else bare(static_v)
    if add_zero:
        k, v = (ops.pad(one, padding=((0, 0), (0, 1), (0, 0)), value=0.0) for one in (k, v))
        mask, padding = _widened(mask), _widened(padding)
    sources = k.payload.shape[1]
    if padding is not None:
        spread = ops.expand(
            ops.reshape(padding, sizes=(batch, 1, 1, sources)), sizes=(batch, heads, 1, sources)
        )
        spread = ops.reshape(spread, sizes=(batch * heads, 1, sources))
        mask = spread if mask is None else ops.add(mask, spread)
    scores = ops.matmul(ops.mul(q, math.sqrt(heads / width)), swap(k))
    scores = scores if mask is None else ops.add(scores, mask)
    # Where weights are wanted a query that may look at nothing gives NaN, else zeros: PyTorch has one function for
    # each.
    attention = weights_of(scores, mask is not None and safe)
    if dropped > 0.0:
        attention = dropout(attention, dropped, generator=generator)
    out = ops.reshape(ops.permute(ops.matmul(attention, v), dim=(1, 0, 2)), sizes=(length * batch, width))
    return out, attention


def _attention_mask(mask: Any, rows: int, length: int, key: Any) -> Any:
    """Check the sizes of a mask and bring it to three dims."""
    if mask is None:
        return None
    sizes, sources = mask.payload.shape, key.payload.shape[0]
    expected = {2: (length, sources), 3: (rows, length, sources)}.get(len(sizes))
    if sizes != expected:
        wanted = f"{len(sizes)}D attn_mask is {list(sizes)}, but should be {expected and list(expected)}"
        raise DimensionError(
            f"The shape of the {wanted}."
            if expected
            else f"attn_mask's dimension {len(sizes)} is not supported",
            op="multi_head_attention_forward",
            operands=(dims_of(mask).operand("attn_mask"),),
        )
    return ops.unsqueeze(mask, dim=0, name=None) if len(sizes) == 2 else mask
