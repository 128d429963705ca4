"""Integer layers: signed 8-bit weights, unsigned 8-bit activations, exact sums. Convolutions: `convolutions.py`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from workbench.base.dims import Names
from workbench.base.dtypes import float32, qint8, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.value import labelled, new
from workbench.nn import IMAGE, check_names
from workbench.nn import Linear as FloatLinear
from workbench.nn import MaxPool2d as FloatMaxPool2d
from workbench.ops.quantized.linear import QUANTIZED_LINEAR
from workbench.ops.quantized.pooling import QUANTIZED_MAX_POOL2D
from workbench.ops.quantized.quantize import QUANTIZE_PER_CHANNEL, QUANTIZE_PER_TENSOR
from workbench.quantization.fake_quantize import ObservingFakeQuantize
from workbench.quantization.observed import float_layer, observer_of
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.quantized.boundary import QuantizedModule, require_codes
from workbench.quantization.quantized.repacked import PackedLinear
from workbench.tensor import Tensor

__all__ = [
    "Linear", "LinearReLU", "MaxPool2d", "Weighted", "check_types", "empty_bias", "empty_codes", "quantize_weight",
    "renew", "require_finite",
]  # fmt: skip


def require_finite(weight: Any, name: str = "a weight") -> None:
    """Raise `QuantizationError` for a weight with NaN or infinite values."""
    if not np.isfinite(np.asarray(weight.detach().payload, np.float32)).all():
        raise QuantizationError(
            f"{name} of sizes {list(weight.shape)} has NaN or infinite values, which no codes stand for: look where "
            "they come from, or leave its layer in floating point"
        )


def quantize_weight(weight: Any, observer: ObserverBase) -> Any:
    """Return a weight as codes, under the range that was observed.

    Raises `QuantizationError` for NaN and infinity, which no codes stand for, and for other types than float32.
    """
    if weight.dtype is not float32:
        raise QuantizationError(
            f"a weight of sizes {list(weight.shape)} is {weight.dtype.name}, and codes are made of float32: call "
            "model.float() first"
        )
    require_finite(weight)
    scale, zero = observer.qparams()
    limits: dict[str, Any] = {"qmin": observer.quant_min, "qmax": observer.quant_max, "dtype": observer.dtype}
    if observer.qscheme.per_channel:
        codes = QUANTIZE_PER_CHANNEL(
            weight.detach(),
            scales=tuple(scale.tolist()),
            zero_points=tuple(zero.tolist()),
            axis=getattr(observer, "ch_axis", 0) % weight.ndim,
            **limits,
        )
    else:
        codes = QUANTIZE_PER_TENSOR(
            weight.detach(),
            scale=float(np.reshape(scale, ())),
            zero_point=int(np.reshape(zero, ())),
            **limits,
        )
    return labelled(codes, weight._labels)


def renew(made: Any, module: Any, twin: Any) -> None:
    """Give the integer form of a prepared layer the weight and the bias that the same layer of a `twin` has."""
    layer, observer = float_layer(twin), observer_of(module, "weight_post_process")
    if hasattr(module, "weight_fake_quant"):
        # Conversion shows the weight to it once more, and what trains goes on without having been looked at.
        watching = copy.deepcopy(module.weight_fake_quant)
        if isinstance(watching, ObservingFakeQuantize):
            # What it would round to is of no use here.
            watching.disable_fake_quant()
        watching(layer.weight.detach())
        observer = watching.observer if isinstance(watching, ObservingFakeQuantize) else watching
    made.weight = quantize_weight(layer.weight, observer)
    made.bias = None if layer.bias is None else layer.bias.detach()


def check_types(module: Any, weight: Any, observer: ObserverBase) -> None:
    """Refuse, with `QuantizationError`, types that integer layers do not compute with."""
    kind = type(module).__name__
    if observer.dtype is not quint8:
        raise QuantizationError(
            f"the output of {kind} becomes quint8, and its observer says {observer.dtype.name}: prepare the model with "
            "an observer of quint8, as get_default_qconfig() has, or with qconfig None for this layer"
        )
    if weight.dtype is not qint8:
        raise QuantizationError(
            f"the weight of {kind} becomes qint8, and its observer says {weight.dtype.name}: prepare the model with an "
            "observer of qint8, as get_default_qconfig() has, or with qconfig None for this layer"
        )


class Weighted(QuantizedModule):
    """What integer convolution and linear layers share."""

    weight: Tensor
    bias: Tensor | None
    relu = False
    float_results = False
    """True where what comes out are the sums themselves, in floating point."""

    def _set_weight(self, weight: Any, bias: Any) -> None:
        self.register_buffer("weight", weight)
        self.register_buffer("bias", None if bias is None else bias.detach())

    def _operands(self, input: Any) -> tuple[Any, ...]:
        require_codes(self, input)
        return (input, self.weight) if self.bias is None else (input, self.weight, self.bias)

    def _output(self) -> dict[str, Any]:
        told = {**self._coding(), "relu": self.relu}
        return {**told, "scale": None} if self.float_results else told

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"


def empty_codes(shape: tuple[int, ...], labels: Names) -> Any:
    """Return the weight of a layer that has none yet: codes of zeros."""
    return labelled(new(QuantizedArray(np.zeros(shape, np.int8), 1.0, 0, qint8)), labels)


def empty_bias(outputs: int, label: str) -> Any:
    """Return the bias of a layer that has none yet: zeros."""
    return labelled(new(np.zeros(outputs, np.float32)), (label,))


class Linear(PackedLinear, Weighted):
    """Affine map of the last dim on codes: quint8 [..., in_features] to quint8, weights qint8."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        weight = empty_codes((out_features, in_features), ("out_features", "in_features"))
        self._set_weight(weight, empty_bias(out_features, "out_features") if bias else None)

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the integer form of a prepared layer."""
        layer: FloatLinear = float_layer(module)
        made = cls(
            layer.in_features, layer.out_features, bias=layer.bias is not None, **cls.settings_of(module)
        )
        weight = quantize_weight(layer.weight, observer_of(module, "weight_post_process"))
        check_types(made, weight, observer_of(module))
        made._set_weight(weight, layer.bias)
        made.set_output(observer_of(module))
        return made

    @classmethod
    def settings_of(cls, module: Any) -> dict[str, Any]:
        """Return what the constructor is told beside sizes."""
        return {}

    @classmethod
    def with_float_results(cls, module: Any) -> Any:
        """Return the form of a layer that takes codes and gives the sums in floating point: nothing is rounded."""
        layer: FloatLinear = float_layer(module)
        made = cls(layer.in_features, layer.out_features, bias=layer.bias is not None)
        made._set_weight(
            quantize_weight(layer.weight, observer_of(module, "weight_post_process")), layer.bias
        )
        made.float_results = True
        return made

    def forward(self, input: Any) -> Any:
        """Map the last dim of codes."""
        return QUANTIZED_LINEAR(*self._operands(input), **self._output())

    def extra_repr(self) -> str:
        """Return sizes, and scale and zero point of what comes out."""
        out = "float results" if self.float_results else self._output_repr()
        return f"in_features={self.in_features}, out_features={self.out_features}, {out}"


class LinearReLU(Linear):
    """Affine map on codes, then the rectifier."""

    relu = True


class MaxPool2d(FloatMaxPool2d):
    """Largest code of each window; values that are not quantized pass through the floating point op."""

    def forward(self, input: Any) -> Any:
        """Pool [N, C, H, W]."""
        if (
            self.return_indices
            or self.ceil_mode
            or len(input.payload.shape) != 4
            or not getattr(input.payload.dtype, "quantized", False)
        ):
            return super().forward(input)
        names = input._names
        if names is not None and names != IMAGE:
            check_names("MaxPool2d", input)
        return QUANTIZED_MAX_POOL2D(input, **self.settings())

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the same pooling on codes."""
        made = cls(
            module.kernel_size, module.stride, module.padding, module.dilation, module.return_indices,
            module.ceil_mode,
        )  # fmt: skip
        return made.eval()
