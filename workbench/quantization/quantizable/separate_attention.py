"""Attention whose projections are linear layers of their own: what quantizes such layers finds them."""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.base.random import fork_rng
from workbench.nn import Linear, Module, Parameter
from workbench.nn.modules.transformer import named_as
from workbench.ops.nn.attention.multi_head import attention_of_heads

__all__ = ["Heads", "SeparateAttention", "separate"]


class Heads(Module):
    """What attention does between its projections, in floating point: one part of a graph, whatever it is given."""

    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        self.num_heads, self.dropout = attention.num_heads, attention.dropout
        self.batch_first, self.add_zero_attn = attention.batch_first, attention.add_zero_attn
        self.train(attention.training)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        bias_k: Any = None,
        bias_v: Any = None,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Return what heads find for queries that were projected, and their weights, None unless needed."""
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = (one.permute(1, 0, 2) for one in (query, key, value))
        found, weights = attention_of_heads(
            query, key, value, self.num_heads, bias_k, bias_v, self.add_zero_attn,
            self.dropout if self.training else 0.0, key_padding_mask, need_weights, attn_mask, average_attn_weights,
            is_causal,
        )  # fmt: skip
        return found.permute(1, 0, 2) if turned else found, weights


class SeparateAttention(nn.MultiheadAttention):
    """`nn.MultiheadAttention` with a linear layer each for queries, keys, values and the output: `separate` makes it.

    Nothing in its `forward` asks for sizes, so that a trace runs through it; `heads` is one part of the graph.
    """

    traced_through = True
    """Graph mode looks inside."""
    linear_Q: Any
    linear_K: Any
    linear_V: Any
    heads: Any

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Attend, as `nn.MultiheadAttention` does."""
        found = self.heads(
            self.linear_Q(query), self.linear_K(key), self.linear_V(value), self.bias_k, self.bias_v,
            key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal,
        )  # fmt: skip
        return named_as(self.out_proj(found[0]), query.names), found[1]


def separate(attention: nn.MultiheadAttention, alone: bool = False) -> None:
    """Have attention project by linear layers, in place: they share the memory of its weights.

    With `alone` it has no other weights any more; else programs that read the old ones still find them.

    >>> import workbench as wb
    >>> attention, x = wb.nn.MultiheadAttention(4, 2).eval(), wb.rand(3, 1, 4)
    >>> before, _ = attention(x, x, x)
    >>> separate(attention)
    >>> type(attention.linear_Q).__name__, bool(wb.allclose(attention(x, x, x)[0], before))
    ('Linear', True)
    """
    own = (attention.q_proj_weight, attention.k_proj_weight, attention.v_proj_weight)
    packed, bias = attention.in_proj_weight, attention.in_proj_bias
    weights = own if packed is None else packed.detach().chunk(3, 0)
    biases = (None,) * 3 if bias is None else bias.detach().chunk(3, 0)
    made: Any = attention
    for letter, weight, offset in zip("QKV", weights, biases, strict=True):
        setattr(made, f"linear_{letter}", _linear(weight, offset, attention))
    # A plain layer, which is quantized as others are.
    made.out_proj = _linear(made.out_proj.weight, made.out_proj.bias, attention)
    if alone:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias"):
            setattr(made, name, None)
    made.heads = Heads(attention)
    made.__class__ = SeparateAttention


def _linear(weight: Any, bias: Any, attention: Module) -> Linear:
    with fork_rng():
        made = Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    learned = next(attention.parameters()).requires_grad
    made.weight = weight if isinstance(weight, Parameter) else Parameter(weight, learned)
    if bias is not None:
        made.bias = bias if isinstance(bias, Parameter) else Parameter(bias, learned)
    return made.train(attention.training)
