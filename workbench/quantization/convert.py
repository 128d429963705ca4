"""Conversion: observed layers become integer layers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import MaxPool2d, Module
from workbench.quantization import quantized
from workbench.quantization.attaching import detach_observer
from workbench.quantization.custom_config import swaps_of
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.float_functional import FloatFunctional
from workbench.quantization.given import require_model
from workbench.quantization.graph_mode.observing import is_prepared
from workbench.quantization.intrinsic.modules import is_fused
from workbench.quantization.layer_observers import check_tables, observe_weights, observer_of, quantizable
from workbench.quantization.learnable_fake_quantize import check_learned
from workbench.quantization.mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    PARTS_IN_CODES,
    PASSING,
    ROUNDED,
    TABLES,
    get_default_static_quant_module_mappings,
)
from workbench.quantization.observed import require_ranges, seen_nothing
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.quantized.layers import renew
from workbench.quantization.stubs import DeQuantStub, QuantStub
from workbench.quantization.swapping import put, put_all

__all__ = ["convert", "refresh", "swap_all", "swap_module", "uncalibrated", "with_integer_layers"]


def uncalibrated(model: Module) -> list[str]:
    """Return the paths of the layers whose observers have seen no finite value and have no range set by hand."""
    missing = []
    for name, module in quantizable(model):
        observer = getattr(module, "activation_post_process", None)
        # Functions that a model has at hand and never calls have nothing to find out.
        if isinstance(module, FloatFunctional):
            continue
        if observer is None or not observer_of(module).has_range:
            missing.append(name)
    return missing


def convert(
    model: Module,
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    convert_custom_config_dict: Mapping[str, Any] | None = None,
) -> Any:
    """Return a prepared and calibrated `model` with integer layers in the place of the observed ones.

    Weights become qint8, activations quint8. `mapping` says what each kind of layer becomes, by its ``from_float``,
    where it is another than by `get_default_static_quant_module_mappings`; `convert_custom_config_dict` has under
    ``"observed_to_quantized_custom_module_class"`` what layers of one's own become, by their ``from_observed``. Raises
    `QuantizationError` for a model that was not prepared, and names the layers that have seen no data; then nothing has
    changed.

    >>> import workbench as wb
    >>> prepared = wb.quantization.prepare(wb.models.DigitsNet().eval())
    >>> convert(prepared)
    Traceback (most recent call last):
    workbench.base.errors.QuantizationError: not calibrated: conv1, bn1, ...
    """
    require_model(model)
    if not any(isinstance(module, ObserverBase | FakeQuantizeBase) for module in model.modules()):
        raise QuantizationError(
            "the model has no observers: prepare() it, calibrate it with data, then convert() it"
        )
    if is_prepared(model):
        raise QuantizationError("the model is a prepared graph: convert_fx makes codes of it")
    require_ranges(quantizable(model))
    missing = uncalibrated(model)
    if missing:
        watching = [observer_of(model.get_submodule(name)) for name in missing]
        raise QuantizationError(
            f"{seen_nothing(missing, watching)}. "
            "Call the prepared model with some data first, or set their ranges by hand with set_range(low, high)."
        )
    check_learned(model)
    observe_weights(model)
    calibration = getattr(model, "calibration", None)
    made = with_integer_layers(
        model if inplace else copy.deepcopy(model),
        mapping,
        swaps_of(convert_custom_config_dict, "observed_to_quantized_custom_module_class", PARTS_IN_CODES),
    )
    if remove_qconfig:
        for module in made.modules():
            module.__dict__.pop("qconfig", None)
    if calibration is not None:
        calibration.finish()
    return made


def with_integer_layers(
    model: Any, mapping: dict[type, Any] | None = None, parts: Mapping[type, Any] = PARTS_IN_CODES
) -> Any:
    """Swap the observed layers of `model`, in place, for integer ones by what their observers know."""
    table = get_default_static_quant_module_mappings() if mapping is None else mapping
    check_tables(model)
    for name, module in [*model.named_modules()]:
        if name and type(module) in parts and getattr(module, "qconfig", None) is not None:
            put(model, name, parts[type(module)].from_observed(module))
    changes = {
        name: _integer_form(module, table) for name, module in quantizable(model) if type(module) in table
    }
    # A calibration is that of the prepared model.
    model.__dict__.pop("calibration", None)
    put_all(model, changes)
    # A list, since modules are replaced on the way.
    for name, module in [*model.named_modules()]:
        if type(module) is MaxPool2d and getattr(module, "qconfig", None) is not None:
            put(model, name, quantized.MaxPool2d.from_float(module))
        elif (
            type(module) in PASSING and type(module) in table and getattr(module, "qconfig", None) is not None
        ):
            put(model, name, table[type(module)].from_float(module).eval())
        elif (type(module) in DEFAULT_MODULE_TO_ACT_POST_PROCESS or type(module) in ROUNDED) and hasattr(
            module, "activation_post_process"
        ):
            detach_observer(module)
        elif isinstance(module, DeQuantStub):
            put(model, name, quantized.DeQuantize().eval())
        elif type(module) in TABLES and getattr(module, "qconfig", None) is not None:
            put(model, name, table[type(module)].from_float(module))
    return model


def _integer_form(module: Any, table: dict[type, Any]) -> Any:
    if isinstance(module, QuantStub):
        return quantized.Quantize.from_float(observer_of(module))
    return table[type(module)].from_float(module)


def swap_module(mod: Module, mapping: dict[type, Any], custom_module_class_mapping: Any = None) -> Any:
    """Return what a module with a qconfig becomes by `mapping`; another one is returned as it is."""
    kind = mapping.get(type(mod))
    if kind is None or getattr(mod, "qconfig", None) is None:
        return mod
    made = kind.from_float(mod)
    for hook in mod._hooks.forward_pre.values() if mod._hooks is not None else ():
        made.register_forward_pre_hook(hook)
    return made


def swap_all(model: Module, mapping: dict[type, Any]) -> Any:
    """Swap every module of `model` that has a qconfig and stands in `mapping`, in place; fused ones as one."""
    put_all(model, dict(_swapped(model, mapping, "")))
    return model


def _swapped(model: Module, mapping: dict[type, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, child in model.named_children():
        made = swap_module(child, mapping)
        if made is not child:
            yield above + name, made
        elif not is_fused(child):
            yield from _swapped(child, mapping, f"{above}{name}.")


def refresh(converted: Any, prepared: Any, stale_weights: set[str], twin: Any) -> None:
    """Bring scales and zero points of `converted` up to what `prepared` knows now, and the layers named stale.

    These get the weights that the layers of `twin` have.
    """
    for name, module in quantizable(prepared):
        made = converted.get_submodule(name)
        made.set_output(observer_of(module))
        if name in stale_weights:
            renew(made, module, twin.get_submodule(name))
