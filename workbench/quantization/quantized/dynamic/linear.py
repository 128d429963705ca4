"""Affine maps whose input is quantized in each call, by the range that it has there."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import float16, qint8
from workbench.base.errors import QuantizationError
from workbench.core.value import labelled, new
from workbench.nn import functional
from workbench.ops.quantized.dynamic import QUANTIZED_LINEAR_DYNAMIC
from workbench.quantization.observed import float_layer
from workbench.quantization.quantized.layers import quantize_weight
from workbench.quantization.quantized.repacked import PackedLinear
from workbench.tensor import Tensor

__all__ = ["Linear", "LinearReLU", "affine", "floats_of", "linear_on_codes", "weight_codes"]

_MOST = {False: 127, True: 255}
"""The greatest code of what comes in, without and with a scale for each row: one for all of it leaves a bit out, as
PyTorch does, whose kernels add pairs of products in 16 bits; rows have all 8 bits, ours add in 32."""


def floats_of(x: Any) -> Any:
    """Return what comes in as float32; raise `QuantizationError` for codes, whole numbers and complex ones."""
    if not x.dtype.is_floating_point:
        raise QuantizationError(
            f"a dynamically quantized layer takes floating point values, and got {x.dtype.name}: it quantizes them "
            "itself, so leave QuantStub away"
        )
    return x if x.payload.dtype == np.float32 else x.float()


def linear_on_codes(x: Any, weight: Any, bias: Any, token: bool = False) -> Any:
    """Return x·ŵᵀ + b for floating point rows x [..., in] and a weight in codes: x gets a scale of its own.

    With `token` each row of x has one, so that it does not depend on the others.
    """
    floats = floats_of(x)
    operands = (floats, weight) if bias is None else (floats, weight, bias)
    return QUANTIZED_LINEAR_DYNAMIC(*operands, by_row=token, highest=_MOST[token], relu=False)


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


class Linear(PackedLinear):
    """An affine map with a weight in codes; what comes in is quantized in each call.

    y = ŝ·s·Σ (q - z)·ŵ + b. By default one scale holds for all of a batch; with a qconfig that says
    ``granularity="token"`` each row has its own.

    >>> import workbench as wb
    >>> model = wb.quantization.quantize_dynamic(wb.nn.Sequential(wb.nn.Linear(4, 3)))
    >>> type(model[0]).__module__, model[0](wb.ones(2, 4)).dtype
    ('workbench.quantization.quantized.dynamic.linear', workbench.float32)
    """

    _version = 4
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

    def packed(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return the pair, and a scale and a zero point, which nothing uses: PyTorch's layer has them."""
        unused = {"scale": new(np.array(1.0, np.float32)), "zero_point": new(np.array(0))}
        return {**unused, **super().packed(own)}

    def unpacked(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return weight and bias of the pair."""
        return super().unpacked(
            {key: one for key, one in given.items() if key not in ("scale", "zero_point")}
        )

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        """Return sizes and the type of the weight."""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.weight.dtype}"


class LinearReLU(Linear):
    """The same, then the rectifier."""

    relu = True
