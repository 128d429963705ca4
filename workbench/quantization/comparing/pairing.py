"""Which nodes of two graphs of one model belong together: by the path of their module, or the name of their node."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.core.absent import Absent
from workbench.core.op import Op, ops
from workbench.core.quantization import MOVED, PLACED, SEEN
from workbench.fx import GraphModule, Node, Tracer
from workbench.nn import Module, ReLU, functional
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.mappings import rectified
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.quantized.boundary import DeQuantize, Quantize
from workbench.quantization.quantized.functional_modules import QFunction

__all__ = [
    "NSTracer",
    "Place",
    "entry",
    "graph_of",
    "kind_of",
    "module_of",
    "pairs",
    "twin",
    "without_observers",
]

_UNLIKE = (ObserverBase, FakeQuantizeBase, Quantize, DeQuantize)
_RECTIFIERS = (functional.relu, "relu", "relu_")


class NSTracer(Tracer):
    """Traces a model that is no graph yet; layers on codes and observers are called whole."""

    def __init__(self, skipped_module_names: list[str] = [], skipped_module_classes: list[type] = []) -> None:  # noqa: B006  as in PyTorch, and nobody writes into them
        super().__init__()
        self.skipped = frozenset(skipped_module_names), tuple(skipped_module_classes)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Say whether a module is called whole."""
        own = type(m).__module__.startswith("workbench.quantization.")
        named = module_qualified_name in self.skipped[0] or isinstance(m, self.skipped[1])
        return own or named or super().is_leaf_module(m, module_qualified_name)


def graph_of(model: Any) -> GraphModule:
    if isinstance(model, GraphModule):
        return model
    return GraphModule(model, NSTracer().trace(model))


def twin(model: Any) -> GraphModule:
    """Return the same graph on the same tensors, in which another node changes nothing of `model`."""
    made = graph_of(model)
    held = {id(one): one for one in (*made.parameters(), *made.buffers())}
    return copy.deepcopy(made, held)


def module_of(graph: GraphModule, node: Node) -> Any:
    return graph.get_submodule(str(node.target)) if node.op == "call_module" else None


@dataclass(frozen=True)
class Place:
    """What is compared of a graph: the node that begins it, and the one that gives its result."""

    start: Node
    end: Node

    def kind(self, graph: GraphModule) -> str:
        """Return the type of the module that is called, or the function, in words."""
        return kind_of(graph, self.start)


def kind_of(graph: GraphModule, node: Node) -> str:
    own = module_of(graph, node)
    one: Any = type(own) if own is not None else node.target
    name = getattr(one, "__qualname__", getattr(one, "name", str(one)))
    room = getattr(one, "__module__", "")
    return f"{room}.{name}" if room and not isinstance(one, str) else str(name)


def _is_compared(graph: GraphModule, node: Node) -> bool:
    if node.op == "call_module":
        return not isinstance(module_of(graph, node), _UNLIKE)
    if node.op not in ("call_function", "call_method"):
        return False
    name = getattr(node.target, "name", None) or getattr(node.target, "__name__", str(node.target))
    op = (
        node.target if isinstance(node.target, Op) else getattr(ops, name, None) if name in dir(ops) else None
    )
    return name not in ("getitem", "dequantize", "size", "getattr") and not _moves(op)


def _moves(op: Op | None) -> bool:
    """Say whether an op only moves values."""
    return op is not None and not isinstance(op.quantized, Absent) and op.quantized in (MOVED, PLACED, SEEN)


def _places(graph: GraphModule) -> dict[str, Place]:
    """Return what can be compared by what tells it: the path of a module, or the name of a node; calls are counted."""
    found: dict[str, Place] = {}
    for node in graph.graph.nodes:
        if not _is_compared(graph, node):
            continue
        # Codes of what is computed between them are made behind it.
        coded = [user for user in node.users if isinstance(module_of(graph, user), Quantize)]
        words = [str(node.target)] if node.op == "call_module" else []
        # An op on codes may have been a module or a function.
        if not words or isinstance(module_of(graph, node), QFunction):
            words.append(f" {node.name}")
        for word in words:
            count = sum(one == word or one.startswith(f"{word} ") for one in found)
            found[f"{word} {count}" if count else word] = Place(node, coded[0] if coded else node)
    return found


def _ends_rectified(graph: GraphModule, node: Node) -> bool:
    own = module_of(graph, node)
    return own is not None and (bool(getattr(own, "relu", False)) or rectified(type(own)) is not None)


def _rectifier(graph: GraphModule, node: Node) -> Node | None:
    """Return the rectifier that alone reads a node."""
    readers = [one for one in node.users if not isinstance(module_of(graph, one), _UNLIKE)]
    if len(readers) != 1:
        return None
    (after,) = readers
    known = (
        isinstance(module_of(graph, after), ReLU) or after.target in _RECTIFIERS or after.target is ops.relu
    )
    return after if known else None


def pairs(a: GraphModule, b: GraphModule) -> list[tuple[Place, Place]]:
    """Return what belongs together of two graphs, in the order of the second."""
    ours, theirs = _places(a), _places(b)
    found: list[tuple[Place, Place]] = []
    for word, other in theirs.items():
        own = ours.get(word)
        if own is None or (found and found[-1][1].start is other.start):
            continue
        # What one has joined with its rectifier ends behind that of the other.
        if _ends_rectified(b, other.start) and not _ends_rectified(a, own.start):
            own = Place(own.start, _rectifier(a, own.start) or own.end)
        elif _ends_rectified(a, own.start) and not _ends_rectified(b, other.start):
            other = Place(other.start, _rectifier(b, other.start) or other.end)
        found.append((own, other))
    if not found:
        raise QuantizationError(
            "the two graphs have no node in common: compare a model with its own integer form"
        )
    return found


def entry(graph: GraphModule, place: Place) -> dict[str, Any]:
    kind = place.kind(graph)
    return {
        "prev_node_name": place.end.name, "prev_node_target_type": kind_of(graph, place.end),
        "ref_node_name": place.start.name, "ref_node_target_type": kind, "index_within_arg": 0, "index_of_arg": 0,
        "fqn": str(place.start.target) if place.start.op == "call_module" else "",
    }  # fmt: skip


def without_observers(graph: GraphModule) -> GraphModule:
    for node in [*graph.graph.nodes]:
        if isinstance(module_of(graph, node), ObserverBase | FakeQuantizeBase):
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    return graph
