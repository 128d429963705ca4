"""Convolutions prepared for inference: weights packed once, and used until they change."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import kernels
from workbench.core import dispatch
from workbench.core.lending import Stamp
from workbench.ops.nn.conv.convolution_ops import CONV2D
from workbench.ops.nn.conv.window_geometry import Sizes

__all__ = ["PreparedConv2d"]


class PreparedConv2d:
    """Weights packed for inference, the values they were packed from, and the input shapes that were found to fit."""

    def __init__(self, layer: Any, padding: Any) -> None:
        self.weight = _Numbers(layer.weight)
        self.bias = None if layer.bias is None else _Numbers(layer.bias)
        self.settings = (layer.stride, padding, layer.dilation, layer.groups)
        self.shapes: set[tuple[int, ...]] = set()
        self.packed = kernels.pack_conv2d(
            self.weight.array, None if self.bias is None else self.bias.array,
            stride=layer.stride, padding=padding, dilation=layer.dilation, groups=layer.groups,
        )  # fmt: skip
        self.run = self.packed.run

    def holds(self, layer: Any, padding: Sizes) -> bool:
        """Say whether the layer still has the values packed here."""
        bias = layer.bias
        return (
            self.settings == (layer.stride, padding, layer.dilation, layer.groups)
            and self.weight.are_those_of(layer.weight)
            and (bias is None if self.bias is None else bias is not None and self.bias.are_those_of(bias))
        )

    def check(self, input: Any, layer: Any) -> None:
        """Refuse an input that does not fit."""
        weight, bias = layer.weight, layer.bias
        operands = (input, weight) if bias is None else (input, weight, bias)
        stride, padding, dilation, groups = self.settings
        dispatch.infer_dims(
            CONV2D, operands, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        )
        # Inputs that change their size at every call are not to fill the memory.
        if len(self.shapes) > 64:
            self.shapes.clear()
        self.shapes.add(input.payload.shape)


class _Numbers:
    """A copy of the numbers of a value, which knows whether the value still has them."""

    def __init__(self, value: Any) -> None:
        self._stamp = Stamp(value)
        # A copy, by which it shows that somebody has written into the layer's own.
        self.array = np.ascontiguousarray(value.payload).copy()

    def are_those_of(self, value: Any) -> bool:
        """Say whether a value has these numbers.

        As a rule its count of changes tells. Where others may write into its memory, or where it is another value (a
        weight that is computed anew at each call), the numbers are compared: that is cheaper than packing them.
        """
        if self._stamp.holds(value):
            return True
        now = Stamp(value)  # before the numbers are read: who writes meanwhile is seen the next time
        if not _same_bits(self.array, value.payload):
            return False
        self._stamp = now
        return True


def _same_bits(a: Any, b: Any) -> bool:
    """Say whether two float32 arrays are equal bit by bit, NaN and signed zero included."""
    return (
        a.shape == b.shape
        and b.dtype == np.float32
        and bool(b.flags.c_contiguous)
        and bool((a.view(np.int32) == b.view(np.int32)).all())
    )
