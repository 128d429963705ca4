"""Conversion: observed layers become integer layers."""

from __future__ import annotations

import copy
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Conv2d, Linear, MaxPool2d, Module
from workbench.quantization import quantized
from workbench.quantization.intrinsic import ConvReLU2d, ConvReLUMaxPool2d, LinearReLU, weighted_layer
from workbench.quantization.layer_observers import observe_weights, observer_of, quantizable
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.stubs import DeQuantStub, QuantStub

__all__ = ["convert", "refresh", "uncalibrated", "with_integer_layers"]

_INTEGER: dict[type, Any] = {
    Conv2d: quantized.Conv2d,
    ConvReLU2d: quantized.ConvReLU2d,
    ConvReLUMaxPool2d: quantized.ConvReLUMaxPool2d,
    Linear: quantized.Linear,
    LinearReLU: quantized.LinearReLU,
}
"""The integer form of each layer that is quantized."""


def uncalibrated(model: Module) -> list[str]:
    """Return the paths of the layers whose observers have seen no finite value and have no range set by hand."""
    missing = []
    for name, module in quantizable(model):
        observer = getattr(module, "activation_post_process", None)
        if observer is None or (not observer_of(module).has_data and observer_of(module).override is None):
            missing.append(name)
    return missing


def convert(model: Module, inplace: bool = False) -> Any:
    """Return a prepared and calibrated `model` with integer layers in the place of the observed ones.

    Weights become qint8, activations quint8. Raises `QuantizationError` for a model that was not prepared, and names
    the layers that have seen no data; then nothing has changed.

    >>> import workbench as wb
    >>> prepared = wb.quantization.prepare(wb.models.DigitsNet().eval())
    >>> convert(prepared)
    Traceback (most recent call last):
    workbench.base.errors.QuantizationError: not calibrated: conv1, conv2, fc1, fc2, quant have seen no values. ...
    """
    if not any(isinstance(module, ObserverBase) for module in model.modules()):
        raise QuantizationError(
            "the model has no observers: prepare() it, calibrate it with data, then convert() it"
        )
    missing = uncalibrated(model)
    if missing:
        raise QuantizationError(
            f"not calibrated: {', '.join(missing)} {'has' if len(missing) == 1 else 'have'} seen no values. "
            "Call the prepared model with some data first, or set their ranges by hand with set_range(low, high)."
        )
    observe_weights(model)
    calibration = getattr(model, "calibration", None)
    made = with_integer_layers(model if inplace else copy.deepcopy(model))
    if calibration is not None:
        calibration.finish()
    return made


def with_integer_layers(model: Any) -> Any:
    """Swap the observed layers of `model`, in place, for integer ones by what their observers know."""
    changes = {name: _integer_form(module) for name, module in quantizable(model)}
    # A calibration is that of the prepared model.
    model.__dict__.pop("calibration", None)
    for name, made in changes.items():
        model.set_submodule(name, made)
    # A list, since modules are replaced on the way.
    for name, module in [*model.named_modules()]:
        if type(module) is MaxPool2d and getattr(module, "qconfig", None) is not None:
            model.set_submodule(name, quantized.MaxPool2d.from_float(module))
        elif isinstance(module, DeQuantStub):
            model.set_submodule(name, quantized.DeQuantize().eval())
    return model


def _integer_form(module: Any) -> Any:
    if isinstance(module, QuantStub):
        return quantized.Quantize.from_float(observer_of(module))
    return _INTEGER[type(module)].from_float(module)


def refresh(converted: Any, prepared: Any, stale_weights: set[str]) -> None:
    """Bring scales and zero points of `converted` up to what `prepared` knows now, and the weights named stale."""
    for name, module in quantizable(prepared):
        made = converted.get_submodule(name)
        made.set_output(observer_of(module))
        if name in stale_weights:
            weight = quantized.quantize_weight(
                weighted_layer(module).weight, observer_of(module, "weight_post_process")
            )
            made.weight = weight
