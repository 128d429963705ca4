"""Codes take the place of values in an observed graph."""

from __future__ import annotations

from collections import Counter
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.fx import GraphModule, Node
from workbench.quantization import quantized
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.graph_mode.layers import new_path
from workbench.quantization.graph_mode.lowering import lower_calls
from workbench.quantization.graph_mode.observing import (
    OBSERVER,
    Plan,
    forget_plan,
    kept_plan,
    results_in_codes,
)
from workbench.quantization.mappings import (
    COMPUTED,
    TABLES,
    get_default_dynamic_quant_module_mappings,
    get_default_static_quant_module_mappings,
)
from workbench.quantization.observed import (
    float_layer,
    no_range,
    observer_of,
    range_of,
    require_ranges,
    seen_nothing,
    without_range,
)
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.plain_observers import RecordingObserver
from workbench.quantization.quantized.boundary import QuantizedModule
from workbench.quantization.weight_observers import weight_observer

__all__ = [
    "check_calibrated",
    "show_weight",
    "to_codes",
    "uncalibrated",
    "watch_weights",
    "watchers",
]


def watchers(module: GraphModule) -> dict[Node, Any]:
    """Return the nodes that are observers, with them."""
    found = {}
    for node in module.graph.nodes:
        if node.op == "call_module":
            one = module.get_submodule(str(node.target))
            if isinstance(one, ObserverBase | FakeQuantizeBase):
                found[node] = one
    return found


def uncalibrated(module: GraphModule) -> list[str]:
    """Return the names of the values whose observers have seen nothing finite and have no range set by hand."""
    return [
        str(node.args[0]) for node, watching in watchers(module).items() if not range_of(watching).has_range
    ]


def check_calibrated(module: GraphModule) -> None:
    """Raise `QuantizationError`, with their names, where values have no range: observers saw none, or keep none."""
    made = kept_plan(module)
    for node in module.graph.nodes:
        one: Any = module.get_submodule(str(node.target)) if node.op == "call_module" else None
        if isinstance(one, RecordingObserver):
            raise no_range(str(node.args[0]), "value", one, "values")
        if node in made.coded and made.said[node].way == "layer":
            require_ranges([(str(node.target), one)])
    missing = uncalibrated(module)
    if missing:
        watching = [range_of(one) for node, one in watchers(module).items() if str(node.args[0]) in missing]
        raise QuantizationError(
            f"{seen_nothing(missing, watching)}. Call the prepared model with some data before convert_fx"
        )


def watch_weights(module: GraphModule, made: Plan) -> None:
    """Give the layers that will be integer ones an observer of their weight, and show it to it, in place."""
    for node in made.coded:
        layer: Any = module.get_submodule(str(node.target)) if made.said[node].way == "layer" else None
        if layer is None or hasattr(layer, "weight_fake_quant") or hasattr(layer, "weight_post_process"):
            continue
        config = made.configs[node]
        if config.weight is None:
            raise QuantizationError(
                f"the qconfig of {node.target} has no observer for its weight: set one, such as "
                "wb.quantization.default_qconfig"
            )
        watching = weight_observer(config, float_layer(layer))
        if without_range(watching):
            raise no_range(str(node.target), type(layer).__name__, range_of(watching), "weight")
        layer.weight_post_process = watching
        show_weight(layer)


def show_weight(layer: Any) -> None:
    """Show a weight, as it is now, to its observer; what that saw before is forgotten."""
    weight = float_layer(layer).weight.detach()
    if hasattr(layer, "weight_fake_quant"):
        # In training it decides itself what it keeps, and whether it still observes.
        layer.weight_fake_quant(weight)
        return
    observer = observer_of(layer, "weight_post_process")
    observer.reset()
    observer(weight)


