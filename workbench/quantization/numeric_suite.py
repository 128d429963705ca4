"""A floating point model and its integer form side by side: weights, results of layers, layers in each other's shadow.

PyTorch's numeric suite, ``torch.ao.ns._numeric_suite``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.public import words
from workbench.core import dispatch
from workbench.nn import Module
from workbench.quantization.intrinsic.modules import is_fused
from workbench.quantization.mappings import get_default_compare_output_module_list
from workbench.quantization.quantized.boundary import DeQuantize, Quantize
from workbench.quantization.quantized.script_objects import ScriptObject, parts_of_cell, parts_of_linear
from workbench.tensor import Tensor

__all__ = [
    "Logger", "OutputLogger", "Shadow", "ShadowLogger", "compare_model_outputs", "compare_model_stub",
    "compare_weights", "get_logger_dict", "get_matching_activations", "prepare_model_outputs",
    "prepare_model_with_stubs",
]  # fmt: skip

_SLOT = "activation_logger"
_PACKED = "_packed_params._packed_params"


class Logger(Module):
    """Keeps what passes: a base for loggers of one's own, which override `forward` and fill `stats`."""

    def __init__(self) -> None:
        super().__init__()
        self.stats: dict[str, Any] = {}

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x


class OutputLogger(Logger):
    """Keeps copies of what passes, in ``stats["tensor_val"]``."""

    def __init__(self) -> None:
        super().__init__()
        self.stats["tensor_val"] = []

    def forward(self, x: Any) -> Any:
        """Keep `x`, [any dims], and return it."""
        if isinstance(x, Tensor):
            self.stats["tensor_val"].append(x.detach().clone())
        return x


class ShadowLogger(Logger):
    """Keeps the results of a layer and of its shadow, in ``stats["quantized"]`` and ``stats["float"]``."""

    def __init__(self) -> None:
        super().__init__()
        self.stats["float"], self.stats["quantized"] = [], []

    def forward(self, x: Any, y: Any = None) -> None:
        """Keep `x`, the integer layer's result, and `y`, that of its shadow."""
        for name, one in (("quantized", x), ("float", y)):
            if isinstance(one, Tensor):
                self.stats[name].append((one.dequantize() if one.is_quantized else one).detach().clone())


def _weight_in(state: Mapping[str, Any], key: str) -> str | None:
    """Return under which key a state has the weight that `key` is of; joined layers have theirs in their first part."""
    place, _, name = key.rpartition(".")
    for one in (key, f"{place}.0.{name}"):
        if one in state:
            return one
    return None


def _packed_weight(state: Mapping[str, Any], key: str, two_ways: bool) -> Any:
    """Return the weight in codes that `key` is of; a state of a recurrent layer or cell has it packed with others."""
    found = re.fullmatch(r"(.*\b)weight_(ih|hh)(?:_l(\d+)(_reverse)?)?", key)
    if found is None:
        return None
    lead, product, layer, reverse = found.groups()
    if layer is None:
        one = state.get(f"{lead}_packed_weight_{product}")
        return parts_of_linear(one)[0] if isinstance(one, ScriptObject) else None
    number = int(layer) * (1 + two_ways) + (reverse is not None)
    one = state.get(f"{lead}_all_weight_values.{number}.param")
    return parts_of_cell(one)[product == "hh"][0] if isinstance(one, ScriptObject) else None


