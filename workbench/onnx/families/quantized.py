"""Whole numbers that stand for real ones: exact arithmetic of them, and the steps between both."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import float32, float64, int8, int16, int32, int64, uint8
from workbench.graph import NamedFunction
from workbench.onnx.errors import OnnxError
from workbench.onnx.families.convolution import convolved
from workbench.onnx.families.shapes import placed
from workbench.onnx.table import operator, put
from workbench.onnx.values import data_type, wb

__all__ = ["dequantized", "exact_product", "quantized"]

_RANGES = {uint8: (0, 255), int8: (-128, 127), int16: (-32768, 32767), int32: (-(1 << 31), (1 << 31) - 1)}
_EXACT = (1 << 24) // (255 * 255)
"""So many products of two numbers of 8 bits are added in float32 without a rounding."""


def _along(values: Any, x: Any, axis: int, block: int) -> Any:
    """Return a scale, or what stands beside it, so that it goes with `x`: one, one a row of `axis`, or one a block."""
    if values.dim() == 0 or values.numel() == 1:
        return values.reshape([])
    if block and values.dim() == x.dim():
        axis = placed(axis, x.dim())
        return wb.narrow(values.repeat_interleave(block, dim=axis), axis, 0, x.shape[axis])
    if values.dim() != 1:
        raise OnnxError(f"a scale has one number, or a row of them, not {values.dim()} dims")
    axis = placed(axis, x.dim())
    return values.reshape([-1 if i == axis else 1 for i in range(x.dim())])


def quantized(x: Any, scale: Any, zero: Any, kind: Any, axis: int = 1, block: int = 0) -> Any:
    """Return round(x / scale) + zero, cut to the range of `kind`: half goes to the even one."""
    low, high = _RANGES[kind]
    found = wb.round(x / _along(scale, x, axis, block).to(x.dtype)).double()
    if zero is not None:
        found = found + _along(zero, x, axis, block).double()
    return wb.clamp(found, low, high).to(kind)


def dequantized(x: Any, scale: Any, zero: Any, axis: int = 1, block: int = 0) -> Any:
    """Return (x - zero) scale."""
    whole = x.to(int32) if zero is None else x.to(int32) - _along(zero, x, axis, block).to(int32)
    return whole.to(scale.dtype) * _along(scale, x, axis, block)


def _kind(zero: Any, code: int) -> Any:
    kind = data_type(code) if code else zero.dtype if zero is not None else uint8
    if kind not in _RANGES:
        raise OnnxError(f"{kind} is no type that numbers are quantized to")
    return kind


@operator("QuantizeLinear", since=10, still=(1, 2))
def _quantize(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0,
    precision: int = 0, saturate: int = 1,
) -> Any:  # fmt: skip
    if x.dtype == int32:
        x = x.float()
    return quantized(x, scale, zero, _kind(zero, output_dtype), axis, block_size)


@operator("DequantizeLinear", since=10, still=(1, 2))
def _dequantize(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    found = dequantized(x, scale, zero, axis, block_size)
    return found.to(data_type(output_dtype)) if output_dtype else found


def _straight_through(
    found: Any, codes: Any, x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0
) -> Any:
    """Return what was quantized and back; its gradient is that of `x` where nothing was cut off, and 0 elsewhere."""
    if not x.requires_grad:
        return found
    place = wb.round(x.detach() / _along(scale, x, axis, block_size))
    if zero is not None:
        place = place + _along(zero, x, axis, block_size).to(place.dtype)
    kept = wb.where(place == codes.to(place.dtype), x, wb.zeros_like(x))
    # Nothing is added, to the bit: only the gradient takes this way.
    return found + (kept - kept.detach())


put(NamedFunction("onnx.straight_through", _straight_through, pure=True))


@operator("DynamicQuantizeLinear", since=11)
def _dynamic_quantize(x: Any, *, outputs: int) -> Any:
    low, high = wb.clamp(wb.min(x), max=0), wb.clamp(wb.max(x), min=0)
    scale = (high - low) / 255
    # All zero: any scale will do.
    scale = wb.where(scale == 0, wb.ones_like(scale), scale)
    zero = wb.clamp(wb.round(-low / scale), 0, 255).to(uint8)
    return quantized(x, scale, zero, uint8), scale, zero


# -------------------------------------------------------------------------------------------------- products


def exact_product(a: Any, b: Any) -> Any:
    """Return the product of matrices of whole numbers of 8 bits, exactly, as int64.

    It is computed in float32, in pieces so short that nothing is rounded.
    """
    size = a.shape[-1]
    if type(size) is not int or b.dim() == 1:
        return wb.matmul(a.double(), b.double()).to(int64)
    total = None
    for start in range(0, size, _EXACT):
        count = min(_EXACT, size - start)
        part = wb.matmul(wb.narrow(a, -1, start, count).float(), wb.narrow(b, -2, start, count).float()).to(
            int64
        )
        total = part if total is None else total + part
    return wb.matmul(a.double(), b.double()).to(int64) if total is None else total


def _rows(zero: Any) -> Any:
    """Return zero points of rows beside a matrix."""
    return zero if zero.dim() != 1 or zero.numel() == 1 else zero.reshape(-1, 1)


def whole_product(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    """Return (a - a_zero)(b - b_zero) as int64, exactly."""
    # The numbers themselves have 8 bits, their differences 9: those are multiplied in the exact pieces, too.
    left = a.to(int32) if a_zero is None else a.to(int32) - _rows(a_zero).to(int32)
    right = b.to(int32) if b_zero is None else b.to(int32) - b_zero.to(int32)
    return exact_product(left, right)


@operator("MatMulInteger", since=10, still=(2, 3))
def _matmul_integer(a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return whole_product(a, b, a_zero, b_zero).to(int32)


@operator("QLinearMatMul", since=10, still=(1, 2, 4, 5, 6, 7))
def _qlinear_matmul(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    total = whole_product(a, b, a_zero, b_zero)
    scale = _rows(a_scale).float() * b_scale.float() / y_scale.float()
    return _requantized(total, scale, y_zero)


def _requantized(total: Any, scale: Any, zero: Any) -> Any:
    low, high = _RANGES[zero.dtype]
    found = wb.round(total.float() * scale).double() + zero.double()
    return wb.clamp(found, low, high).to(zero.dtype)


def _whole_convolution(x: Any, w: Any, x_zero: Any, w_zero: Any, **attributes: Any) -> Any:
    values = x.to(int32) if x_zero is None else x.to(int32) - x_zero.to(int32)
    weights = w.to(int32)
    if w_zero is not None:
        rows = w_zero if w_zero.numel() == 1 else w_zero.reshape([-1] + [1] * (w.dim() - 1))
        weights = weights - rows.to(int32)
    count = 1
    for one in w.shape[1:]:
        count = count * one
    # In float32 as long as no sum is rounded, else in float64, where none ever is.
    wide = float32 if type(count) is int and count <= _EXACT else float64
    return convolved(values.to(wide), weights.to(wide), None, **attributes).to(int64)


@operator("ConvInteger", since=10, still=(2, 3))
def _conv_integer(
    x: Any, w: Any, x_zero: Any = None, w_zero: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
    group: int = 1, kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    return _whole_convolution(
        x, w, x_zero, w_zero, auto_pad=auto_pad, dilations=dilations, group=group, kernel=kernel_shape, pads=pads,
        strides=strides,
    ).to(int32)  # fmt: skip


@operator("QLinearConv", since=10, still=(1, 2, 4, 5, 6, 7))
def _qlinear_conv(
    x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any, y_zero: Any, b: Any = None, *,
    auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    total = _whole_convolution(
        x, w, x_zero, w_zero, auto_pad=auto_pad, dilations=dilations, group=group, kernel=kernel_shape, pads=pads,
        strides=strides,
    )  # fmt: skip
    channels = [-1] + [1] * (x.dim() - 2)
    if b is not None:
        total = total + b.to(int64).reshape(channels)
    rows = w_scale if w_scale.numel() == 1 else w_scale.reshape(channels)
    return _requantized(total, x_scale.float() * rows.float() / y_scale.float(), y_zero)
