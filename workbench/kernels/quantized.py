"""Integer kernels: quantize and back, and convolution and linear layers on 8-bit codes.

Conventions are those of PyTorch's x86 build: q = clamp(rne(x · (1/s) + z)) with float32 arithmetic and halves to
even; fake quantization rounds before it adds the zero point. Sums of products are exact for all codes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.kernels._arrays import MEDIUM, is_medium
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

if TYPE_CHECKING:
    import numpy.typing as npt

    Codes = npt.NDArray[np.uint8]

__all__ = ["PackedNibbleLinear", "PackedQuantizedConv2d", "PackedQuantizedLinear"]

Pair = tuple[int, int]

_UINT8 = np.dtype(np.uint8)
_INT8 = np.dtype(np.int8)


def _needed() -> None:
    if native is None:
        raise RuntimeError(
            "packed integer layers need the compiled kernels; ask workbench.kernels.available() first"
        )


class PackedQuantizedConv2d:
    """A convolution on unsigned 8-bit codes whose signed 8-bit weights are packed once.

    y = clamp(rne((Σ (x - x_zero_point)·w · x_scale·weight_scale + bias) / scale) + zero_point), from 0 to `highest`;
    with relu not below zero_point; with pool the largest of each 2 x 2 outputs.

    Sums are exact. `requantization` says how they become codes: in real numbers as oneDNN does it (``real``), in
    FBGEMM's order (``joined``), or by whole numbers alone as QNNPACK does (``whole``). These agree but where a result
    meets a half.

    Args:
        weight: int8 [O, C/groups, KH, KW], zero point 0.
        weight_scales: float32 [O], or [1] for one scale.
        bias: float32 [O] in real units, or None.
    """

    __slots__ = ("_packed",)

    def __init__(
        self,
        weight: npt.NDArray[np.int8],
        weight_scales: npt.NDArray[np.float32],
        bias: npt.NDArray[np.float32] | None,
        *,
        stride: Pair = (1, 1),
        padding: Pair = (0, 0),
        dilation: Pair = (1, 1),
        groups: int = 1,
    ) -> None:
        _needed()
        self._packed = native.PackedQuantizedConv2d(
            weight, weight_scales, bias, stride=stride, padding=padding, dilation=dilation, groups=groups
        )

    def run(
        self,
        x: Codes,
        *,
        x_scale: float,
        x_zero_point: int,
        scale: float,
        zero_point: int,
        relu: bool = False,
        pool: bool = False,
        highest: int = 255,
        requantization: str = "real",
    ) -> Codes:
        """Convolve codes [N, C, H, W]; codes come out, channels-last in memory."""
        return self._packed.run(  # type: ignore[no-any-return]
            x,
            x_scale=x_scale,
            x_zero_point=x_zero_point,
            scale=scale,
            zero_point=zero_point,
            relu=relu,
            pool=pool,
            highest=highest,
            requantization=requantization,
        )

    @property
    def native(self) -> Any:
        """The compiled layer, which steps of compiled graphs run."""
        return self._packed


class PackedQuantizedLinear:
    """An affine map on unsigned 8-bit codes whose signed 8-bit weights are packed once.

    As `PackedQuantizedConv2d`, over the last dimension; without an output scale, float32 comes out.

    Args:
        weight: int8 [out, in], zero point 0.
        weight_scales: float32 [out], or [1] for one scale.
        bias: float32 [out] in real units, or None.
    """

    __slots__ = ("_packed",)

    def __init__(
        self,
        weight: npt.NDArray[np.int8],
        weight_scales: npt.NDArray[np.float32],
        bias: npt.NDArray[np.float32] | None,
    ) -> None:
        _needed()
        self._packed = native.PackedQuantizedLinear(weight, weight_scales, bias)

    def run(
        self,
        x: Codes,
        *,
        x_scale: float,
        x_zero_point: int,
        scale: float | None,
        zero_point: int = 0,
        relu: bool = False,
        highest: int = 255,
        requantization: str = "real",
    ) -> npt.NDArray[Any]:
        """Map codes [..., in] to codes [..., out]; to float32 where `scale` is None."""
        return self._packed.run(  # type: ignore[no-any-return]
            x,
            x_scale=x_scale,
            x_zero_point=x_zero_point,
            scale=scale,
            zero_point=zero_point,
            relu=relu,
            highest=highest,
            requantization=requantization,
        )

    def run_dynamic(
        self, x: npt.NDArray[np.float32], *, by_row: bool, highest: int, relu: bool = False
    ) -> npt.NDArray[np.float32]:
        """Map floats [..., in] to floats [..., out]: quantized to codes up to `highest` first, by the range of them all
        or of each row.
        """
        return self._packed.run_dynamic(x, by_row=by_row, highest=highest, relu=relu)  # type: ignore[no-any-return]

    @property
    def native(self) -> Any:
        """The compiled layer, which recurrent kernels and steps of compiled graphs multiply with."""
        return self._packed


class PackedNibbleLinear:
    """An affine map of floats with weights of four bits, packed once: an eighth of the memory is read.

    y = Σ_g scale[o, g]·(Σ_k x[k]·code[o, k] - zero[o, g]·Σ_k x[k]) + bias[o], over equal groups g of the inputs k.

    Args:
        codes: uint8 [out, in], from 0 to 15.
        scales: float32 [out, groups].
        zeros: float32 [out, groups], the zero points.
        bias: float32 [out], or None.
    """

    __slots__ = ("_packed",)

    def __init__(
        self,
        codes: Codes,
        scales: npt.NDArray[np.float32],
        zeros: npt.NDArray[np.float32],
        bias: npt.NDArray[np.float32] | None,
    ) -> None:
        _needed()
        self._packed = native.PackedNibbleLinear(codes, scales, zeros, bias)

    def run(self, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Map [..., in] to [..., out]."""
        return self._packed.run(x)  # type: ignore[no-any-return]


