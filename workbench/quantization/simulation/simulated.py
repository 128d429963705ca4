"""One graph of a model in which each layer can be in codes or not, without converting anything.

It is calibrated once. Then a run is told which layers are in codes, and with what weights: values are quantized where
the integer graph of that choice would quantize them, codes go through what takes codes, and the rest computes in
floating point on the numbers that codes stand for.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
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
from workbench.quantization.analysis import results_of
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


class Scale(NamedTuple):
    """What a scale is of: it depends on the choice which values share one, and who has a say."""

    nodes: tuple[Node, ...]
    activation: Callable[[], ObserverBase]


def _scales(made: Plan) -> dict[Node, Scale]:
    """Return the scale of each value that is quantized; what is only clamped is quantized behind its clamp."""
    found: dict[Node, Scale] = {}
    for nodes in made.sharing().values():
        seen = tuple(made.clamped.get(node, node) for node in nodes)
        found.update(dict.fromkeys(seen, Scale(seen, made.activation(nodes[0]))))
    return found


class _Run(Interpreter):
    """A run with a choice of what is in codes."""

    def __init__(
        self, owner: Simulated, made: Plan, weights: Mapping[Node, Any], watch: Watch | None, codes: bool
    ) -> None:
        super().__init__(owner.module)
        self.owner, self.made, self.weights, self.watch = owner, made, weights, watch
        self.scales = owner.scales(made) if codes else {}
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
        if n in self.scales:
            if n not in self.made.coded:
                self.plain[n] = result
            result = self.owner.quantized(self.scales[n], result)
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
        self.given, self.batches = mapping, batches
        # What a graph does is seen on one sample.
        self.module, said, self.configs = configured_graph(model, mapping, batches[0].sample)
        self.said: dict[Node, Statement] = said
        self._plans: dict[frozenset[Node] | None, Plan] = {}
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
        self._observers: dict[Scale, ObserverBase] = {}
        self._quantizers: dict[tuple[Scale, int], Quantize] = {}
        self._codes: dict[tuple[Node, Any], Any] = {}
        # What is asked for first is seen in one pass over the data.
        alone = [self.plan(frozenset(part.nodes)) for part in self.parts]
        self._calibrate(one for made in (self.full, *alone) for one in _scales(made).values())

    def _kind(self, node: Node) -> str:
        if node.op == "call_module":
            return type(self.module.get_submodule(str(node.target))).__name__
        return str(getattr(node.target, "__name__", None) or getattr(node.target, "name", node.target))

    def _layer(self, node: Node) -> Any:
        weighted = node.op == "call_module" and self.said[node].way == "layer"
        return weighted_layer(self.module.get_submodule(str(node.target))) if weighted else None

    def plan(self, chosen: frozenset[Node] | None) -> Plan:
        """Return what becomes of each node where `chosen` are in codes, and what only moves codes beside them."""
        if chosen not in self._plans:
            configs = {
                node: config
                for node, config in self.configs.items()
                if chosen is None or node in chosen or self.said[node].way not in ("layer", "computed")
            }
            self._plans[chosen] = plan(dict(self.said), configs)
        return self._plans[chosen]

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

    def _calibrate(self, scales: Iterable[Scale]) -> None:
        """Show their values to the observers of these scales."""
        watching: dict[Node, list[ObserverBase]] = {}
        for scale in scales:
            if scale not in self._observers:
                self._observers[scale] = scale.activation()
                for node in scale.nodes:
                    watching.setdefault(node, []).append(self._observers[scale])

        def watch(node: Node, result: Any) -> None:
            for observer in watching.get(node, ()):
                observer(result)

        for batch in self.batches if watching else ():
            self.run(batch.arguments, watch=watch)

    def scales(self, made: Plan) -> dict[Node, Scale]:
        """Return the values that are quantized in a choice, each with its scale, whose range is known then."""
        found = _scales(made)
        self._calibrate(found.values())
        return found

    def observer(self, point: Node) -> ObserverBase:
        """Return the observer of a point, with all that shares its scale, where everything is in codes."""
        return self._observers[_scales(self.full)[point]]

    def quantized(self, scale: Scale, value: Any) -> Any:
        """Return a value as codes under the range of a scale's observer."""
        observer = self._observers[scale]
        key = scale, observer.version
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
        made = self.plan(frozenset(picked))
        weights = {
            node: DEQUANTIZE(self.weight(part, (chosen or {})[part.name])).payload
            for node, part in picked.items()
            if part.layer is not None
        }
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        with dispatch.no_grad():
            found = _Run(self, made, weights, watch, codes=chosen is not None).run(*given)
        return map_aggregate(found, _numbers)

    def outputs(
        self, batches: list[Batch], chosen: Mapping[str, Any] | None = None
    ) -> list[tuple[Value, ...]]:
        """Return what the model gives for each batch: one result or several."""
        return [results_of(self.run(batch.arguments, chosen)) for batch in batches]

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