def compare_weights(
    float_dict: Mapping[str, Any], quantized_dict: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the weights that two states have in common, by the key of the second: ``{"float": …, "quantized": …}``.

    Weights of recurrent layers and cells, of which a state packs several under one key, stand by the key of the first.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(3, 2)).eval()
    >>> integer = wb.quantization.quantize_dynamic(model)
    >>> [sorted(pair) for pair in compare_weights(model.state_dict(), integer.state_dict()).values()]
    [['float', 'quantized']]
    """
    found = {}
    for key, one in quantized_dict.items():
        # Linear layers have weight and bias packed, under one key.
        wanted = key.removesuffix(_PACKED) + "weight" if key.endswith(_PACKED) else key
        weight = one[0] if isinstance(one, tuple) else one
        match = _weight_in(float_dict, wanted) or _weight_in(float_dict, wanted.removeprefix("module."))
        if wanted.endswith("weight") and match is not None and isinstance(weight, Tensor):
            found[key] = {"float": float_dict[match], "quantized": weight}
    for key, one in float_dict.items():
        lead = key.rpartition(".")[0]
        two_ways = f"{lead}.weight_ih_l0_reverse".removeprefix(".") in float_dict
        weight = _packed_weight(quantized_dict, key, two_ways)
        if weight is not None:
            found[key] = {"float": one, "quantized": weight}
    return found


def _layers(model: Module, kinds: Iterable[type] | None) -> list[tuple[str, Any]]:
    allowed = set(get_default_compare_output_module_list() if kinds is None else kinds)
    found: list[tuple[str, Any]] = []
    inside: set[int] = set()
    for path, module in model.named_modules():
        if id(module) in inside or not path or type(module) not in allowed:
            continue
        parts = [one for one in module.modules() if one is not module]
        # Rows of layers are no layer; what was joined is one.
        if is_fused(module):
            inside.update(id(one) for one in parts)
        elif any(type(one) in allowed for one in parts):
            continue
        found.append((path, module))
    return found


def _log(module: Any, inputs: tuple[Any, ...], output: Any) -> None:
    getattr(module, _SLOT)(output)


def prepare_model_outputs(
    float_module: Module,
    q_module: Module,
    logger_cls: type[Logger] = OutputLogger,
    allow_list: Iterable[type] | None = None,
) -> None:
    """Have the layers of both models keep what they return, in place; calls fill the loggers."""
    for model in (float_module, q_module):
        for _, module in _layers(model, allow_list):
            setattr(module, _SLOT, logger_cls())
            module.register_forward_hook(_log)


def get_logger_dict(mod: Module, prefix: str = "") -> dict[str, dict[str, Any]]:
    """Return what the loggers of a model have kept, by the path of the layer with ``.stats`` behind it."""
    found = {}
    for path, module in mod.named_modules(prefix=prefix):
        if isinstance(module, Logger):
            found[f"{path.rpartition('.')[0]}.stats"] = module.stats
    return found


def get_matching_activations(float_module: Module, q_module: Module) -> dict[str, dict[str, Any]]:
    """Return what layers of one path have kept in both models: ``{"fc.stats": {"float": […], "quantized": […]}}``."""
    floats, codes = get_logger_dict(float_module), get_logger_dict(q_module)
    found = {}
    for key, stats in codes.items():
        match = next((one for one in (key, key.removeprefix("module.")) if one in floats), None)
        if match is not None:
            found[key] = {"float": floats[match]["tensor_val"], "quantized": stats["tensor_val"]}
    return found


def compare_model_outputs(
    float_model: Module,
    q_model: Module,
    *data: Any,
    logger_cls: type[Logger] = OutputLogger,
    allow_list: Iterable[type] | None = None,
) -> dict[str, dict[str, Any]]:
    """Call both models with the same `data`, and return what layers of one path returned.

    Raises `QuantizationError` where the two have no layer in common.
    """
    prepare_model_outputs(float_model, q_model, logger_cls, allow_list)
    with dispatch.no_grad():
        float_model(*data)
        q_model(*data)
    found = get_matching_activations(float_model, q_model)
    if not found:
        raise QuantizationError(
            "the two models have no layer in common: compare a model with its own integer form"
        )
    return found


class Shadow(Module):
    """An integer layer and the floating point one that it was made of, called with the same values.

    What it returns is what the integer layer does; a logger sees both.
    """

    def __init__(self, q_module: Any, float_module: Any, logger_cls: type[Logger] = ShadowLogger) -> None:
        super().__init__()
        self.orig_module = q_module
        self.shadow_module = float_module
        self.dequant = DeQuantize()
        self.logger = logger_cls()

    def forward(self, *x: Any) -> Any:
        """Call both, the shadow with the numbers that codes stand for."""
        output = self.orig_module(*x)
        numbers = [self.dequant(one) if isinstance(one, Tensor) and one.is_quantized else one for one in x]
        self.logger(output, self.shadow_module(*numbers))
        return output


def prepare_model_with_stubs(
    float_module: Module,
    q_module: Module,
    module_swap_list: Iterable[type],
    logger_cls: type[Logger] = ShadowLogger,
) -> None:
    """Give the layers of an integer model their floating point shadows, in place.

    `module_swap_list` has the types of layers of the floating point model that are wanted.
    """
    wanted = set(module_swap_list)
    layers = {path: one for path, one in float_module.named_modules() if type(one) in wanted}
    for path, module in [*q_module.named_modules()]:
        layer = layers.get(path, layers.get(path.removeprefix("module.")))
        if (
            path
            and layer is not None
            and type(layer) is not type(module)
            and not isinstance(module, Quantize)
        ):
            q_module.set_submodule(path, Shadow(module, layer, logger_cls))


def compare_model_stub(
    float_model: Module,
    q_model: Module,
    module_swap_list: Iterable[type],
    *data: Any,
    logger_cls: type[Logger] = ShadowLogger,
) -> dict[str, dict[str, Any]]:
    """Call an integer model whose layers have their floating point shadows, and return what both gave by path.

    Raises `QuantizationError` where no layer has one.
    """
    prepare_model_with_stubs(float_model, q_model, module_swap_list, logger_cls)
    if not any(isinstance(one, Shadow) for one in q_model.modules()):
        raise QuantizationError("no layer of the integer model stands for one of these types")
    with dispatch.no_grad():
        q_model(*data)
    return get_logger_dict(q_model)


__getattr__, __dir__ = words(__name__, __all__)