def to_codes(module: GraphModule, made: Plan) -> dict[str, str]:
    """Swap layers, quantize what was observed and dequantize where codes are not taken, in place.

    Return the paths of the parts that got a scale, each with the path of the observer that it came from.
    """
    watching = watchers(module)
    codes: set[Node] = {node for node in made.coded if made.said[node].way in ("native", "custom")}
    table = get_default_static_quant_module_mappings()
    sources: dict[str, str] = {}
    swapped = {node for node in made.coded if made.said[node].way == "layer"} | _computed(module, made)
    for node in swapped:
        path = str(node.target)
        if node in made.floating:
            if not isinstance(module.get_submodule(path), QuantizedModule):
                floating: Any = module.get_submodule(path)
                show_weight(floating)
                module.set_submodule(path, table[type(floating)].with_float_results(floating))
            continue
        codes.add(node)
        if path not in sources:
            sources[path] = str(node.meta[OBSERVER])
            layer: Any = module.get_submodule(path)
            layer.activation_post_process = module.get_submodule(sources[path])
            if made.said[node].way == "layer":
                show_weight(layer)
            module.set_submodule(path, table[type(layer)].from_float(layer))
    sources.update(lower_calls(module, made, watching, codes, swapped))
    for node, one in watching.items():
        (value,) = node.args
        if value in codes:
            node.replace_all_uses_with(value)
        else:
            quantizing = _quantize(module, node, value, one)
            sources[str(quantizing.target)] = str(node.target)
            codes.add(quantizing)
        module.graph.erase_node(node)
    _dequantize(module, made, codes, swapped)
    _swap_rest(module, made)
    # A calibration is that of the prepared graph.
    module.__dict__.pop("calibration", None)
    forget_plan(module)
    module.delete_all_unused_submodules()
    module.graph.lint()
    module.recompile()
    return sources


def _computed(module: GraphModule, made: Plan) -> set[Node]:
    """Return the calls of layers without a weight in codes that have an integer form: of those called once."""
    calls = Counter(str(node.target) for node in module.graph.nodes if node.op == "call_module")
    return {
        node
        for node in made.coded - made.inner
        if made.said[node].way == "computed"
        and node.op == "call_module"
        and type(module.get_submodule(str(node.target))) in COMPUTED
        and calls[str(node.target)] == 1
        and OBSERVER in node.meta
    }


def _quantize(module: GraphModule, node: Node, value: Any, watching: Any) -> Node:
    path = new_path(module, f"quantize_{value.name}")
    module.add_submodule(path, quantized.Quantize.from_float(range_of(watching)))
    with module.graph.inserting_before(node):
        made = module.graph.call_module(path, (value,))
    # Who takes no codes takes the value itself, and loses nothing.
    node.replace_all_uses_with(made)
    return made


def _dequantize(module: GraphModule, made: Plan, codes: set[Node], swapped: set[Node]) -> None:
    numbers: dict[Node, Node] = {}
    for node in [*module.graph.nodes]:
        said = made.said.get(node)
        plain = said is None or said.way == "other"
        takes_codes = (
            node in swapped
            or (node in made.coded and said is not None and said.way != "computed")
            or (plain and node.op != "output")
        )
        if takes_codes or (node in codes and said is None):
            continue
        kept = results_in_codes(node)
        for one in [*node.all_input_nodes]:
            if one not in codes or one in kept:
                continue
            if one not in numbers:
                with module.graph.inserting_after(one):
                    numbers[one] = module.graph.call_method("dequantize", (one,))
            node.replace_input_with(one, numbers[one])


def _swap_rest(module: GraphModule, made: Plan) -> None:
    """Swap layers that quantize what they take themselves, and tables."""
    dynamic = get_default_dynamic_quant_module_mappings()
    for node, config in made.configs.items():
        if config is None or node.op != "call_module" or node in made.coded:
            continue
        layer: Any = module.get_submodule(str(node.target))
        own = config.activation()
        scheme = str(getattr(config.weight(), "qscheme", "")) if config.weight is not None else ""
        table = isinstance(layer, TABLES) and scheme.endswith("float_qparams")
        if type(layer) in dynamic and (
            table or (getattr(own, "is_dynamic", False) and not isinstance(layer, TABLES))
        ):
            layer.qconfig = config
            module.set_submodule(str(node.target), dynamic[type(layer)].from_float(layer))
