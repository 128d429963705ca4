"""Affine maps whose input is quantized in each call, by the range that it has there."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import float16, qint8, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.value import labelled, new
from workbench.nn import Module, functional
from workbench.ops.quantized.linear import QUANTIZED_LINEAR
from workbench.ops.quantized.quantize import DEQUANTIZE
from workbench.quantization.observed import float_layer
from workbench.quantization.quantized.layers import quantize_weight
from workbench.tensor import Tensor

__all__ = ["Linear", "LinearReLU", "batch_qparams", "linear_on_codes", "weight_codes"]

Array = np.ndarray[Any, Any]

# Kernels for x86 add pairs of products in 16 bits: activations have 7 bits there, as in PyTorch.
_LEAST, _MOST = 0, 127
_SMALL = np.float32(6.1e-5)


def batch_qparams(low: Array, high: Array) -> tuple[Array, Array]:
    """Return scale and zero point for ranges that have just been found, as PyTorch's dynamic layers choose them.

    s = (max - min) / 127 over a range that holds 0, at least 6.1e-5; z is rounded from the end of the range that it is
    more exact from. The arithmetic is that of float64, scales are float32.
    """
    least = np.minimum(np.asarray(low, np.float32), np.float32(0)).astype(np.float64)
    most = np.maximum(np.asarray(high, np.float32), np.float32(0)).astype(np.float64)
    scale = (most - least) / (_MOST - _LEAST)
    narrow = scale.astype(np.float32)
    with np.errstate(divide="ignore", over="ignore"):
        empty = (narrow == 0) | np.isinf(np.float32(1) / narrow)
    scale = np.where(empty, 0.1, scale)
    small = scale < _SMALL
    stretched = np.where(small, float(_SMALL) / scale, 1.0)
    least, most = least * stretched, most * stretched
    scale = np.where(small, float(_SMALL), scale)
    from_least, from_most = _LEAST - least / scale, _MOST - most / scale
    nearer = abs(_LEAST) + np.abs(least / scale) < abs(_MOST) + np.abs(most / scale)
    zero = np.clip(np.rint(np.where(nearer, from_least, from_most)), _LEAST, _MOST)
    return scale.astype(np.float32), zero.astype(np.int64)


def _rounded(values: Array, scale: Array, zero: Array) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        codes = np.rint(values * (np.float32(1) / scale) + zero.astype(np.float32))
        return np.where(np.isnan(codes), _MOST, np.clip(codes, _LEAST, _MOST)).astype(np.uint8)


def linear_on_codes(x: Any, weight: Any, bias: Any, token: bool = False) -> Any:
    """Return x·ŵᵀ + b for floating point rows x [..., in] and a weight in codes: x gets a scale of its own.

    With `token` each row of x has one, so that it does not depend on the others.
    """
    values = x.payload
    if type(values) is not np.ndarray or values.dtype.kind != "f":
        raise QuantizationError(
            "a dynamically quantized layer takes floating point values, and got "
            f"{getattr(values.dtype, 'name', values.dtype)}: it quantizes them itself, so leave QuantStub away"
        )
    values = values.astype(np.float32, copy=False)
    # No range is found of no values, and none is needed.
    axes = (-1,) if token else tuple(range(values.ndim))
    finite = np.where(np.isfinite(values), values, np.float32(0)) if not np.isfinite(values).all() else values
    low, high = (find(finite, axis=axes, keepdims=True, initial=0) for find in (np.min, np.max))
    scale, zero = batch_qparams(low, high)
    codes = _rounded(values, scale, zero)
    if not token:
        coded = new(QuantizedArray(codes, float(scale.item()), int(zero.item()), quint8), x._names)
        operands = (coded, weight) if bias is None else (coded, weight, bias)
        return QUANTIZED_LINEAR(*operands, relu=False, scale=None, zero_point=0, qmin=0, qmax=255)
    # Sums of plain codes, of which each row then takes its zero point and its scale.
    sums = QUANTIZED_LINEAR(
        new(QuantizedArray(codes, 1.0, 0, quint8), x._names), weight,
        relu=False, scale=None, zero_point=0, qmin=0, qmax=255,
    )  # fmt: skip
    columns = DEQUANTIZE(weight).sum(1).payload
    out = (sums - new(zero.astype(np.float32) * columns)) * new(scale)
    return out if bias is None else out + bias


def weight_codes(weight: Any, observer: Any) -> Any:
    """Return a weight in codes by the range that an observer finds in it; as float16 where it only carries that type.

    Raises `QuantizationError` for another type.
    """
    if observer.dtype is float16:
        return labelled(weight.detach().half(), weight._labels)
    if observer.dtype is not qint8:
        raise QuantizationError(
            f"a dynamically quantized weight is qint8 or float16, and its observer says {observer.dtype.name}"
        )
    observer(weight.detach())
    return quantize_weight(weight, observer)


def affine(x: Any, weight: Any, bias: Any, token: bool) -> Any:
    """Return x·wᵀ + b by a weight in codes, or in half precision."""
    if weight.dtype is float16:
        return functional.linear(x, weight.float(), bias)
    return linear_on_codes(x, weight, bias, token)


class Linear(Module):
    """An affine map with a weight in codes; what comes in is quantized in each call.

    y = ŝ·s·Σ (q - z)·ŵ + b. By default one scale holds for all of a batch; with a qconfig that says
    ``granularity="token"`` each row has its own.

    >>> import workbench as wb
    >>> model = wb.quantization.quantize_dynamic(wb.nn.Sequential(wb.nn.Linear(4, 3)))
    >>> type(model[0]).__module__, model[0](wb.ones(2, 4)).dtype
    ('workbench.quantization.quantized.dynamic.linear', workbench.float32)
    """

    weight: Tensor
    bias: Tensor | None
    relu = False

    def __init__(self, weight: Any, bias: Any, token: bool = False) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.token = token
        self.register_buffer("weight", weight)
        self.register_buffer("bias", None if bias is None else bias.detach())
        self.eval()

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the dynamic form of a layer with a qconfig."""
        config, layer = module.qconfig, float_layer(module)
        observer = getattr(module, "weight_fake_quant", None) or config.weight()
        activation = config.activation()
        token = getattr(activation, "granularity", "tensor") == "token"
        return cls(weight_codes(layer.weight, getattr(observer, "observer", observer)), layer.bias, token)

    def forward(self, input: Any) -> Any:
        """Map the last dim of floating point values."""
        out = affine(input, self.weight, self.bias, self.token)
        return functional.relu(out) if self.relu else out

    def extra_repr(self) -> str:
        """Return sizes and the type of the weight."""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.weight.dtype}"


class LinearReLU(Linear):
    """The same, then the rectifier."""

    relu = True
