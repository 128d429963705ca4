"""Attention in several heads as a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.op import ops
from workbench.core.value import dims_of
from workbench.nn import init
from workbench.nn.module import Module
from workbench.nn.modules.dropout import check_probability
from workbench.nn.modules.linear import Linear
from workbench.nn.parameter import Parameter
from workbench.nn.positional_dims import check_places
from workbench.ops.nn.attention.multi_head import multi_head_attention_forward
from workbench.tensor.factories import empty

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """A linear map that is left alone where others are quantized dynamically: its weights are read from outside."""


class MultiheadAttention(Module):
    """Attention in several heads: queries, keys and values are projected, attended to by head, and projected again.

    heads_h = softmax(q_h·k_hᵀ/√d)·v_h with q = x·W_qᵀ, …;  y = [heads_1, …]·W_oᵀ + b.

    Query [T, N, embed_dim], key [S, N, kdim], value [S, N, vdim]; with `batch_first` [N, T, …]; without N for one
    sequence. Returns the output, in sizes and names of the query, and the weights [N, T, S] (the mean over the heads,
    or [N, heads, T, S] without `average_attn_weights`; None without `need_weights`). In masks True means *not* to look
    there: `key_padding_mask` [N, S], `attn_mask` [T, S] or [N·heads, T, S]; numbers are added to the scores. Without
    `need_weights` a query that may look at nothing gets zeros, with them NaN, as in PyTorch. Vaswani et al. 2017.

    >>> import workbench as wb
    >>> y, weights = MultiheadAttention(8, 2, batch_first=True)(*[wb.zeros(N=3, T=5, E=8)] * 3)
    >>> y.names, weights.shape
    (('N', 'T', 'E'), (3, 5, 5))
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        check_probability(dropout)
        sizes: dict[str, Any] = {"embed_dim": embed_dim, "num_heads": num_heads}
        for what, size in sizes.items():
            if not isinstance(size, int | np.integer) or isinstance(size, bool):
                raise TypeError(f"{what} is a whole number, got {size!r}")
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        # PyTorch asserts this, so programs that catch it catch an AssertionError.
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, got embed_dim={embed_dim} and num_heads={num_heads}"
            )

        def made(*sizes: int, labels: tuple[str | None, ...]) -> Parameter:
            return Parameter(empty(*sizes, device=device, dtype=dtype), dim_labels=labels)

        square = ("out_features", "in_features")
        if self._qkv_same_embed_dim:
            # All three in one matrix, one product instead of three; possible only where they are equally
            # wide.
            self.in_proj_weight = made(3 * embed_dim, embed_dim, labels=square)
            for letter in "qkv":
                self.register_parameter(f"{letter}_proj_weight", None)
        else:
            for letter, size in zip("qkv", (embed_dim, self.kdim, self.vdim), strict=True):
                setattr(self, f"{letter}_proj_weight", made(embed_dim, size, labels=square))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", made(3 * embed_dim, labels=square[:1]) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        for letter in "kv":
            added = made(1, 1, embed_dim, labels=(None, None, "out_features")) if add_bias_kv else None
            self.register_parameter(f"bias_{letter}", added)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw new weights: Glorot's for the projections, zeros for the biases."""
        # `out_proj.weight` keeps what its own class drew, as in PyTorch.
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for added in (self.bias_k, self.bias_v):
            if added is not None:
                init.xavier_normal_(added)

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
        """Attend; `is_causal` says that `attn_mask` is the causal one."""
        batched = len(dims_of(query).sizes) == 3
        if batched:
            for one in (query, key, value):
                check_places(
                    "MultiheadAttention", one, N=0 if self.batch_first else 1, T=int(self.batch_first)
                )
        if self.batch_first and batched:
            query, key, value = _swapped(query, key, value)
        output, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (ops.permute(output, dim=(1, 0, 2)) if self.batch_first and batched else output), weights


def _swapped(*values: Any) -> tuple[Any, ...]:
    """Return batches [N, T, E] as [T, N, E]; what was one value stays one."""
    # Self-attention gives one tensor three times. It is turned once, and stays recognisable as one.
    turned = {id(one): ops.permute(one, dim=(1, 0, 2)) for one in values if len(dims_of(one).sizes) == 3}
    return tuple(turned.get(id(one), one) for one in values)
