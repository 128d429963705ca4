"""Two-dimensional convolution in float32: oneDNN, channels-last in memory under the shape [N, C, H, W]."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._arrays import is_floats
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__ = ["PackedConv2d", "implementation", "pack_conv2d"]

Floats = npt.NDArray[np.float32]
Pair = tuple[int, int]


class PackedConv2d:
    """A convolution for inference whose weights are packed once.

    y = act(pool(x ⋆ weight + bias)): act rectifies or does nothing, pool takes the largest of each tile.

    The weights are copied: make a new one when they change. Safe to run from several threads.
    """

    __slots__ = ("_packed",)

    def __init__(
        self,
        weight: Floats,
        bias: Floats | None,
        *,
        stride: Pair = (1, 1),
        padding: Pair = (0, 0),
        dilation: Pair = (1, 1),
        groups: int = 1,
    ) -> None:
        if native is None:
            raise RuntimeError(
                "PackedConv2d needs the compiled kernels; ask workbench.kernels.available() first"
            )
        self._packed = native.PackedConv2d(
            weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
        )

    def run(self, x: Floats, relu: bool = False, pool: Pair | None = None) -> Floats:
        """Convolve float32 `x`, [N, C, H, W], then rectify, then take the largest of each `pool` tile."""
        return self._packed.run(x, relu, pool)  # type: ignore[no-any-return]


def pack_conv2d(
    weight: Floats,
    bias: Floats | None,
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> PackedConv2d:
    """Pack the weights of a convolution for inference."""
    return PackedConv2d(weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def implementation(
    part: str,
    *,
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> str:
    """Return oneDNN's name for the code that runs `part`: forward, input_gradient or weight_gradient."""
    if native is None:
        return "numpy"
    return native.conv2d_implementation(  # type: ignore[no-any-return]
        part, input_shape=input_shape, weight_shape=weight_shape,
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


def _accepts_forward(x: Any, weight: Any, bias: Any = None, **params: Any) -> bool:
    return is_floats(x, 4) and is_floats(weight, 4) and (bias is None or is_floats(bias, 1))


def _accepts_gradient(gradient: Any, other: Any, **params: Any) -> bool:
    return is_floats(gradient, 4) and is_floats(other, 4)


def _conv2d(x: Floats, weight: Floats, bias: Floats | None = None, **params: Any) -> Floats:
    return native.conv2d(x, weight, bias, **params)  # type: ignore[no-any-return]


if native is not None:
    register(Kernel("conv2d", _conv2d, _accepts_forward))
    register(Kernel("conv2d_input_gradient", native.conv2d_input_gradient, _accepts_gradient))
    register(Kernel("conv2d_weight_gradient", native.conv2d_weight_gradient, _accepts_gradient))
