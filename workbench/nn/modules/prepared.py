"""Convolutions prepared for inference: weights packed once, and used until they change."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.core import dispatch
from workbench.ops.nn.conv.convolution_ops import CONV2D
from workbench.ops.nn.conv.window_geometry import Sizes

__all__ = ["PreparedConv2d"]


class PreparedConv2d:
    """Weights packed for inference, the values they were packed from, and the input shapes that were found to fit."""

    def __init__(self, layer: Any, padding: Any) -> None:
        bias = layer.bias
        self.weight = np.ascontiguousarray(layer.weight.payload).copy()
        self.bias = None if bias is None else bias.payload.copy()
        self.settings = (layer.stride, padding, layer.dilation, layer.groups)
        self.shapes: set[tuple[int, ...]] = set()
        self.packed = kernels.pack_conv2d(
            self.weight, self.bias,
            stride=layer.stride, padding=padding, dilation=layer.dilation, groups=layer.groups,
        )  # fmt: skip
        self.run = self.packed.run

    def holds(self, layer: Any, padding: Sizes) -> bool:
        """Say whether the layer still has the values packed here.

        They are compared: memory that is shared can be changed without this layer being told, and reading the
        weights is cheaper than packing them, which is what inference without this does at every call.
        """
        bias = layer.bias
        return (
            self.settings == (layer.stride, padding, layer.dilation, layer.groups)
            and _same_bits(self.weight, layer.weight.payload)
            and (self.bias is None) == (bias is None)
            and (bias is None or _same_bits(self.bias, bias.payload))
        )

    def check(self, input: Any, layer: Any) -> None:
        """Refuse an input that does not fit."""
        weight, bias = layer.weight, layer.bias
        operands = (input, weight) if bias is None else (input, weight, bias)
        stride, padding, dilation, groups = self.settings
        dispatch.infer_dims(
            CONV2D, operands, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        )
        if len(self.shapes) > 64:
            self.shapes.clear()
        self.shapes.add(input.payload.shape)


def _same_bits(a: Any, b: Any) -> bool:
    """Say whether two float32 arrays are equal bit by bit, NaN and signed zero included."""
    return (
        a.shape == b.shape
        and b.dtype == np.float32
        and bool(b.flags.c_contiguous)
        and bool((a.view(np.int32) == b.view(np.int32)).all())
    )
