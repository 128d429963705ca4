"""Attention written with linear layers that can be observed each by itself."""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.base.errors import DimensionError, QuantizationError
from workbench.nn import Linear, Parameter
from workbench.nn.functional import dropout, pad, softmax
from workbench.nn.modules.transformer import named_as
from workbench.ops.nn.attention.scaled_dot_product import bare
from workbench.ops.shape.join import cat
from workbench.quantization.float_functional import FloatFunctional
from workbench.quantization.quantizable.observed_parts import MadeOfParts
from workbench.quantization.stubs import DeQuantStub, QuantStub

__all__ = ["MultiheadAttention"]


class MultiheadAttention(MadeOfParts):
    """`nn.MultiheadAttention` with a linear layer each for queries, keys and values, which are observed by themselves.

    What is read is [L, N, E], [S, N, kdim], [S, N, vdim], or [N, …] where `batch_first`; scores, their softmax and
    the product with the values are computed in floating point. `prepare` puts it in the other's place.

    >>> import workbench as wb
    >>> y, weights = MultiheadAttention(4, 2)(*3 * [wb.zeros(3, 1, 4)])
    >>> tuple(y.shape), tuple(weights.shape)
    ((3, 1, 4), (1, 3, 3))
    """

    _FLOAT_MODULE = nn.MultiheadAttention

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
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is no multiple of num_heads {num_heads}")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn

        def linear(size: int) -> Linear:
            return Linear(size, embed_dim, bias=bias, device=device, dtype=dtype)

        self.linear_Q, self.linear_K, self.linear_V = (
            linear(size) for size in (embed_dim, self.kdim, self.vdim)
        )
        self.out_proj: Any = linear(embed_dim)
        self.bias_k: Any = None
        self.bias_v: Any = None
        if add_bias_kv:
            made = nn.MultiheadAttention(embed_dim, num_heads, add_bias_kv=True)
            self.bias_k, self.bias_v = made.bias_k, made.bias_v
        self.q_scaling_product: Any = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()

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
        """Return what queries find, as they came, and the weights, [N, L, S] or [N, heads, L, S], None unless needed.

        `key_padding_mask` [N, S] and `attn_mask` [L, S] or [N·heads, L, S] are True, or -inf, where nothing is seen.
        Raises `DimensionError` for keys and values of unequal length.
        """
        if is_causal and attn_mask is None:
            raise QuantizationError("is_causal only tells what a mask is: give the mask itself, as attn_mask")
        if self.batch_first:
            query, key, value = (one.transpose(0, 1) for one in (query, key, value))
        if tuple(key.shape[:2]) != tuple(value.shape[:2]):
            raise DimensionError(
                f"keys and values are pairs: [S, N] is {tuple(key.shape[:2])} of the ones and "
                f"{tuple(value.shape[:2])} of the others"
            )
        names, (query, key, value) = query.names, map(bare, (query, key, value))
        length, count = int(query.shape[0]), int(query.shape[1])
        q, k, v = self._projected(query, key, value, count)
        scores = self._masked(q @ k.transpose(1, 2), key_padding_mask, attn_mask, int(key.shape[0]), count)
        weights = dropout(softmax(scores, dim=-1), self.dropout, self.training)
        found = (weights @ v).transpose(0, 1).reshape(length, count, self.embed_dim)
        output = self.out_proj(self.quant_attn_output(found))
        weights = self.quant_attn_output_weights(weights)
        output = named_as(output, names)
        output = output.transpose(0, 1) if self.batch_first else output
        if not need_weights:
            return output, None
        weights = weights.reshape(count, self.num_heads, length, -1)
        return output, weights.mean(dim=1) if average_attn_weights else weights

    def _projected(self, query: Any, key: Any, value: Any, count: int) -> tuple[Any, Any, Any]:
        """Return queries, keys and values in floating point, [N·heads, L or S, E/heads]."""
        size = self.embed_dim // self.num_heads
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), float(size) ** -0.5)
        q, k, v = self.dequant_q(q), self.dequant_k(self.linear_K(key)), self.dequant_v(self.linear_V(value))
        if self.bias_k is not None:
            k, v = (
                cat([one, bias.expand(1, count, -1)], 0) for one, bias in ((k, self.bias_k), (v, self.bias_v))
            )
        if self.add_zero_attn:
            k, v = (pad(one, (0, 0, 0, 0, 0, 1)) for one in (k, v))
        q, k, v = (
            one.reshape(one.shape[0], count * self.num_heads, size).transpose(0, 1) for one in (q, k, v)
        )
        return q, k, v

    def _masked(self, scores: Any, padding: Any, mask: Any, keys: int, count: int) -> Any:
        """Return scores, [N·heads, L, S'], with -inf where nothing is to be seen."""
        more = int(scores.shape[2]) - keys
        if mask is not None:
            # What is seen beyond the keys that were given is seen by all.
            mask = pad(mask, (0, more)) if more else mask
            hidden = mask.dtype.name == "bool"
            scores = scores.masked_fill(mask, float("-inf")) if hidden else scores + mask
        if padding is not None:
            padding = pad(padding, (0, more)) if more else padding
            apart = scores.reshape(count, self.num_heads, *scores.shape[1:])
            around = padding.unsqueeze(1).unsqueeze(2)
            apart = (
                apart.masked_fill(around, float("-inf")) if padding.dtype.name == "bool" else apart + around
            )
            scores = apart.reshape(*scores.shape)
        return scores

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> MultiheadAttention:
        """Return observed attention with the weights of an `nn.MultiheadAttention` that has a qconfig."""
        config = cls._check_float(other)
        has_bias = other.in_proj_bias is not None
        made = cls(
            other.embed_dim, other.num_heads, other.dropout, has_bias, other.bias_k is not None, other.add_zero_attn,
            other.kdim, other.vdim, other.batch_first,
        )  # fmt: skip
        made.bias_k, made.bias_v = other.bias_k, other.bias_v
        if other.in_proj_weight is not None:
            weights = other.in_proj_weight.detach().chunk(3, 0)
        else:
            weights = tuple(
                one.detach() for one in (other.q_proj_weight, other.k_proj_weight, other.v_proj_weight)
            )
        biases = other.in_proj_bias.detach().chunk(3, 0) if has_bias else (None,) * 3
        layers = (made.linear_Q, made.linear_K, made.linear_V)
        for layer, weight, bias in zip(layers, weights, biases, strict=True):
            layer.weight = Parameter(weight)
            if bias is not None:
                layer.bias = Parameter(bias)
        made.out_proj.weight = Parameter(other.out_proj.weight.detach())
        if other.out_proj.bias is not None:
            made.out_proj.bias = Parameter(other.out_proj.bias.detach())
        made.train(other.training)._observe(config)
        return made

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Refuse: this is what is observed."""
        raise QuantizationError(
            "attention of nn.quantizable is what is observed: nn.quantized.MultiheadAttention.from_observed makes "
            "codes of it"
        )
