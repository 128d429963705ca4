"""Attention whose products with weights are on codes."""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.nn import Parameter
from workbench.ops.shape.join import cat
from workbench.quantization import quantizable
from workbench.quantization.quantized.from_parts import InCodes

__all__ = ["MultiheadAttention"]


class MultiheadAttention(InCodes, quantizable.MultiheadAttention):
    """Observed attention on codes: quint8 in and out; scores are computed in floating point between them.

    `from_observed` makes it of a `workbench.ao.nn.quantizable.MultiheadAttention`; `convert` does so of those that
    `prepare` observed.
    """

    def _get_name(self) -> str:
        return "QuantizedMultiheadAttention"

    def dequantize(self) -> nn.MultiheadAttention:
        """Return it in floating point, with the numbers that its codes stand for."""
        layers = (self.linear_Q, self.linear_K, self.linear_V)
        made = nn.MultiheadAttention(
            self.embed_dim, self.num_heads, self.dropout, layers[0].bias is not None, self.bias_k is not None,
            self.add_zero_attn, self.kdim, self.vdim, batch_first=self.batch_first,
        )  # fmt: skip
        made.bias_k, made.bias_v = self.bias_k, self.bias_v
        weights: list[Any] = [Parameter(one.weight.dequantize()) for one in layers]
        if made.in_proj_weight is not None:
            made.in_proj_weight = Parameter(cat(weights, 0))
        else:
            made.q_proj_weight, made.k_proj_weight, made.v_proj_weight = weights
        if layers[0].bias is not None:
            biases: list[Any] = [one.bias for one in layers]
            made.in_proj_bias = Parameter(cat(biases, 0))
        made.out_proj.weight = Parameter(self.out_proj.weight.dequantize())
        if self.out_proj.bias is not None:
            made.out_proj.bias = Parameter(self.out_proj.bias.detach())
        made.train(self.training)
        return made
