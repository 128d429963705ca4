"""Operators of the domain com.microsoft, which onnxruntime's tools write where they fuse and quantize."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import uint8
from workbench.onnx.errors import OnnxError
from workbench.onnx.families.quantized import dequantized, quantized, whole_product
from workbench.onnx.table import operator
from workbench.onnx.values import wb

__all__: list[str] = []

_DOMAIN = "com.microsoft"


@operator("QuantizeLinear", domain=_DOMAIN, still=(1, 2))
def _quantize(x: Any, scale: Any, zero: Any = None, *, axis: int = 1) -> Any:
    return quantized(x, scale, zero, uint8 if zero is None else zero.dtype, axis)


@operator("DequantizeLinear", domain=_DOMAIN, still=(1, 2))
def _dequantize(x: Any, scale: Any, zero: Any = None, *, axis: int = 1) -> Any:
    return dequantized(x, scale, zero, axis)


@operator("MatMulIntegerToFloat", domain=_DOMAIN, still=(2, 3, 4, 5))
def _matmul_integer_to_float(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None, bias: Any = None
) -> Any:
    found = whole_product(a, b, a_zero, b_zero).float() * (a_scale * b_scale)
    return found if bias is None else found + bias


@operator("DynamicQuantizeMatMul", domain=_DOMAIN, still=(2, 3))
def _dynamic_matmul(a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    low, high = wb.clamp(wb.min(a), max=0), wb.clamp(wb.max(a), min=0)
    scale = (high - low) / 255
    scale = wb.where(scale == 0, wb.ones_like(scale), scale)
    zero = wb.clamp(wb.round(-low / scale), 0, 255).to(uint8)
    return _matmul_integer_to_float(quantized(a, scale, zero, uint8), b, scale, b_scale, zero, b_zero, bias)


def _of_real(rule: Any) -> Any:
    """Return what computes with two quantized tensors by way of the real numbers that they stand for."""

    def compute(
        a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any = None
    ) -> Any:
        found = rule(dequantized(a, a_scale, a_zero), dequantized(b, b_scale, b_zero))
        return quantized(found, y_scale, y_zero, a.dtype)

    return compute


operator("QLinearAdd", domain=_DOMAIN, still=(1, 2, 4, 5, 6, 7))(_of_real(lambda a, b: a + b))
operator("QLinearMul", domain=_DOMAIN, still=(1, 2, 4, 5, 6, 7))(_of_real(lambda a, b: a * b))


@operator("QLinearSigmoid", domain=_DOMAIN, still=(1, 2, 3, 4))
def _qlinear_sigmoid(x: Any, scale: Any, zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
    return quantized(wb.sigmoid(dequantized(x, scale, zero)), y_scale, y_zero, x.dtype)


@operator("QLinearLeakyRelu", domain=_DOMAIN, still=(1, 2, 3, 4))
def _qlinear_leaky_relu(
    x: Any, scale: Any, zero: Any, y_scale: Any, y_zero: Any = None, *, alpha: float = 0.01
) -> Any:
    return quantized(wb.leaky_relu(dequantized(x, scale, zero), alpha), y_scale, y_zero, x.dtype)


@operator("QLinearGlobalAveragePool", domain=_DOMAIN, still=(1, 2, 3, 4))
def _qlinear_global_average_pool(
    x: Any, scale: Any, zero: Any, y_scale: Any, y_zero: Any, *, channels_last: int = 0
) -> Any:
    axes = tuple(range(1, x.dim() - 1)) if channels_last else tuple(range(2, x.dim()))
    return quantized(wb.mean(dequantized(x, scale, zero), axes, keepdim=True), y_scale, y_zero, x.dtype)


@operator("QLinearConcat", domain=_DOMAIN, still=(0, 1))
def _qlinear_concat(y_scale: Any, y_zero: Any, *parts: Any, axis: int) -> Any:
    if len(parts) % 3:
        raise OnnxError("its inputs are threes: numbers, scale, zero point")
    found = [dequantized(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return quantized(wb.cat(found, dim=axis), y_scale, y_zero, y_zero.dtype)


@operator("FusedMatMul", domain=_DOMAIN)
def _fused_matmul(
    a: Any, b: Any, *, alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0,
    transBatchB: int = 0,
) -> Any:  # fmt: skip
    if transBatchA or transBatchB:
        raise OnnxError("FusedMatMul with its batch turned round is not here")
    a = a.transpose(-1, -2) if transA else a
    return wb.matmul(a, b.transpose(-1, -2) if transB else b) * alpha


@operator("Gelu", domain=_DOMAIN)
def _gelu(x: Any) -> Any:
    return wb.gelu(x)


@operator("BiasGelu", domain=_DOMAIN)
def _bias_gelu(x: Any, bias: Any) -> Any:
    return wb.gelu(x + bias)


@operator("FastGelu", domain=_DOMAIN)
def _fast_gelu(x: Any, bias: Any = None) -> Any:
    return wb.gelu(x if bias is None else x + bias, approximate="tanh")


@operator("QuickGelu", domain=_DOMAIN)
def _quick_gelu(x: Any, *, alpha: float = 1.702) -> Any:
    return x * wb.sigmoid(x * alpha)


@operator("SkipLayerNormalization", domain=_DOMAIN)
def _skip_layer_norm(
    x: Any, skip: Any, scale: Any, shift: Any = None, bias: Any = None, *, epsilon: float = 1e-5, outputs: int
) -> Any:
    total = x + skip
    total = total if bias is None else total + bias
    mean = wb.mean(total, -1, keepdim=True)
    centred = total - mean
    inverse = wb.rsqrt(wb.mean(centred * centred, -1, keepdim=True) + epsilon)
    found = centred * inverse * scale
    return found if shift is None else found + shift, mean, inverse, total
