"""A linear layer whose weight is codes and whose activations are floating point."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import float32
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core import dispatch
from workbench.core.value import labelled, new
from workbench.nn import Linear, Module
from workbench.nn import functional as F
from workbench.nn.state import once_checked
from workbench.ops.quantized.quantize import DEQUANTIZE
from workbench.ops.quantized.weight_only import QUANTIZED_LINEAR_WEIGHT_ONLY
from workbench.quantization.weight_only.grid import Setting
from workbench.tensor import Tensor

__all__ = ["WeightOnlyLinear"]


class WeightOnlyLinear(Module):
    """Linear layer with a weight of 4 or 8 bits in groups: y = (x / d)·Ŵᵀ + b.

    Ŵ = (codes - zero points)·scales, one of each for every `group_size` neighbours in a row; d is 1 but for the
    method AWQ. From [any dims, in_features] to [any dims, out_features], in floating point.

    >>> import workbench as wb
    >>> layer = WeightOnlyLinear(64, 8, bits=4, group_size=32)
    >>> layer.weight.dtype, layer(wb.rand(2, 64)).shape
    (workbench.quint4x2, (2, 8))
    """

    weight: Tensor
    bias: Tensor | None
    input_scale: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        bits: int = 4,
        group_size: int = 128,
        symmetric: bool = False,
    ) -> None:
        super().__init__()
        self.setting = Setting(bits, group_size, symmetric)
        self.in_features, self.out_features = in_features, out_features
        dtype, groups = self.setting.dtype, -(-in_features // group_size)
        zero = (sum(code_range(dtype)) + 1) // 2
        empty = QuantizedArray(
            np.full((out_features, in_features), zero, dtype.numpy),
            np.ones((out_features, groups)), np.full((out_features, groups), zero), dtype, None, group_size,
        )  # fmt: skip
        self.register_buffer("weight", labelled(new(empty), ("out_features", "in_features")))
        offset = labelled(new(np.zeros(out_features, np.float32)), ("out_features",)) if bias else None
        self.register_buffer("bias", offset)
        self.register_buffer("input_scale", None)
        # Codes are not trained.
        self.eval()

    @classmethod
    def from_float(cls, layer: Linear, codes: QuantizedArray, input_scale: Any, setting: Setting) -> Any:
        """Return the form of a linear layer with these codes for a weight."""
        made = cls(
            layer.in_features, layer.out_features, layer.bias is not None,
            bits=setting.bits, group_size=setting.group, symmetric=setting.symmetric,
        )  # fmt: skip
        made.register_buffer("weight", labelled(new(codes), layer.weight._labels))
        if layer.bias is not None:
            made.register_buffer("bias", layer.bias.detach())
        if input_scale is not None:
            made.register_buffer("input_scale", new(np.asarray(input_scale, np.float32)))
        return made

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Take a weight with what its inputs are divided by: that is there in a state of AWQ, and in no other."""
        key, weight = f"{prefix}input_scale", state_dict.get(f"{prefix}weight")
        rest = {one: value for one, value in state_dict.items() if one != key}
        missing: list[str] = []
        super()._load_from_state_dict(
            rest, prefix, local_metadata, strict, missing, unexpected_keys, error_msgs
        )
        missing_keys.extend(one for one in missing if one != key)
        if isinstance(getattr(weight, "payload", None), QuantizedArray):
            self._check_codes(weight, prefix, error_msgs)
        scale = state_dict.get(key)
        if scale is not None and tuple(scale.shape) != (self.in_features,):
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {list(scale.shape)} from the state_dict, the "
                f"layer takes {self.in_features} features."
            )
        elif scale is not None or weight is not None:
            once_checked(local_metadata, lambda: self._divide_by(scale))

    def _check_codes(self, weight: Any, prefix: str, error_msgs: list[str]) -> None:
        given, own = ((one.payload.dtype, one.payload.group) for one in (weight, self.weight))
        if given != own:
            words = [f"{dtype.name} in groups of {group}" for dtype, group in (given, own)]
            error_msgs.append(
                f"codes mismatch for {prefix}weight: {words[0]} do not go into {words[1]}: give quantize_weights the "
                "bits and group_size of the model that was saved."
            )

    def _divide_by(self, scale: Any) -> None:
        held = None if scale is None else np.array(getattr(scale, "payload", scale), np.float32)
        self.register_buffer("input_scale", None if held is None else new(held).to(self.weight.device))

    def forward(self, x: Any) -> Any:
        """Return (x / d)·Ŵᵀ + b for [any dims, in_features]."""
        if self.input_scale is not None:
            x = x / self.input_scale.to(x.dtype)
        # Codes have no slope, what they stand for has: so a model of codes can be explained.
        if x.dtype is float32 and not (x.requires_grad and dispatch.grad_enabled()):
            operands = (x, self.weight) if self.bias is None else (x, self.weight, self.bias)
            return QUANTIZED_LINEAR_WEIGHT_ONLY(*operands)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, DEQUANTIZE(self.weight).to(x.dtype), bias)

    def extra_repr(self) -> str:
        """Return sizes, bits and groups."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, "
            f"bits={self.setting.bits}, group_size={self.setting.group}"
        )