def _one(scale: float, zero_point: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    # The compiled code takes arrays; axis -1 says that the one entry is for all values.
    return np.array([scale], np.float64), np.array([zero_point], np.int64)


def _many(scales: Any, zero_points: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    return np.asarray(scales, np.float64), np.asarray(zero_points, np.int64)


def _code_type(dtype: Any) -> Any:
    return native.quantize_unsigned if np.dtype(dtype) == _UINT8 else native.quantize_signed


def _quantize_per_tensor(
    x: Any, scale: float, zero_point: int, qmin: int, qmax: int, dtype: Any
) -> npt.NDArray[Any]:
    return _code_type(dtype)(x, *_one(scale, zero_point), -1, qmin, qmax)  # type: ignore[no-any-return]


def _quantize_per_channel(
    x: Any, scales: Any, zero_points: Any, axis: int, qmin: int, qmax: int, dtype: Any
) -> npt.NDArray[Any]:
    return _code_type(dtype)(x, *_many(scales, zero_points), axis, qmin, qmax)  # type: ignore[no-any-return]


def _dequantize_per_tensor(codes: Any, scale: float, zero_point: int) -> Any:
    return native.dequantize(codes, *_one(scale, zero_point), -1)


def _dequantize_per_channel(codes: Any, scales: Any, zero_points: Any, axis: int) -> Any:
    return native.dequantize(codes, *_many(scales, zero_points), axis)


def _fake_quantize_per_tensor(x: Any, scale: float, zero_point: int, qmin: int, qmax: int) -> Any:
    return native.fake_quantize(x, *_one(scale, zero_point), -1, qmin, qmax)


def _fake_quantize_per_channel(x: Any, scales: Any, zero_points: Any, axis: int, qmin: int, qmax: int) -> Any:
    return native.fake_quantize(x, *_many(scales, zero_points), axis, qmin, qmax)


def _fake_quantize_per_tensor_gradient(
    g: Any, x: Any, scale: float, zero_point: int, qmin: int, qmax: int
) -> Any:
    return native.fake_quantize_gradient(g, x, *_one(scale, zero_point), -1, qmin, qmax)


def _fake_quantize_per_channel_gradient(
    g: Any, x: Any, scales: Any, zero_points: Any, axis: int, qmin: int, qmax: int
) -> Any:
    return native.fake_quantize_gradient(g, x, *_many(scales, zero_points), axis, qmin, qmax)


def _accepts_quantize(x: Any, *rest: Any, dtype: Any = None, **params: Any) -> bool:
    # It comes by keyword or as the last of those by position.
    kind = rest[-1] if dtype is None else dtype
    return is_medium(x) and np.dtype(kind) in (_UINT8, _INT8)


def _accepts_codes(codes: Any, *rest: Any, **params: Any) -> bool:
    return type(codes) is np.ndarray and codes.size >= MEDIUM and codes.dtype in (_UINT8, _INT8)


def _accepts_floats(x: Any, *rest: Any, **params: Any) -> bool:
    return is_medium(x)


def _accepts_two(g: Any, x: Any, *rest: Any, **params: Any) -> bool:
    return is_medium(g) and is_medium(x)


def _accepts_scaled(x: Any, *rest: Any, **params: Any) -> bool:
    return is_medium(x) and all(type(one) is np.ndarray and one.dtype == np.float32 for one in rest)


def _average_codes(codes: Any, edges: Any, factors: Any, zero_point: int) -> Any:
    run = native.average_unsigned_codes if codes.dtype == _UINT8 else native.average_signed_codes
    return run(codes, edges, factors, zero_point)


def _accepts_average(codes: Any, edges: Any, factors: Any, zero_point: int) -> bool:
    # No more than 32 bits hold the sum of.
    return (
        type(codes) is np.ndarray
        and 3 <= codes.ndim <= 5
        and codes.dtype in (_UINT8, _INT8)
        and math.prod(codes.shape[2:]) <= 1 << 22
    )


def _accepts_pool(codes: Any, **params: Any) -> bool:
    return type(codes) is np.ndarray and codes.ndim == 4 and codes.dtype == _UINT8


if native is not None:
    _FLOATS = ("float32",)
    _CODES = ("uint8 or int8",)
    register(Kernel("quantize_per_tensor", _quantize_per_tensor, _accepts_quantize, _FLOATS))
    register(Kernel("quantize_per_channel", _quantize_per_channel, _accepts_quantize, _FLOATS))
    register(Kernel("dequantize_per_tensor", _dequantize_per_tensor, _accepts_codes, _CODES))
    register(Kernel("dequantize_per_channel", _dequantize_per_channel, _accepts_codes, _CODES))
    register(Kernel("fake_quantize_per_tensor", _fake_quantize_per_tensor, _accepts_floats, _FLOATS))
    register(Kernel("fake_quantize_per_channel", _fake_quantize_per_channel, _accepts_floats, _FLOATS))
    register(
        Kernel("fake_quantize_per_tensor_gradient", _fake_quantize_per_tensor_gradient, _accepts_two, _FLOATS)
    )
    register(
        Kernel(
            "fake_quantize_per_channel_gradient", _fake_quantize_per_channel_gradient, _accepts_two, _FLOATS
        )
    )
    for _name in ("fake_quantize_scaled", "fake_quantize_scaled_gradient"):
        register(Kernel(_name, getattr(native, _name), _accepts_scaled, _FLOATS))
    register(Kernel("average_codes", _average_codes, _accepts_average, _CODES))
    register(Kernel("quantized_max_pool2d", native.quantized_max_pool2d, _accepts_pool, ("uint8",)))
