"""What is asked of quantized tensors, and quantized tensors made of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.dtypes import DType, as_dtype, qint8, qint32, quint8
from workbench.base.errors import DTypeError, QuantizationError
from workbench.base.quantized_array import PackedArray, QScheme, QuantizedArray
from workbench.base.symbolic_size import whole
from workbench.core.dispatch import numbers
from workbench.core.op import ops
from workbench.core.outcome import names_in
from workbench.core.typing import Dim, DTypeLike, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.offer import offered
from workbench.ops.quantized.quantize import check_type, listed

__all__: list[str] = []


@offered()
def int_repr(input: Tensor) -> Tensor:
    """Return a copy of the codes of a quantized tensor as plain integers.

    Codes of 4 and 2 bits come as the bytes that hold them, without dims, as in PyTorch.

    >>> import workbench as wb
    >>> wb.quantize_per_tensor(wb.tensor([1.0, 2.0, 3.0]), 1.0, 0, wb.quint4x2).int_repr()
    tensor([33,  3], dtype=workbench.uint8)
    """
    if not getattr(input.payload.dtype, "quantized", False):
        _payload(input, "int_repr")
    if isinstance(input.payload, PackedArray):
        return new(input.payload.packed.copy())
    return ops.int_repr(input)


def _payload(input: Any, what: str, per_channel: bool | None = None) -> QuantizedArray:
    payload = input.payload
    if not isinstance(payload, QuantizedArray):
        if getattr(payload.dtype, "quantized", False):
            raise QuantizationError(
                f"{what}: which scale codes have is not known of a value without an array, as in a trace; "
                "ask before it, and give the number"
            )
        raise QuantizationError(
            f"{what} is asked of a quantized tensor, and this one is {as_dtype(payload.dtype).name}"
        )
    if per_channel is not None and payload.qscheme.per_channel is not per_channel:
        raise QuantizationError(
            f"{what} is not defined for {payload.qscheme!r}: ask for "
            + (
                "q_scale() and q_zero_point()"
                if per_channel
                else "q_per_channel_scales() and q_per_channel_zero_points()"
            )
        )
    return payload


@offered()
def q_scale(input: Tensor) -> float:
    """Return the scale of a tensor that is quantized per tensor."""
    return float(_payload(input, "q_scale", False).scale)


@offered()
def q_zero_point(input: Tensor) -> int:
    """Return the zero point of a tensor that is quantized per tensor."""
    return int(_payload(input, "q_zero_point", False).zero_point)


@offered()
def q_per_channel_scales(input: Tensor) -> Tensor:
    """Return the scales of a tensor that is quantized per channel: float64, one a channel."""
    payload = _payload(input, "q_per_channel_scales", True)
    return new(np.array(payload.scale), _channel_name(input, payload))


@offered()
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """Return the zero points of a tensor that is quantized per channel: int64, one a channel."""
    payload = _payload(input, "q_per_channel_zero_points", True)
    return new(np.array(payload.zero_point), _channel_name(input, payload))


def _channel_name(input: Any, payload: QuantizedArray) -> tuple[str | None] | None:
    name = None if input._names is None or payload.axis is None else input._names[payload.axis]
    return None if name is None else (name,)


@offered()
def q_per_channel_axis(input: Tensor) -> int:
    """Return the position of the dim each entry of which has a scale of its own."""
    axis = _payload(input, "q_per_channel_axis", True).axis
    assert axis is not None
    return axis


@offered()
def qscheme(input: Tensor) -> QScheme:
    """Return how a tensor is quantized."""
    return _payload(input, "qscheme").qscheme


# ------------------------------------------------------------------------------------------- made of codes

_STORED: dict[Any, DType] = {
    np.dtype(np.uint8): quint8,
    np.dtype(np.int8): qint8,
    np.dtype(np.int32): qint32,
}


def _codes_of(input: Any, what: str) -> tuple[Any, DType]:
    codes = numbers(input)
    dtype = _STORED.get(getattr(codes, "dtype", None))
    if dtype is None:
        raise DTypeError(
            f"{what} takes codes of type uint8, int8 or int32, got {as_dtype(input.dtype).name}: cast them first"
        )
    return np.array(codes), dtype


@offered("workbench", name="_make_per_tensor_quantized_tensor")
def make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return the quantized tensor whose codes are whole numbers of type uint8, int8 or int32; names are kept.

    >>> import workbench as wb
    >>> wb._make_per_tensor_quantized_tensor(wb.tensor([1, 2], dtype=wb.uint8), 0.5, 1).dequantize()
    tensor([0.0000, 0.5000])
    """
    codes, dtype = _codes_of(input, "_make_per_tensor_quantized_tensor")
    return new(QuantizedArray(codes, scale, zero_point, dtype), names_in(dims_of(input)))


@offered("workbench", name="_make_per_channel_quantized_tensor")
def make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: Dim) -> Tensor:
    """Return the quantized tensor whose codes are whole numbers, with a scale for each entry of `axis`."""
    codes, dtype = _codes_of(input, "_make_per_channel_quantized_tensor")
    place = dim_index(dims_of(input), axis, "_make_per_channel_quantized_tensor")
    return new(
        QuantizedArray(codes, listed(scale), listed(zero_point), dtype, place), names_in(dims_of(input))
    )


@offered("workbench", name="_empty_affine_quantized")
def empty_affine_quantized(
    size: Sequence[int], *, scale: float = 1.0, zero_point: int = 0, dtype: DTypeLike = quint8
) -> Tensor:
    """Return a quantized tensor whose codes are not set yet: zeros here.

    >>> import workbench as wb
    >>> wb._empty_affine_quantized([2], scale=0.5, zero_point=1, dtype=wb.quint8).copy_(wb.ones(2)).int_repr()
    tensor([3, 3], dtype=workbench.uint8)
    """
    kind = check_type(dtype)
    return new(QuantizedArray(np.zeros(tuple(map(whole, size)), kind.numpy), scale, zero_point, kind))


@offered("workbench", name="_empty_per_channel_affine_quantized")
def empty_per_channel_affine_quantized(
    size: Sequence[int], *, scales: Tensor, zero_points: Tensor, axis: int, dtype: DTypeLike = quint8
) -> Tensor:
    """Return a tensor quantized per channel whose codes are not set yet: zeros here."""
    kind = check_type(dtype)
    codes = np.zeros(tuple(map(whole, size)), kind.numpy)
    return new(QuantizedArray(codes, listed(scales), listed(zero_points), kind, axis))
