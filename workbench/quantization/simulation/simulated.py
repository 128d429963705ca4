"""One graph of a model in which each layer can be in codes or not, without converting anything.

It is calibrated once. Then a run is told which layers are in codes, and with what weights: values are quantized where
the integer graph of that choice would quantize them, codes go through what takes codes, and the rest computes in
floating point on the numbers that codes stand for.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QuantizedArray
from workbench.core import dispatch
from workbench.core.value import Value
from workbench.fx import Interpreter, Node
from workbench.fx.node import map_aggregate
from workbench.nn import Module
from workbench.ops.quantized.quantize import DEQUANTIZE
from workbench.quantization.analysis import first_result
from workbench.quantization.batches import Batch
from workbench.quantization.graph_mode.observing import Plan, plan
from workbench.quantization.graph_mode.statements import Statement
from workbench.quantization.intrinsic.modules import weighted_layer
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.qconfig_mapping import QConfigMapping
from workbench.quantization.quantize_fx import configured_graph
from workbench.quantization.quantized.boundary import Quantize
from workbench.quantization.quantized.layers import quantize_weight
from workbench.quantization.weight_observers import weight_observer

__all__ = ["Part", "Simulated", "name_of"]

Array = np.ndarray[Any, Any]
Watch = Callable[[Node, Any], None]


class Part(NamedTuple):
    """What can be in codes or not: a layer with a weight, or a function whose result has a scale of its own."""

    name: str
    kind: str
    nodes: tuple[Node, ...]
    """Its calls: one, or several of one layer."""
    layer: Any
    """The layer with the weight; None for a function."""

    @property
    def node(self) -> Node:
        """Its first call."""
        return self.nodes[0]

    @property
    def weights(self) -> int:
        """How many numbers its weight has."""
        return 0 if self.layer is None else int(np.prod(self.layer.weight.shape, dtype=np.int64))


class _Run(Interpreter):
    """A run with a choice of what is in codes."""

    def __init__(
        self, owner: Simulated, made: Plan, weights: Mapping[Node, Any], watch: Watch | None, codes: bool
    ) -> None:
        super().__init__(owner.module)
        self.owner, self.made, self.weights, self.watch = owner, made, weights, watch
        # What is only clamped is quantized behind its clamp.
        self.observed = {made.clamped.get(node, node) for node in made.observed()} if codes else set()
        self.codes = codes
        self.plain: dict[Node, Any] = {}
        """Values that are no codes themselves, for what takes none."""

    def run_node(self, n: Node) -> Any:
        """Run one node, on codes or on numbers, and quantize its result where the choice has it so."""
        kept = {
            one: self.env[one] for one in n.all_input_nodes if one in self.plain and n not in self.made.coded
        }
        self.env.update({one: self.plain[one] for one in kept})
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        self.env.update(kept)
        said = self.made.said.get(n)
        native = self.codes and n in self.made.coded and said is not None and said.way == "native"
        if not native and not (said is not None and said.way == "other"):
            args, kwargs = map_aggregate(args, _numbers), map_aggregate(kwargs, _numbers)
        weight = self.weights.get(n)
        if weight is not None:
            result = self._with_weight(n, weight, args, kwargs)
        else:
            result = getattr(self, n.op)(n.target, args, kwargs)
        if self.watch is not None:
            self.watch(n, result)
        if n in self.observed:
            if n not in self.made.coded:
                self.plain[n] = result
            result = self.owner.quantized(n, result)
        return result

    def _with_weight(self, node: Node, weight: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        layer = weighted_layer(self.submodules[str(node.target)])
        before = layer.weight.payload
        layer.weight.payload = weight
        try:
            return self.call_module(node.target, args, kwargs)
        finally:
            layer.weight.payload = before


def _numbers(one: Any) -> Any:
    coded = isinstance(one, Value) and isinstance(one.payload, QuantizedArray)
    return DEQUANTIZE(one) if coded else one


class Simulated:
    """The graph of a model in use with the observers of every value that some choice may quantize.

    Raises `QuantizationError` for a model in training, and where nothing in it becomes codes.
    """

    def __init__(self, model: Module, mapping: QConfigMapping, batches: list[Batch]) -> None:
        self.given = mapping
        # What a graph does is seen on one sample.
        self.module, said, self.configs = configured_graph(model, mapping, batches[0].sample)
        self.said: dict[Node, Statement] = said
        self.full = self.plan(None)
        calls: dict[str, list[Node]] = {}
        for node in said:
            if node in self.full.coded and self.said[node].way in ("layer", "computed"):
                calls.setdefault(name_of(node), []).append(node)
        self.parts = [
            Part(name, self._kind(nodes[0]), tuple(nodes), self._layer(nodes[0]))
            for name, nodes in calls.items()
        ]
        if not any(part.layer is not None for part in self.parts):
            raise QuantizationError(
                "the model has no layer that becomes codes: there is nothing to quantize. Linear layers and "
                "convolutions do, where the mapping has a qconfig for them"
            )
        self._observers: dict[tuple[Node, bool], ObserverBase] = {}
        self._quantizers: dict[tuple[tuple[Node, bool], int], Quantize] = {}
        self._codes: dict[tuple[Node, Any], Any] = {}
        self.calibrate(batches)

    def _kind(self, node: Node) -> str:
        if node.op == "call_module":
            return type(self.module.get_submodule(str(node.target))).__name__
        return str(getattr(node.target, "__name__", None) or getattr(node.target, "name", node.target))

    def _layer(self, node: Node) -> Any:
        weighted = node.op == "call_module" and self.said[node].way == "layer"
        return weighted_layer(self.module.get_submodule(str(node.target))) if weighted else None

    def plan(self, chosen: set[Node] | None) -> Plan:
        """Return what becomes of each node where `chosen` are in codes, and what only moves codes beside them."""
        configs = {
            node: config
            for node, config in self.configs.items()
            if chosen is None or node in chosen or self.said[node].way not in ("layer", "computed")
        }
        return plan(dict(self.said), configs)

    def points(self) -> list[Node]:
        """Return the values that are quantized where everything is in codes, in order."""
        full = self.full
        return [full.clamped.get(node, node) for node in full.observed() if node not in full.inner]

    def source(self, point: Node) -> Node:
        """Return the node whose value it is: a point behind a clamp is that of what is clamped."""
        clamped = {after: node for node, after in self.full.clamped.items()}
        inner = [node for node in point.all_input_nodes if node in self.full.inner]
        return clamped.get(point, inner[0] if inner else point)

    def part_of(self, point: Node) -> Part | None:
        """Return the part whose value a point is; None where it is that of none."""
        node = self.source(point)
        return next((part for part in self.parts if node in part.nodes), None)

    def __getitem__(self, name: str) -> Part:
        return next(part for part in self.parts if part.name == name)

    # ------------------------------------------------------------------------------------------- ranges

    def calibrate(self, batches: list[Batch]) -> None:
        """Show all values to their observers."""

        def watch(node: Node, result: Any) -> None:
            observer = self.observer(node)
            if observer is not None and isinstance(result, Value):
                observer(result)

        for batch in batches:
            self.run(batch.arguments, watch=watch)

    def observer(self, node: Node) -> ObserverBase | None:
        """Return the observer of a value; None for what shares another's, and for what is no number."""
        own = self.said.get(node)
        if own is None or not own.floating or node.op == "get_attr":
            return None
        if node in self.full.clamped.values():
            return self.shared_observer(node)
        # Before its clamp a layer's values are observed for choices that leave the layer in floating point.
        moved = node in self.full.coded and self.full.said[node].way == "native"
        if moved and self.full.said[node].travels != "own":
            return None
        return self.shared_observer(node)

    def shared_observer(self, node: Node) -> ObserverBase:
        """Return the observer whose scale a value gets, its own or that of those that it shares one with."""
        group = self._key(node)
        if group not in self._observers:
            takers = [self.full.group(node), node, *node.users, *self.configs]
            made: Any = next(self._activation(one) for one in takers if self._activation(one) is not None)()
            self._observers[group] = made
        return self._observers[group]

    def _key(self, node: Node) -> tuple[Node, bool]:
        """Return what stands for all values that share a scale; a layer's before its clamp are apart."""
        apart = node in self.full.clamped
        return (node if apart else self.full.group(node)), apart

    def _activation(self, node: Node) -> Any:
        config = self.configs.get(node)
        return config.activation if config is not None and node in self.full.coded else None

    def quantized(self, node: Node, value: Any) -> Any:
        """Return a value as codes under the range of its observer."""
        observer = self.shared_observer(node)
        key = self._key(node), observer.version
        if key not in self._quantizers:
            self._quantizers[key] = Quantize.from_float(observer)
        return self._quantizers[key](value)

    def weight(self, part: Part, config: Any = None) -> Any:
        """Return the weight of a layer as codes, by its own qconfig or another."""
        config = self.configs[part.node] if config is None else config
        key = part.node, config
        if key not in self._codes:
            observer = weight_observer(config, part.layer)
            observer(part.layer.weight.detach())
            self._codes[key] = quantize_weight(part.layer.weight, observer)
        return self._codes[key]

    # ------------------------------------------------------------------------------------------ running

    def run(
        self,
        inputs: Any,
        chosen: Mapping[str, Any] | None = None,
        *,
        watch: Watch | None = None,
    ) -> Any:
        """Return the output where the parts in `chosen` are in codes, each by a qconfig (None: its own)."""
        picked = {node: part for part in self.parts if chosen and part.name in chosen for node in part.nodes}
        made = self.plan(set(picked))
        weights = {
            node: DEQUANTIZE(self.weight(part, (chosen or {})[part.name])).payload
            for node, part in picked.items()
            if part.layer is not None
        }
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        with dispatch.no_grad():
            found = _Run(self, made, weights, watch, codes=chosen is not None).run(*given)
        return map_aggregate(found, _numbers)

    def outputs(self, batches: list[Batch], chosen: Mapping[str, Any] | None = None) -> list[Any]:
        """Return the model's output for each batch; of several results the first."""
        return [first_result(self.run(batch.arguments, chosen)) for batch in batches]

    def everything(self) -> dict[str, Any]:
        """Return the choice of all parts, each by its own qconfig."""
        return dict.fromkeys(part.name for part in self.parts)

    # ------------------------------------------------------------------------------------------ choices

    def mapping(self, chosen: Mapping[str, Any]) -> QConfigMapping:
        """Return the mapping that puts the parts in `chosen` into codes, and leaves the other parts."""
        made = copy.deepcopy(self.given)
        for part in self.parts:
            config = chosen.get(part.name, False)
            config = None if config is False else self.configs[part.node] if config is None else config
            path, inside, kind, index = part.node.meta["place"]
            if part.node.op == "call_module" and "function" not in part.node.meta:
                made.set_module_name(path, config)
            else:
                made.set_module_name_object_type_order(inside, kind, index, config)
        return made


def name_of(node: Node) -> str:
    """Return the path of the layer that a node calls, or its own name."""
    layer = node.op == "call_module" and "function" not in node.meta
    return str(node.target) if layer else node.name
