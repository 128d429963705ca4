"""Attention and transformers in words that can be scripted; see `layers`."""

from __future__ import annotations

from workbench import nn
from workbench.jit.scripting.layers import LAYERS
from workbench.nn import functional as F
from workbench.nn.modules.transformer import added, check_pair, is_causal_mask
from workbench.tensor import Tensor

__all__: list[str] = []


@LAYERS.put(nn.MultiheadAttention)
def _multihead_attention(  # type: ignore[no-untyped-def]
    self,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    turned = self.batch_first and query.dim() == 3
    if turned:
        # One value stays one: it is projected by one product then.
        if key is value:
            if query is key:
                query = query.transpose(0, 1)
                key = query
            else:
                query, key = query.transpose(0, 1), key.transpose(0, 1)
            value = key
        else:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
    output, weights = F.multi_head_attention_forward(
        query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
        self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
        training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
        use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
        k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
        average_attn_weights=average_attn_weights, is_causal=is_causal,
    )  # fmt: skip
    return (output.transpose(0, 1) if turned else output), weights


@LAYERS.put(nn.TransformerEncoderLayer)
def _encoder_layer(  # type: ignore[no-untyped-def]
    self,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    x = self.norm1(src) if self.norm_first else src
    x = self.self_attn(
        x, x, x, src_key_padding_mask, need_weights=False, attn_mask=src_mask, is_causal=is_causal
    )[0]
    x = added(src, self.dropout1(x))
    y = self.norm2(x) if self.norm_first else self.norm1(x)
    z = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(y)))))
    return added(x, z) if self.norm_first else self.norm2(added(y, z))


@LAYERS.put(nn.TransformerDecoderLayer)
def _decoder_layer(  # type: ignore[no-untyped-def]
    self,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool = False,
    memory_is_causal: bool = False,
) -> Tensor:
    x = self.norm1(tgt) if self.norm_first else tgt
    x = self.self_attn(
        x, x, x, tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask, is_causal=tgt_is_causal
    )[0]
    x = added(tgt, self.dropout1(x))
    if not self.norm_first:
        x = self.norm1(x)
    y = self.multihead_attn(
        self.norm2(x) if self.norm_first else x, memory, memory, memory_key_padding_mask,
        need_weights=False, attn_mask=memory_mask, is_causal=memory_is_causal,
    )[0]  # fmt: skip
    x = added(x, self.dropout2(y))
    if not self.norm_first:
        x = self.norm2(x)
    z = self.norm3(x) if self.norm_first else x
    x = added(x, self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(z))))))
    return x if self.norm_first else self.norm3(x)


@LAYERS.put(nn.TransformerEncoder)
def _encoder(  # type: ignore[no-untyped-def]
    self,
    src: Tensor,
    mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool | None = None,
) -> Tensor:
    causal = is_causal_mask(mask, is_causal, src, self.layers[0].self_attn.batch_first)
    for layer in self.layers:
        src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
    return src if self.norm is None else self.norm(src)


@LAYERS.put(nn.TransformerDecoder)
def _decoder(  # type: ignore[no-untyped-def]
    self,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool | None = None,
    memory_is_causal: bool = False,
) -> Tensor:
    causal = is_causal_mask(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
    for layer in self.layers:
        tgt = layer(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip
    return tgt if self.norm is None else self.norm(tgt)


@LAYERS.put(nn.Transformer)
def _transformer(  # type: ignore[no-untyped-def]
    self,
    src: Tensor,
    tgt: Tensor,
    src_mask: Tensor | None = None,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    src_is_causal: bool | None = None,
    tgt_is_causal: bool | None = None,
    memory_is_causal: bool = False,
) -> Tensor:
    check_pair(src, tgt, self.batch_first, self.d_model)
    memory = self.encoder(
        src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
    )
    found: Tensor = self.decoder(
        tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
        memory_is_causal=memory_is_causal,
    )  # fmt: skip
    return found
