"""Attention: averages of values, weighted by how well their keys match a query."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast, unify_names
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.random import Generator
from workbench.core.op import ops
from workbench.core.value import dims_of, new
from workbench.ops.attention_heads import ATTENTION
from workbench.ops.chance import seed_from
from workbench.ops.contract import linear
from workbench.ops.dropout import dropout
from workbench.ops.matrices import swap


def _bare(value: Any) -> Any:
    return ops.rename(value, names=None) if value is not None and value._names is not None else value


def _masked(scores: Any, mask: Any) -> Any:
    """Leave scores where a bool mask is True, else -∞; add a mask of numbers."""
    if mask._array.dtype.kind == "b":
        return ops.where(mask, scores, -math.inf)
    return ops.add(scores, mask)


def _weights(scores: Any, masked: bool) -> Any:
    """Softmax over the last dim; a query that may look at nothing gets zeros."""
    last = len(scores._array.shape) - 1
    if not masked:
        return ops.softmax(scores, dim=last)
    nothing = ops.all(ops.eq(scores, -math.inf), dim=(last,), keepdim=True)
    return ops.where(nothing, 0.0, ops.softmax(ops.where(nothing, 0.0, scores), dim=last))


def _by_the_op(
    query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool, dropout: float, generator: Any
) -> Any:
    """Run the op, where it takes sizes and types; None where it does not."""
    q, k, v = (one._array.shape for one in (query, key, value))
    if len(q) > 4 or not len(q) == len(k) == len(v) or not q[:-2] == k[:-2] == v[:-2]:
        return None
    if (
        dropout >= 1
        or k[-2] != v[-2]
        or q[-1] != k[-1]
        or any(one._array.dtype.kind == "c" for one in (query, key))
    ):
        return None
    lead = (1,) * (4 - len(q))
    if mask is not None:
        sizes = mask._array.shape
        if len(sizes) > len(q):
            return None
        if mask._array.dtype.kind == "b":
            mask = ops.where(mask, new(np.zeros((), query._array.dtype)), -math.inf)
        sizes = (1,) * (4 - len(sizes)) + sizes
        if any(a not in (1, b) for a, b in zip(sizes, (*lead, *q[:-1], k[-2]), strict=True)):
            return None
        mask = ops.reshape(mask, sizes=sizes)
    arrays = [
        ops.reshape(one, sizes=(*lead, *one._array.shape)) if lead else one for one in (query, key, value)
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
    return ops.reshape(out, sizes=out._array.shape[len(lead) :]) if lead else out


def _repeated(x: Any, heads: int, label: str) -> Any:
    """Repeat each head of [..., heads, S, E] so that there are `heads`."""
    sizes = x._array.shape
    if sizes[-3] == heads:
        return x
    if heads % sizes[-3]:
        raise DimensionError(
            f"Number of heads in {label} must divide the number of heads in query: {sizes[-3]} and {heads}",
            op="scaled_dot_product_attention",
            operands=(dims_of(x).operand(label),),
        )
    times = heads // sizes[-3]
    wide = ops.reshape(x, sizes=(*sizes[:-2], 1, *sizes[-2:]))
    wide = ops.expand(wide, sizes=(*sizes[:-2], times, *sizes[-2:]))
    return ops.reshape(wide, sizes=(*sizes[:-3], heads, *sizes[-2:]))


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    generator: Generator | None = None,
) -> Any:
    """softmax(scale·q·kᵀ + mask)·v: for each query the average of the values, by how well their keys match it.

    Shapes: query [..., L, E], key [..., S, E], value [..., S, V] -> [..., L, V]; the query's names stay. `attn_mask`
    broadcasts to [..., L, S]: True where a query may look, or numbers to add. `is_causal` lets query i look at keys 0
    to i. `scale` is 1/√E by default. With `enable_gqa`, heads of keys and values (third dim from the right) are
    repeated to match the query's. `dropout_p` drops weights, whatever the mode of a model is. Vaswani et al. 2017.

    >>> import workbench as wb
    >>> q = wb.tensor([[1.0, 0.0]])
    >>> wb.nn.functional.scaled_dot_product_attention(q, wb.zeros(2, 2), wb.tensor([[1.0], [3.0]]))
    tensor([[2.0000]])
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
    if attn_mask is not None and attn_mask._array.dtype.kind not in "bfV":
        raise DTypeError(
            f"Expected attn_mask dtype to be bool or float, got {attn_mask.dtype.name}. Cast it: attn_mask.bool()"
        )
    out_names = (*operands[0].names[:-1], operands[2].names[-1])
    query, key, value, attn_mask = (_bare(one) for one in (query, key, value, attn_mask))
    if enable_gqa:
        heads = query._array.shape[-3]
        key, value = _repeated(key, heads, "key"), _repeated(value, heads, "value")
    scale = 1 / math.sqrt(query._array.shape[-1]) if scale is None else scale
    out = _by_the_op(query, key, value, attn_mask, scale, is_causal, dropout_p, generator)
    if out is None:
        out = _step_by_step(query, key, value, attn_mask, scale, is_causal, dropout_p, generator)
    given = [name for name in out_names if name]
    if not given or len(out_names) != len(out._array.shape):
        return out
    if len(set(given)) != len(given):
        out_names = (*out_names[:-1], None)
    return ops.rename(out, names=out_names)


