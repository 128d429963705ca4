"""What has weights and stays in floating point in the integer model, why, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.base.number_format import byte_figure
from workbench.core.op import ops
from workbench.core.quantization import Quantization
from workbench.fx import Node
from workbench.quantization.graph_mode.layers import held
from workbench.quantization.mappings import TABLES, WEIGHTED, get_default_dynamic_quant_module_mappings
from workbench.quantization.simulation.simulated import Simulated, name_of

__all__ = ["LeftInFloat", "left_in_float"]


@dataclass(frozen=True)
class LeftInFloat:
    """A layer, or a function with weights, that the integer model computes in floating point with all of its bytes."""

    name: str
    kind: str
    size: int
    """Bytes of its weights."""
    reason: str
    action: str
    """What to do, or to write."""

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, {byte_figure(self.size)}): {self.reason}; {self.action}"


def left_in_float(simulated: Simulated, integer: Any) -> list[LeftInFloat]:
    """Return what `integer`, made of the graph that is simulated, computes with weights in floating point."""
    found: dict[str, LeftInFloat] = {}
    for node in simulated.module.graph.nodes:
        name, size = name_of(node), _bytes(simulated, node)
        said = simulated.full.said.get(node)
        in_codes = node in simulated.full.coded and said is not None and said.way == "layer"
        if not size or in_codes or name in found:
            continue
        layer = simulated.module.get_submodule(str(node.target)) if node.op == "call_module" else None
        # What quantizes its input in each call, and tables, were swapped for layers that do.
        if layer is not None and type(integer.get_submodule(str(node.target))) is not type(layer):
            continue
        kind = str(getattr(node.target, "__name__", node.target)) if layer is None else type(layer).__name__
        found[name] = LeftInFloat(name, kind, size, *_why(node, name, layer))
    return list(found.values())


def _bytes(simulated: Simulated, node: Node) -> int:
    """Return the bytes of the weights that a node multiplies with: matrices, and what has more dims."""
    if node.op == "call_module":
        weights: Any = simulated.module.get_submodule(str(node.target)).parameters()
    elif any(_is_weighted(name) for name in simulated.said[node].ops):
        weights = (held(simulated.module, one) for one in node.all_input_nodes)
    else:
        weights = ()
    return sum(int(one.payload.nbytes) for one in weights if one is not None and one.ndim > 1)


def _is_weighted(name: str) -> bool:
    stated = getattr(ops, name).quantized
    return isinstance(stated, Quantization) and stated.travels == "weighted"


def _why(node: Node, name: str, layer: Any) -> tuple[str, str]:
    """Return why something stays in floating point, and what to do."""
    if layer is not None and node.meta.get("qconfig") is None:
        function = "function" in node.meta
        place = "set_global(" if function else f"set_module_name({name!r}, "
        return (
            "the mapping has no qconfig for it",
            f"mapping.{place}wb.quantization.get_default_qconfig()) gives it one",
        )
    kind = type(layer)
    if kind in TABLES:
        return (
            "a table of rows is quantized row by row",
            f"mapping.set_object_type(wb.nn.{kind.__name__}, wb.quantization.float_qparams_weight_only_qconfig) says "
            "so",
        )
    if kind in WEIGHTED:
        return (
            "its qconfig asks for no codes of values",
            f"mapping.set_module_name({name!r}, wb.quantization.get_default_qconfig()) does",
        )
    if kind in get_default_dynamic_quant_module_mappings():
        return (
            "it has no integer form by calibration",
            f"mapping.set_object_type(wb.nn.{kind.__name__}, wb.quantization.default_dynamic_qconfig) quantizes its "
            "weights ahead and its values in each call",
        )
    return (
        "no integer form of it is known",
        "what it does written with linear layers and convolutions would have one",
    )
