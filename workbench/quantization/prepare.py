"""Preparation: a model is given observers, and a calibration that knows them by name."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from workbench.base.dtypes import dtype_of
from workbench.base.errors import QuantizationError
from workbench.core.value import Value
from workbench.nn import Module, Sequential
from workbench.nn.hooks import only_computes
from workbench.quantization.calibration import Calibration
from workbench.quantization.custom_config import swaps_of
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.given import checked_qconfig, require_layers
from workbench.quantization.layer_observers import (
    attach,
    check_observers,
    check_tables,
    has_weight,
    observe_weights,
    propagate_qconfig,
    quantizable,
)
from workbench.quantization.mappings import MADE_OF_PARTS
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.qconfig import QConfig, get_default_qconfig, is_memoryless
from workbench.quantization.qconfig_mapping import QConfigMapping
from workbench.quantization.quantizable.observed_parts import MadeOfParts
from workbench.quantization.quantized.boundary import QuantizedModule
from workbench.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper
from workbench.quantization.swapping import put

__all__ = ["check", "has_stub", "observed", "prepare", "ready", "write_with_parts"]


def prepare(
    model: Module,
    qconfig: QConfig | QConfigMapping | None = None,
    inplace: bool = False,
    prepare_custom_config_dict: Mapping[str, Any] | None = None,
) -> Any:
    """Return `model` with observers on the outputs and weights of the layers that will be quantized.

    Calibrate it by calling it with data, then `convert` it. A module's own ``qconfig`` counts for it and all below;
    None leaves them in floating point. Without any, `get_default_qconfig` counts. A `QConfigMapping` says it of all
    modules by their paths and types; that of the input is ``quant``. A model without a `QuantStub` has its input
    quantized and its output dequantized. LSTM, attention and layers of transformers are written with parts that are
    observed each by itself; `prepare_custom_config_dict` has under ``"float_to_observed_custom_module_class"`` what is
    put in the place of other layers, by its ``from_float``. The observers are at hand as ``model.calibration``.

    Raises `QuantizationError` for a model in training mode, one that is prepared already, and one with nothing to
    quantize; then nothing has changed.

    >>> import workbench as wb
    >>> prepared = prepare(wb.models.DigitsNet().eval())
    >>> type(prepared.conv1.activation_post_process).__name__
    'HistogramObserver'
    """
    require_layers(model, "prepare", "take prepare_fx, which works on graphs")
    if model.training:
        raise QuantizationError("prepare() observes a model in use, not in training: call model.eval() first")
    check(model)
    swaps = swaps_of(prepare_custom_config_dict, "float_to_observed_custom_module_class", MADE_OF_PARTS)
    stubbed = has_stub(model)
    made = ready(model, qconfig, get_default_qconfig, inplace)
    write_with_parts(made, swaps)
    return observed(made, stubbed)


def write_with_parts(model: Any, swaps: Mapping[type, Any]) -> None:
    """Put observed layers in the place of those that `swaps` names, where they have a qconfig."""
    for name, module in [*model.named_modules()]:
        kind = swaps.get(type(module))
        # What becomes another kind itself may be all of the model.
        itself = kind is not None and issubclass(kind, MadeOfParts) and not kind.whole
        if kind is None or not (name or itself) or getattr(module, "qconfig", None) is None:
            continue
        made = kind.from_float(module)
        if made is not module:
            put(model, name, made)


def ready(model: Module, qconfig: QConfig | QConfigMapping | None, default: Any, inplace: bool) -> Any:
    """Return a copy of `model` with a qconfig on every module, and stubs where it has none."""
    if not isinstance(qconfig, QConfigMapping):
        checked_qconfig(qconfig, "all of the model")
    for name, module in model.named_modules():
        checked_qconfig(module.__dict__.get("qconfig"), repr(name) if name else "all of the model")
    if not inplace:
        model = copy.deepcopy(model)
    if isinstance(qconfig, QConfigMapping):
        return _configured(model, qconfig)
    if qconfig is not None:
        object.__setattr__(model, "qconfig", qconfig)
    elif not any("qconfig" in module.__dict__ for module in model.modules()):
        object.__setattr__(model, "qconfig", default())
    model = _with_stubs(model)
    propagate_qconfig(model)
    return model


def _configured(model: Any, mapping: QConfigMapping) -> Any:
    """Give every module of `model` what `mapping` says of its path and type."""
    named = {name for name, _ in model.named_modules()}
    given_wrapped = isinstance(model, QuantWrapper)
    # A wrapper that was given goes by its own paths, as in PyTorch, or by those that its observers have.
    inner = {name.removeprefix("module.") for name in named} if given_wrapped else set()
    mapping.check_names([*named, *inner, "quant"])
    model = _with_stubs(model)
    wrapped = isinstance(model, QuantWrapper)
    for path, module in model.named_modules():
        # By the paths of the model that was given.
        own = path.removeprefix("module.") if wrapped else path
        name = path if given_wrapped and mapping.names(path) else own
        object.__setattr__(module, "qconfig", mapping.for_module(name, type(module)))
    return model


def _with_stubs(model: Any) -> Any:
    """Return `model` with a stub at its input, unless it has one, or all of it becomes dynamic."""
    configs = [one.qconfig for one in model.modules() if one.__dict__.get("qconfig") is not None]
    if has_stub(model) or (configs and all(map(is_memoryless, configs))):
        return model
    return _with_boundary(model)


def has_stub(model: Module) -> bool:
    """Say whether a model says itself where its values become codes."""
    return any(isinstance(one, QuantStub) for one in model.modules())


def observed(model: Any, stubbed: bool) -> Any:
    """Give the layers of a model that is `ready` their observers, and the model its calibration.

    Where it was given with stubs of its own (`stubbed`), there may be nothing else: poolings and rectifiers take codes.
    """
    layers = quantizable(model)
    if not layers or (not stubbed and all(isinstance(module, QuantStub) for _, module in layers)):
        raise QuantizationError(
            "nothing to quantize: no Conv2d or Linear has a qconfig, nor another layer whose results have a scale of "
            "their own; set model.qconfig = get_default_qconfig(), or give a model that only passes codes on, by "
            "poolings and rectifiers, a QuantStub and a DeQuantStub of its own"
        )
    check_tables(model)
    check_observers(model)
    for _, module in layers:
        attach(module)
    observe_weights(model)
    Calibration(model)
    return model


def check(model: Module) -> None:
    """Refuse, with `QuantizationError`, a model that has observers already, and one that is quantized."""
    if any(isinstance(module, ObserverBase | FakeQuantizeBase) for module in model.modules()):
        # A row would call stubs among its own modules as its last ones; a layer has no room for them.
        raise QuantizationError("the model has observers already: prepare() it once")
    if any(isinstance(module, QuantizedModule) for module in model.modules()):
        raise QuantizationError(
            "the model is quantized already: prepare the floating point model that it was made of"
        )


def _with_boundary(model: Any) -> Any:
    """Have the input of `model` quantized and its output dequantized."""
    wrapped: Any = model
    if isinstance(model, Sequential) or has_weight(model):
        return QuantWrapper(wrapped)
    for name in ("quant", "dequant"):
        if hasattr(model, name):
            raise QuantizationError(
                f"the model has an attribute {name!r} that is no stub, so the stubs need another place: "
                "wrap it in QuantWrapper"
            )
    model.quant, model.dequant = (kind().train(model.training) for kind in (QuantStub, DeQuantStub))
    # By hooks: the model keeps its class, and its layers their names.
    model.register_forward_pre_hook(_quantize_inputs)
    model.register_forward_hook(_dequantize_outputs)
    return model


@only_computes
def _quantize_inputs(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Pass the one floating point input of a model through its `quant`."""
    floating = [i for i, one in enumerate(inputs) if _is_floating(one)]
    if len(floating) > 1:
        raise QuantizationError(
            f"the model takes {len(floating)} floating point inputs: give it a QuantStub for each, and call them in "
            "its forward()"
        )
    return tuple(module.quant(one) if i in floating else one for i, one in enumerate(inputs))


def _is_floating(one: Any) -> bool:
    return isinstance(one, Value) and dtype_of(one.payload).is_floating_point


@only_computes
def _dequantize_outputs(module: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    """Pass what a model returns through its `dequant`."""
    return module.dequant(output)