def _step_by_step(
    query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool, dropout_p: float, generator: Any
) -> Any:
    """The same in several ops, for sizes that stretch to each other, more dims, and complex numbers."""
    scores = ops.matmul(ops.mul(query, float(scale)), swap(key))
    if causal:
        mask = new(np.tri(*scores._array.shape[-2:], dtype=np.bool_))
    if mask is not None:
        broadcast("scaled_dot_product_attention", dims_of(scores), dims_of(mask))
        scores = _masked(scores, mask)
    weights = _weights(scores, mask is not None)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, generator=generator)
    return ops.matmul(weights, value)


# ------------------------------------------------------------------------------------- several heads


def _as_numbers(mask: Any, label: str, dtype: Any) -> Any:
    """Return a mask to add: -∞ where a bool mask is True, which here is where *not* to look."""
    if mask is None:
        return None
    kind = mask._array.dtype.kind
    if kind not in "bfV":
        raise DTypeError(f"only bool and floating types of {label} are supported, got {mask.dtype.name}")
    if kind != "b":
        return mask
    return ops.where(mask, new(np.asarray(-math.inf, dtype)), new(np.asarray(0.0, dtype)))


def _widened(mask: Any, value: float = 0.0) -> Any:
    """Add a column to a mask, for a key that was added."""
    if mask is None:
        return None
    ndim = len(mask._array.shape)
    return ops.pad(mask, padding=((0, 0),) * (ndim - 1) + ((0, 1),), value=value)


