"""Parts of a graph that a configuration names: modules of people's own, modules by themselves, borders in codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.fx import GraphModule, Node
from workbench.quantization.custom_config import (
    ConvertCustomConfig,
    PrepareCustomConfig,
    QuantType,
    StandaloneModuleConfigEntry,
    check_places,
)
from workbench.quantization.graph_mode.observing import BORDER, is_prepared, results
from workbench.quantization.graph_mode.statements import CUSTOM, Statement

__all__ = [
    "check_parts",
    "convert_parts",
    "observe_parts",
    "prepare_alone",
    "state_borders",
]

_ALONE = "prepared alone"
"""Under which name the meta of a node says that its module was prepared by itself."""


def check_parts(paths: Iterable[str], custom: PrepareCustomConfig) -> None:
    """Raise `QuantizationError` for a path that no module has."""
    known = [path for path in paths if path]
    for name in (*custom.non_traceable_module_names, *custom.standalone_module_names):
        if name not in known:
            near = near_miss(name, known)
            raise QuantizationError(
                f"PrepareCustomConfig names {name!r}, and there is no module of that name"
                + (f": did you mean {near!r}?" if near else "")
            )


def _calls(module: GraphModule) -> list[tuple[Node, str, Any]]:
    """Return the calls of modules with the paths and the modules, each module once."""
    found = {str(node.target): node for node in reversed(module.graph.nodes) if node.op == "call_module"}
    return [(node, path, module.get_submodule(path)) for path, node in found.items()]


def observe_parts(module: GraphModule, custom: PrepareCustomConfig) -> None:
    """Put observed modules in the place of those that the configuration names, in place."""
    swaps = custom.float_to_observed_mapping
    for node, path, one in _calls(module):
        config = node.meta.get("qconfig")
        for kind in (QuantType.QAT,) if module.training else (QuantType.STATIC, QuantType.DYNAMIC):
            made = swaps.get(kind, {}).get(type(one))
            if made is None or config is None:
                continue
            one.qconfig = config
            observed: Any = made
            module.set_submodule(path, observed.from_float(one).train(module.training))
            for other in module.graph.nodes:
                if other.op == "call_module" and str(other.target) == path:
                    other.meta[CUSTOM] = kind.name
    module.recompile()


def prepare_alone(
    module: GraphModule, custom: PrepareCustomConfig, mapping: Any, backend: Any, prepare: Callable[..., Any]
) -> None:
    """Prepare modules by themselves that the configuration names so, in place."""
    for node, path, one in _calls(module):
        entry: StandaloneModuleConfigEntry | None = custom.standalone_module_names.get(path)
        entry = custom.standalone_module_classes.get(type(one)) if entry is None else entry
        if entry is None:
            continue
        configs = mapping if entry.qconfig_mapping is None else entry.qconfig_mapping
        settings = {
            "prepare_custom_config": entry.prepare_custom_config,
            "backend_config": backend if entry.backend_config is None else entry.backend_config,
        }
        module.set_submodule(path, prepare(one, configs, entry.example_inputs, **settings))
        node.meta[_ALONE] = True
    module.recompile()


def state_borders(said: dict[Node, Statement], custom: PrepareCustomConfig) -> None:
    """Have inputs be codes, and note which results stay such."""
    inputs = [node for node in said if node.op == "placeholder"]
    check_places(custom.input_quantized_indexes, len(inputs), "input")
    for place in custom.input_quantized_indexes:
        said[inputs[place]] = Statement("native", "own", border=True)
    (last,) = (node for node in said if node.op == "output")
    check_places(custom.output_quantized_indexes, len(results(last)), "result")
    last.meta[BORDER] = tuple(custom.output_quantized_indexes)


def convert_parts(module: GraphModule, custom: ConvertCustomConfig, convert: Callable[..., Any]) -> None:
    """Swap observed modules for quantized ones, and convert what was prepared by itself, in place.

    Raises `QuantizationError` for an observed module that the configuration does not name.
    """
    for node, path, one in _calls(module):
        if node.meta.get(_ALONE) and is_prepared(one):
            module.set_submodule(path, convert(one))
        if CUSTOM not in node.meta:
            continue
        made = custom.observed_to_quantized_mapping.get(QuantType[node.meta[CUSTOM]], {}).get(type(one))
        if made is None:
            raise QuantizationError(
                f"{path} is a {type(one).__name__}, and nothing says what it becomes: "
                "ConvertCustomConfig().set_observed_to_quantized_mapping does"
            )
        quantized: Any = made
        module.set_submodule(path, quantized.from_observed(one).eval())
