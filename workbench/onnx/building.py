"""Building the graph of a file: its nodes become calls by name, its blocks blocks, its tensors what a module holds."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from workbench.base.dtypes import dtype_of, int64
from workbench.base.errors import short
from workbench.graph import Block, Graph, GraphError, Node, Value, called, named
from workbench.graph.spec import DEEPEST
from workbench.graph.types import ANY, type_of
from workbench.nn import Module
from workbench.onnx import control
from workbench.onnx.attributes import attributes_of
from workbench.onnx.errors import OnnxError
from workbench.onnx.holding import hold, identifier
from workbench.onnx.reading import Model
from workbench.onnx.signatures import Signature, signature
from workbench.onnx.table import DOMAINS, Version, find
from workbench.onnx.tensors import NIBBLES, shape_of, tensor_of
from workbench.onnx.values import MOST_INTEGERS, is_floating
from workbench.tensor import Tensor

__all__ = ["MOST_NODES", "Builder"]

MOST_NODES = 250_000
"""Most nodes of a graph, those of its blocks and of the functions that it calls counted at each call."""

Scope = ChainMap[str, Any]

_CONSTANTS: dict[str, Callable[[Any], bool]] = {
    "value_float": lambda one: isinstance(one, float),
    "value_floats": lambda one: isinstance(one, list) and all(isinstance(each, float) for each in one),
    "value_int": lambda one: isinstance(one, int),
    "value_ints": lambda one: isinstance(one, list) and all(isinstance(each, int) for each in one),
}
"""What a constant may be beside a tensor, and what it then is."""


class _Waiting:
    """A tensor of the file that nothing has read so far: who reads it first says what it is."""

    def __init__(self, proto: Any) -> None:
        self.proto = proto


class Builder:
    """Writes the graph of a model, and puts its tensors into `module`."""

    def __init__(self, model: Model, module: Module) -> None:
        self.model = model
        self.module = module
        self.graph = Graph(name=identifier(model.proto.graph.name, "graph")[:60])
        self.unknown: Counter[str] = Counter()
        """How many nodes there are of each operator that is not known."""
        self.narrow: set[str] = set()
        """Tensors of the file that are whole numbers of 4 bits there, and of 8 here."""
        self.places: dict[str, Value] = {}
        """What the values of the file's own graph are called in ours, by their names there and by those of nodes."""
        self._functions = {(one.domain, one.name, one.overload): one for one in model.proto.functions}
        self._count = 0
        self._depth = 0

    def build(self) -> Signature:
        """Write it all; return what the model takes and gives."""
        proto = self.model.proto.graph
        found = signature(proto)
        scope: Scope = ChainMap()
        for one in found.inputs:
            name = self.graph.fresh(identifier(one.name))
            value = Value(name, one.type(name))
            self.graph.inputs.append(value)
            scope[one.name] = self.places[one.name] = value
        self._body(proto, self.graph, scope, dict(self.model.versions), {})
        outputs = tuple(self._known(one.name, scope) for one in found.outputs)
        self.graph.outputs, self.graph.single = outputs, len(outputs) == 1
        for name in scope:
            if isinstance(scope[name], Value):
                self.places.setdefault(name, scope[name])
        return found

    # ------------------------------------------------------------------------------------------ blocks

    def block(
        self,
        proto: Any,
        scope: Scope,
        versions: dict[str, int],
        given: Mapping[str, Any],
        inputs: dict[str, Any],
    ) -> tuple[Block, tuple[Any, ...]]:
        """Return the block of a graph inside a node, and what it gives; `inputs` is what its own inputs are."""
        if self._depth >= DEEPEST - 2:
            raise OnnxError(f"blocks stand in blocks more than {DEEPEST - 2} deep")
        self._depth += 1
        made, inner = Block(), scope.new_child(dict(inputs))
        self._body(proto, made, inner, versions, given)
        self._depth -= 1
        return made, tuple(self._known(one.name, inner) for one in proto.output)

    def _body(
        self, proto: Any, block: Block, scope: Scope, versions: dict[str, int], given: Mapping[str, Any]
    ) -> None:
        for one in proto.initializer:
            shape_of(one)
            scope.maps[0][one.name] = _Waiting(one)
        if proto.sparse_initializer:
            raise OnnxError("it has sparse initializers: there are none of here")
        for node in proto.node:
            self._node(node, block, scope, versions, given)

    def _node(
        self, node: Any, block: Block, scope: Scope, versions: dict[str, int], given: Mapping[str, Any]
    ) -> None:
        self._count += 1
        if self._count > MOST_NODES:
            raise OnnxError(f"the graph has more than {MOST_NODES} nodes, functions counted at each call")
        try:
            results = self._results(node, block, scope, versions, given)
        except OnnxError as error:
            if str(error).startswith("node "):
                raise
            raise OnnxError(f"node {_label(node)}: {error}") from error
        # What the rules of the graph refuse, such as a condition that is none.
        except (GraphError, TypeError) as error:
            raise OnnxError(f"node {_label(node)}: {error}") from error
        for name, value in zip(node.output, results, strict=False):
            if not name:
                continue
            if name in scope.maps[0]:
                raise OnnxError(f"node {_label(node)}: something else makes {short(name)}, too")
            scope.maps[0][name] = value
        if block is self.graph and node.name and results and isinstance(results[0], Value):
            self.places.setdefault(node.name, results[0])

    def _results(
        self, node: Any, block: Block, scope: Scope, versions: dict[str, int], given: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Write what a node does, and return what its outputs are."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        attributes = attributes_of(node, given)
        local = self._functions.get((node.domain, node.op_type, node.overload))
        if local is not None:
            return self._call(local, node, block, scope, attributes)
        # Operators of a domain that is known here are read all the same: some tools forget to say it.
        if domain not in versions and (domain == "" or domain not in DOMAINS):
            return self._unknown(node, block, scope, f"the file names no version of {domain or 'ai.onnx'!r}")
        version = versions.get(domain, 1)
        if domain == "" and node.op_type == "Constant":
            return (self._constant(node, attributes),)
        if domain == "" and node.op_type in control.WRITERS:
            writer = control.Writing(self, node, block, scope, versions, given, attributes)
            return control.WRITERS[node.op_type](writer)
        known = find(node.op_type, domain, version)
        if known is None:
            return self._unknown(node, block, scope, "there is no such operator here")
        return self._known_operator(known, node, block, scope, attributes)

    def _known_operator(
        self, known: Version, node: Any, block: Block, scope: Scope, attributes: dict[str, Any]
    ) -> tuple[Any, ...]:
        names = _trimmed(node.input)
        known.check_inputs(len(names))
        known.check_attributes(attributes)
        inputs = [self.operand(name, scope, i in known.still) for i, name in enumerate(names)]
        if node.op_type == "QuantizeLinear" and names[2:] and names[2] in self.narrow:
            raise OnnxError("it makes whole numbers of 4 bits, which only tensors of the file may be here")
        params = {name: self._attribute(value) for name, value in attributes.items()}
        count = max(1, len(_trimmed(node.output)))
        if known.counts:
            params["outputs"] = count
        elif count > 1:
            raise OnnxError(f"it has {count} outputs, and the operator gives one")
        pair = _quantized_by(inputs) if node.op_type == "DequantizeLinear" else None
        if pair is None:
            return self.insert(known.name, inputs, block, node, count, params)
        # Whole numbers have no gradient: that of the pair goes past them.
        made = self.graph.insert(named(known.name), *inputs, types=(ANY,), block=block, **params)
        around = [made.outputs[0], inputs[0], pair.inputs[0], *inputs[1:]]
        params = {name: one for name, one in params.items() if name in ("axis", "block_size")}
        return self.insert("onnx.straight_through", around, block, node, 1, params)

    def _unknown(self, node: Any, block: Block, scope: Scope, why: str) -> tuple[Any, ...]:
        """Write a call that refuses when a run comes to it: the rest can be looked at, and run up to there."""
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        self.unknown[operator] += 1
        inputs = [self.operand(name, scope, True) for name in _trimmed(node.input)]
        params = {"operator": operator, "node": _label(node), "reason": why}
        return self.insert("onnx.unknown", inputs, block, node, max(1, len(_trimmed(node.output))), params)

    def insert(
        self, callee: str, inputs: Iterable[Any], block: Block, node: Any, count: int, params: dict[str, Any]
    ) -> tuple[Value, ...]:
        """Add a call of a function by its name, and return its `count` results."""
        made = self.graph.insert(named(callee), *inputs, types=(ANY,) * count, block=block, **params)
        self.label(made.outputs, node)
        return made.outputs

    def label(self, values: Iterable[Value], node: Any) -> None:
        """Give values the names that a node gives them, or names like those, and say which node made them."""
        for value, name in zip(values, node.output, strict=False):
            if name:
                value.name = self.graph.fresh(identifier(name))
            if value.node is not None:
                value.node.source = f"node {_label(node)}"

    def _call(
        self, function: Any, node: Any, block: Block, scope: Scope, attributes: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Write the nodes of a function of the file in the place of its call."""
        if self._depth >= DEEPEST:
            raise OnnxError("functions call one another in a circle, or too deeply")
        given = dict(attributes)
        for one in function.attribute_proto:
            given.setdefault(one.name, attributes_of(_One(one), {})[one.name])
        names = list(node.input)
        if len(names) > len(function.input):
            raise OnnxError(f"the function takes {len(function.input)} inputs, and is given {len(names)}")
        inner: Scope = ChainMap()
        for i, name in enumerate(function.input):
            waiting = scope.get(names[i]) if i < len(names) and names[i] else None
            # Not read here: whether it is a weight is said by who reads it inside.
            inner[name] = waiting if waiting is not None else self._optional(names, i, scope)
        versions = {
            (one.domain if one.domain != "ai.onnx" else ""): one.version for one in function.opset_import
        }
        self._depth += 1
        for one in function.node:
            self._node(one, block, inner, versions, given)
        self._depth -= 1
        return tuple(self._known(name, inner) for name in function.output)

    def _optional(self, names: list[str], place: int, scope: Scope) -> Any:
        return self.operand(names[place], scope, False) if place < len(names) else None

    # ---------------------------------------------------------------------------------------- operands

    def operand(self, name: str, scope: Scope, still: bool) -> Any:
        """Return what is read under a name; a tensor of the file is a weight where it is not `still`."""
        if not name:
            return None
        if name not in scope:
            raise OnnxError(f"it reads {short(name)}, which nothing before it makes")
        found = scope[name]
        if isinstance(found, _Waiting):
            tensor = tensor_of(found.proto, self.model.folder)
            if found.proto.data_type in NIBBLES:
                self.narrow.add(name)
            found = _literal(tensor)
            if found is None:
                found = hold(self.module, self.graph, tensor, name, not still)
            self._keep(name, scope, found)
        return found

    def _keep(self, name: str, scope: Scope, found: Any) -> None:
        # Where it stands, and not in the block that happened to read it first.
        for one in scope.maps:
            if name in one:
                one[name] = found
                return

    def _known(self, name: str, scope: Scope) -> Any:
        if name not in scope:
            raise OnnxError(f"the output {short(name)} is made by no node")
        return self.operand(name, scope, False)

    def _attribute(self, value: Any) -> Any:
        """Return an attribute as an operand: a tensor is held by the graph."""
        if hasattr(value, "dims"):
            return self.held(tensor_of(value, self.model.folder))
        if hasattr(value, "node"):
            raise OnnxError("it has a block, and is no control flow")
        return value

    def held(self, tensor: Tensor) -> Value:
        """Return the value of a tensor that is no weight."""
        value = Value(self.graph.fresh("constant"), type_of(tensor))
        self.graph.constants[value] = tensor
        return value

    def _constant(self, node: Any, attributes: dict[str, Any]) -> Any:
        """Return what a ``Constant`` is: short whole numbers as they are, else a tensor that the graph holds.

        Some exporters write weights so: what has a point and is more than one number is a parameter.
        """
        if len(attributes) != 1:
            raise OnnxError("a constant has one value")
        ((kind, value),) = attributes.items()
        if kind == "value" and hasattr(value, "dims"):
            tensor = tensor_of(value, self.model.folder)
            if value.data_type in NIBBLES:
                self.narrow.update(node.output)
        elif kind in _CONSTANTS and _CONSTANTS[kind](value):
            tensor = control.plain_tensor(value, "float" in kind)
        else:
            raise OnnxError(f"a constant with {short(kind)}, a {type(value).__name__}, is not read here")
        literal = _literal(tensor)
        if literal is not None:
            return literal
        if is_floating(tensor) and tensor.numel() > 1:
            return hold(self.module, self.graph, tensor, node.output[0] if node.output else "constant", True)
        return self.held(tensor)


class _One:
    """A single attribute, looked at as those of a node are."""

    def __init__(self, attribute: Any) -> None:
        self.attribute = (attribute,)


def _literal(tensor: Tensor) -> Any:
    """Return a few whole numbers as they stand in the graph; None for any other tensor."""
    small = tensor.dim() <= 1 and tensor.numel() <= MOST_INTEGERS and dtype_of(tensor) == int64
    return tensor.tolist() if small else None


def _maker(value: Any) -> Node | None:
    return value.node if isinstance(value, Value) else None


def _operator_of(node: Node) -> str:
    return called(node.callee).rpartition(".")[2]


def _quantized_by(inputs: list[Any]) -> Node | None:
    """Return the node that quantized what is put back by the same scale and zero point, or None."""
    node = _maker(inputs[0])
    if node is not None and _operator_of(node).startswith("Clip"):
        # Codes of which fewer are in use than their type has.
        node = _maker(node.inputs[0])
    if node is None or not _operator_of(node).startswith("QuantizeLinear"):
        return None
    # Values are compared by identity.
    return node if list(node.inputs[1:]) == inputs[1:] else None


def _trimmed(names: Any) -> list[str]:
    """Return names without those at the end that are left out."""
    found = list(names)
    while found and not found[-1]:
        found.pop()
    return found


def _label(node: Any) -> str:
    what = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    first: Iterator[str] = (name for name in node.output if name)
    return f"{short(node.name or next(first, ''))} ({short(what)[1:-1]})"
