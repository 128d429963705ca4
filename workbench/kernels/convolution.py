"""Convolution over two or three dims in float32 or bfloat16: oneDNN, channels-last under the shape [N, C, …]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.processor import multiplies_bfloat16
from workbench.kernels.registry import Kernel, register

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

__all__ = ["PackedConv2d", "implementation", "pack_conv2d"]

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
    stride: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
    half: bool = False,
) -> str:
    """Return oneDNN's name for the code that runs `part`: forward, input_gradient or weight_gradient."""
    if native is None:
        return "numpy"
    name = getattr(native.bfloat16 if half else native, f"conv{len(stride)}d_implementation")
    return name(  # type: ignore[no-any-return]
        part, input_shape=input_shape, weight_shape=weight_shape,
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


def _is_fast(n: int, params: dict[str, Any]) -> bool:
    """Say whether oneDNN has code of its own for this: over three dims, for dense kernels of all channels."""
    return n == 2 or (params["groups"] == 1 and max(params["dilation"]) == 1)


def _is(array: Any, dtype: np.dtype[Any], ndim: int) -> bool:
    # By `type`: subclasses, such as masked arrays, mean something else by the same memory.
    return type(array) is np.ndarray and array.dtype == dtype and array.ndim == ndim


def _pays(dtype: np.dtype[Any]) -> bool:
    return dtype == FLOAT32 or multiplies_bfloat16()


def _forward(n: int, module: Any, dtype: np.dtype[Any]) -> Kernel:
    run: Any = getattr(module, f"conv{n}d")

    def accepts(x: Any, weight: Any, bias: Any = None, **params: Any) -> bool:
        return (
            _is(x, dtype, n + 2)
            and _is(weight, dtype, n + 2)
            and (bias is None or _is(bias, dtype, 1))
            and _is_fast(n, params)
            and _pays(dtype)
        )

    def conv(x: Any, weight: Any, bias: Any = None, **params: Any) -> Any:
        return run(x, weight, bias, **params)

    return Kernel(f"conv{n}d", conv, accepts, _NEEDS[dtype])


def _gradient(n: int, part: str, module: Any, dtype: np.dtype[Any]) -> Kernel:
    def accepts(gradient: Any, other: Any, **params: Any) -> bool:
        return (
            _is(gradient, dtype, n + 2) and _is(other, dtype, n + 2) and _is_fast(n, params) and _pays(dtype)
        )

    return Kernel(f"conv{n}d_{part}", getattr(module, f"conv{n}d_{part}"), accepts, _NEEDS[dtype])


_NEEDS = {FLOAT32: ("float32",), BFLOAT16: ("bfloat16", "AVX512-BF16 or AMX")}

if native is not None:
    # One dim is a plane of height 1: `one_dimensional`.
    for _module, _dtype in ((native, FLOAT32), (native.bfloat16, BFLOAT16)):
        for _n in (2, 3):
            register(_forward(_n, _module, _dtype), half=_dtype == BFLOAT16)
            for _part in ("input_gradient", "weight_gradient"):
                register(_gradient(_n, _part, _module, _dtype), half=_dtype == BFLOAT16)
