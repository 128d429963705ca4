"""What is observed in a prepared graph, and its integer form built once and brought up to date."""

from __future__ import annotations

import copy
from typing import Any

from workbench.fx import GraphModule, Node
from workbench.quantization.fake_quantize import ObservingFakeQuantize
from workbench.quantization.graph_mode.converting import to_codes, uncalibrated, watchers
from workbench.quantization.graph_mode.observing import OBSERVER, is_prepared, kept_plan
from workbench.quantization.observed import observer_of, range_of
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.points import Point
from workbench.quantization.quantized.layers import renew

__all__ = ["PreparedGraph", "is_prepared"]


class PreparedGraph:
    """A graph with observers, as `prepare_fx` and `prepare_qat_fx` make it.

    A point is named by the layer that it watches (``conv1.output``, ``conv1.weight``), by the node of a function
    (``add_1.output``), or is ``input`` (``input.x``, ``input.y`` where there are several).
    """

    ordered = True

    def __init__(self, model: GraphModule) -> None:
        self.model = model
        self._parts: dict[str, str] = {}

    def points(self) -> list[Point]:
        """Return the observed points in the order of the graph, a weight before its output."""
        model = self.model
        watching = watchers(model)
        coded = kept_plan(model).coded
        inputs = {node.args[0] for node in watching if node.args[0].op == "placeholder"}
        sharing: dict[str, list[str]] = {}
        for node in model.graph.nodes:
            if OBSERVER in node.meta:
                sharing.setdefault(node.meta[OBSERVER], []).append(node.name)
        found: dict[str, Point] = {}
        for node in model.graph.nodes:
            path = str(node.target)
            if node in coded and node.op == "call_module" and _weight_slot(model, path) not in (None, *found):
                point = self._weight(node, path)
                found[point.slot] = point
            observer = range_of(watching[node]) if node in watching else None
            if path not in found and isinstance(observer, ObserverBase):
                value = node.args[0]
                layer = str(value.target) if value.op == "call_module" else ""
                name = _name(value, layer, len(inputs) > 1)
                found[path] = Point(name, observer, path, None, layer, tuple(sharing.get(path, ())))
        return _unlike(list(found.values()))

    def _weight(self, node: Node, path: str) -> Point:
        layer: Any = self.model.get_submodule(path)
        nodes = tuple(
            one.name for one in self.model.graph.nodes if one.op == node.op and str(one.target) == path
        )
        slot = _weight_slot(self.model, path)
        assert slot is not None
        held: Any = layer
        # A fused layer in floating point shows the weight of its first part.
        held = held if hasattr(layer, "weight") else layer[0]
        return Point(f"{path}.weight", observer_of(layer, "weight_post_process"), slot, held, path, nodes)

    def missing(self) -> list[str]:
        """Return the names of the values that have seen nothing."""
        return uncalibrated(self.model)

    def integer(self) -> Any:
        """Return the graph on codes."""
        made = copy.deepcopy(self.model).eval()
        self._parts = to_codes(made, kept_plan(made))
        return made

    def integer_place(self, point: Point) -> str | None:
        """Return the path of the module that has the scale of `point`."""
        return next((part for part, watching in self._parts.items() if watching == point.slot), None)

    def refresh(self, converted: Any, stale: set[str], twin: Any) -> None:
        """Bring scales up to date, and the layers at the paths in `stale`, with the weights of `twin`."""
        for part, watching in self._parts.items():
            converted.get_submodule(part).set_output(range_of(self.model.get_submodule(watching)))
        for path in stale:
            renew(*(one.get_submodule(path) for one in (converted, self.model, twin)))


def _weight_slot(model: Any, path: str) -> str | None:
    layer = model.get_submodule(path)
    for child in ("weight_post_process", "weight_fake_quant"):
        watching = getattr(layer, child, None)
        if isinstance(watching, ObserverBase | ObservingFakeQuantize):
            return f"{path}.{child}"
    return None


def _name(value: Node, layer: str, several: bool) -> str:
    if value.op == "placeholder":
        return f"input.{value.name}" if several else "input"
    return f"{layer or value.name}.output"


def _unlike(points: list[Point]) -> list[Point]:
    """Tell points of one name apart: a layer and a function may be called alike."""
    counts: dict[str, int] = {}
    found = []
    for point in points:
        count = counts[point.name] = counts.get(point.name, 0) + 1
        found.append(point if count == 1 else _renamed(point, f"{point.name}_{count}"))
    return found


def _renamed(point: Point, name: str) -> Point:
    return Point(name, point.observer, point.slot, point.layer, point.path, point.nodes)