def _project(query: Any, key: Any, value: Any, weights: tuple[Any, ...], bias: Any) -> tuple[Any, Any, Any]:
    embedding = query._array.shape[-1]
    biases: list[Any] = [None, None, None]
    if bias is not None:
        biases = [ops.index(bias, key=(slice(i * embedding, (i + 1) * embedding),)) for i in range(3)]
    q, k, v = (
        linear(one, weight, b) for one, weight, b in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _by_head(x: Any, batch: int, heads: int) -> Any:
    """Turn [T, N, E] into [N·heads, T, E/heads]."""
    length, _, width = x._array.shape
    return ops.permute(ops.reshape(x, sizes=(length, batch * heads, width // heads)), dim=(1, 0, 2))


def _check_heads(query: Any, key: Any, value: Any, num_heads: int, expected: int, separate: bool) -> None:
    ranks = {len(one._array.shape) for one in (query, key, value)}
    if ranks not in ({2}, {3}):
        raise DimensionError(
            "query, key and value should all be unbatched 2D or batched 3D tensors: [L, E] or [L, N, E], got "
            + ", ".join(f"{len(one._array.shape)}D" for one in (query, key, value)),
            op="multi_head_attention_forward",
        )
    width = query._array.shape[-1]
    if width != expected:
        raise DimensionError(
            f"was expecting embedding dimension of {expected}, but got {width}",
            op="multi_head_attention_forward",
            operands=(dims_of(query).operand("query", [len(query._array.shape) - 1]),),
        )
    if width % num_heads:
        raise DimensionError(
            f"embed_dim {width} not divisible by num_heads {num_heads}", op="multi_head_attention_forward"
        )
    a, b = key._array.shape, value._array.shape
    if (a[:-1] != b[:-1]) if separate else (a != b):
        raise DimensionError(
            f"key shape {list(a)} does not match value shape {list(b)}",
            op="multi_head_attention_forward",
            operands=(dims_of(key).operand("key"), dims_of(value).operand("value")),
        )


def _check_names(query: Any, key: Any, value: Any) -> None:
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


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    *,
    generator: Generator | None = None,
) -> tuple[Any, Any]:
    """Attention in several heads: inputs projected, attended to by head, put together and projected.

    Shapes: query [L, N, E] (or [L, E]), key and value [S, N, E]; returns the output in the query's shape and names, and
    the weights [N, L, S] (their mean over the heads, or [N, heads, L, S]), None without `need_weights`. In both masks
    True means *not* to look: `key_padding_mask` [N, S], `attn_mask` [L, S] or [N·heads, L, S]; numbers are added.
    Raises `DimensionError` where names say that key and value, or the batches of query and key, are others.
    """
    if is_causal and attn_mask is None:
        raise DimensionError(
            "Need attn_mask if specifying the is_causal hint: it says that the mask given is the causal one.",
            op="multi_head_attention_forward",
        )
    _check_heads(query, key, value, num_heads, embed_dim_to_check, use_separate_proj_weight)
    _check_names(query, key, value)
    names, weight_names = query._names, _names_of_weights(query, key, not average_attn_weights)
    query, key, value = (_bare(one) for one in (query, key, value))
    batched = len(query._array.shape) == 3
    if not batched:
        query, key, value = (ops.unsqueeze(one, dim=1, name=None) for one in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = ops.unsqueeze(_bare(key_padding_mask), dim=0, name=None)
    length, batch, width = query._array.shape
    dtype = query._array.dtype
    padding = _as_numbers(_bare(key_padding_mask), "key_padding_mask", dtype)
    mask = _attention_mask(_as_numbers(_bare(attn_mask), "attn_mask", dtype), batch * num_heads, length, key)
    weights: tuple[Any, ...] = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        packed = _bare(in_proj_weight)
        weights = tuple(ops.index(packed, key=(slice(i * width, (i + 1) * width),)) for i in range(3))
    q, k, v = _project(query, key, value, tuple(_bare(one) for one in weights), _bare(in_proj_bias))
    if (bias_k is None) != (bias_v is None):
        raise ValueError("bias_k and bias_v come together: one of them is None")
    if bias_k is not None:
        k, v = (
            ops.cat(one, ops.expand(_bare(bias), sizes=(1, batch, width)), dim=0)
            for one, bias in ((k, bias_k), (v, bias_v))
        )
        mask, padding = _widened(mask), _widened(padding)
    dropped = dropout_p if training else 0.0
    attend = _heads_weighed if need_weights or static_k is not None or static_v is not None else _heads
    out, attention = attend(
        q,
        k,
        v,
        mask,
        padding,
        num_heads,
        add_zero_attn,
        dropped,
        not need_weights,
        static_k,
        static_v,
        generator,
    )
    out = linear(out, _bare(out_proj_weight), _bare(out_proj_bias))
    out = ops.reshape(out, sizes=(length, batch, out._array.shape[1]))
    if not batched:
        out = ops.squeeze(out, dim=(1,))
    if names is not None:
        out = ops.rename(out, names=names)
    if not need_weights:
        return out, None
    attention = ops.reshape(attention, sizes=(batch, num_heads, length, attention._array.shape[2]))
    if average_attn_weights:
        attention = ops.mean(attention, dim=(1,), keepdim=False)
    attention = attention if batched else ops.squeeze(attention, dim=(0,))
    return out, ops.rename(attention, names=weight_names) if names is not None else attention


def _heads(
    q: Any, k: Any, v: Any, mask: Any, padding: Any, heads: int, add_zero: bool, dropped: float,
    safe: bool, static_k: Any, static_v: Any, generator: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Attend by head without a copy of anything: heads are views of what the projections gave."""
    length, batch, width = q._array.shape
    if add_zero:
        k, v = (ops.pad(one, padding=((0, 1), (0, 0), (0, 0)), value=0.0) for one in (k, v))
        mask, padding = _widened(mask), _widened(padding)
    sources = k._array.shape[0]
    if mask is not None:
        rows = mask._array.shape[0]
        mask = ops.reshape(mask, sizes=(*((1, 1) if rows == 1 else (batch, heads)), length, sources))
    if padding is not None:
        padding = ops.reshape(padding, sizes=(batch, 1, 1, sources))
        mask = padding if mask is None else ops.add(mask, padding)
    q, k, v = (
        ops.permute(
            ops.reshape(one, sizes=(one._array.shape[0], batch, heads, width // heads)), dim=(1, 2, 0, 3)
        )
        for one in (q, k, v)
    )
    scale = math.sqrt(heads / width)
    out = _by_the_op(q, k, v, mask, scale, False, dropped, generator)
    if out is None:  # all is dropped
        out = _step_by_step(q, k, v, mask, scale, False, dropped, generator)
    return ops.reshape(ops.permute(out, dim=(2, 0, 1, 3)), sizes=(length * batch, width)), None


def _heads_weighed(
    q: Any, k: Any, v: Any, mask: Any, padding: Any, heads: int, add_zero: bool, dropped: float,
    safe: bool, static_k: Any, static_v: Any, generator: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Attend by head, and return the weights too."""
    length, batch, width = q._array.shape
    q = _by_head(q, batch, heads)
    k = _by_head(k, batch, heads) if static_k is None else _bare(static_k)
    v = _by_head(v, batch, heads) if static_v is None else _bare(static_v)
    if add_zero:
        k, v = (ops.pad(one, padding=((0, 0), (0, 1), (0, 0)), value=0.0) for one in (k, v))
        mask, padding = _widened(mask), _widened(padding)
    sources = k._array.shape[1]
    if padding is not None:
        spread = ops.expand(
            ops.reshape(padding, sizes=(batch, 1, 1, sources)), sizes=(batch, heads, 1, sources)
        )
        spread = ops.reshape(spread, sizes=(batch * heads, 1, sources))
        mask = spread if mask is None else ops.add(mask, spread)
    scores = ops.matmul(ops.mul(q, math.sqrt(heads / width)), swap(k))
    scores = scores if mask is None else ops.add(scores, mask)
    attention = _weights(scores, mask is not None and safe)
    if dropped > 0.0:
        attention = dropout(attention, dropped, generator=generator)
    out = ops.reshape(ops.permute(ops.matmul(attention, v), dim=(1, 0, 2)), sizes=(length * batch, width))
    return out, attention


def _attention_mask(mask: Any, rows: int, length: int, key: Any) -> Any:
    """Check the sizes of a mask and bring it to three dims."""
    if mask is None:
        return None
    sizes, sources = mask._array.shape, key._array.shape[0]
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


NN: dict[str, Any] = {
    "multi_head_attention_forward": multi_head_attention_forward,
    "scaled_dot_product_attention": scaled_dot_product_attention,
}
"""What `workbench.nn.functional` offers of this file."""
