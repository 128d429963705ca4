"""From a graph to the messages of a file: inputs and outputs with the names of their sizes, tensors, nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.base.dtypes import dtype_of
from workbench.base.size_expressions import Expression, Symbol, written
from workbench.core.dispatch import numbers
from workbench.graph import Block, Graph, GraphError, Node, Value, called
from workbench.graph.blocks import values_in
from workbench.graph.passes.inline import inline
from workbench.graph.symbols import sized
from workbench.graph.types import ListType, TensorType, Type
from workbench.graph.walk import reads
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import Message
from workbench.onnx.signatures import Port, Signature
from workbench.onnx.values import type_code
from workbench.onnx.writing import control
from workbench.onnx.writing.around import on_codes
from workbench.onnx.writing.bodies import Body, Shared, nibbles_message, tensor_message
from workbench.onnx.writing.calls import Call
from workbench.onnx.writing.codes import codes_of, storage
from workbench.onnx.writing.table import ON_CODES, RULES
from workbench.tensor import Tensor

__all__ = ["NEWEST", "OLDEST", "Wanted", "model_message"]

OLDEST, NEWEST = 13, 23
"""The versions of the operators that files are written for."""

_IR = {
    7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10,
    23: 11, 24: 12, 25: 13, 26: 13, 27: 13, 28: 14,
}  # fmt: skip
"""Which version of the format itself came with which version of the operators."""


@dataclass(frozen=True)
class Wanted:
    """How a file is to be written."""

    opset: int = 17
    input_names: Sequence[str] = ()
    output_names: Sequence[str] = ()
    dim_names: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    """What sizes of inputs are called, by the names of inputs and the places of dims."""
    fixed: Mapping[Symbol, int] = field(default_factory=dict)
    """Sizes that are numbers in the file."""
    training: bool = False
    """True where what only training does is written, as far as the format has it."""
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    producer: tuple[str, str] = ("workbench", "")
    ports: Signature | None = None
    """What the file takes and gives, where the graph is that of an opened file: its types say it of nothing else."""


def model_message(graph: Graph, wanted: Wanted) -> Message:
    """Return the model that a graph is; raise `OnnxError` that names all that the format has no form for."""
    # The nodes of an opened file are written as they were, whatever its version.
    if not (OLDEST <= wanted.opset <= NEWEST or (wanted.ports is not None and wanted.opset in _IR)):
        raise OnnxError(
            f"files are written for versions {OLDEST} to {NEWEST} of the operators, not {wanted.opset}: 17 and 18 are "
            "read by most programs"
        )
    # A graph without functions is written as it is: what a script grows in a loop has no type that a pass could follow.
    return _Writer(inline(graph) if graph.functions else graph, wanted).model()


class _Writer:
    def __init__(self, graph: Graph, wanted: Wanted) -> None:
        self.graph = graph
        self.wanted = wanted
        self.shared = Shared(wanted.opset, {**_decided(graph), **wanted.fixed})
        self.shared.training = wanted.training
        self.shared.shown = graph.symbols()
        self.shared.needed = _needed(graph)
        self.shared.readers = graph.users()
        self.shared.results = frozenset(values_in(graph.outputs))
        self.shared.held = graph.held()
        self.body = Body(self.shared)
        self.refused: dict[str, list[tuple[str, str]]] = {}
        """Why nodes have no form, and where they stand, by what they call."""
        self._settled_outputs: list[Any] = []

    def model(self) -> Message:
        """Write it all."""
        graph, shared = self.graph, self.shared
        self._check_state()
        inputs = self._named(graph.inputs, self.wanted.input_names, "inputs")
        outputs = self._named(list(values_in(graph.outputs)), self.wanted.output_names, "outputs")
        for name in (*inputs, *outputs):
            shared.fresh(name)
        for value, name in zip(graph.inputs, inputs, strict=True):
            self.body.names[value] = name
        self.dims = self._dim_names(inputs)
        self._tensors()
        self.block(graph, self.body)
        self._refuse()
        results = [self._result(one, name) for one, name in zip(_outputs(graph), outputs, strict=True)]
        constants = list(_used(shared.constants, self.body.nodes))
        made = Message("Graph", name=graph.name or "graph", node=[*constants, *self.body.nodes])
        made.initializer = list(_used(shared.initializers, self.body.nodes))
        ports = self.wanted.ports
        made.input = [
            self.info(name, value.type, ports.inputs[i] if ports is not None else None)
            for i, (name, value) in enumerate(zip(inputs, graph.inputs, strict=True))
        ]
        made.output = [
            self.info(name, value.type, ports.outputs[i] if ports is not None else None)
            for i, (name, value) in enumerate(zip(results, _outputs(graph), strict=True))
        ]
        return self._around(made)

    def _around(self, graph: Message) -> Message:
        wanted = self.wanted
        model = Message("Model", ir_version=_IR[wanted.opset])
        domains = sorted({node.domain for node in _all_nodes(graph)} | {""})
        model.opset_import = [
            Message("OperatorSet", domain=one, version=1 if one else wanted.opset) for one in domains
        ]
        model.producer_name, model.producer_version = wanted.producer
        if wanted.doc:
            model.doc_string = wanted.doc
        model.graph = graph
        found = dict(wanted.metadata)
        # Those of sizes that a run computes say nothing to who gives inputs.
        guards = [str(one) for one in self.graph.guards if not one.later]
        if guards and "guards" not in found:
            # The format cannot ask them: whoever reads the file is told for which sizes it was written.
            found["guards"] = "\n".join(guards)
        changed = [one.name for one in self.graph.updates if one in self.graph.inputs]
        if changed and "changes_inputs" not in found:
            # A run of a file changes nothing that it is given, and the function does.
            found["changes_inputs"] = ", ".join(changed)
        model.metadata_props = [Message("Entry", key=key, value=str(value)) for key, value in found.items()]
        return model

    def _check_state(self) -> None:
        graph = self.graph
        changed = [one.name for one in graph.updates if one in graph.parameters]
        if changed and not self.wanted.training:
            names = ", ".join(changed[:4])
            raise OnnxError(
                f"the graph changes {names}, as a model in training does, and a file of the format changes nothing: "
                "call model.eval(), or pass training=True to leave that away"
            )
        # Numbers that are drawn: only what dropout draws has a form, and its seed is the file's own.
        drawn = [one.name for one in graph.noise if one in self.shared.needed]
        if drawn:
            raise OnnxError(
                f"the graph draws random numbers ({', '.join(drawn[:4])}): pass them as an input, or call model.eval()"
            )

    def _named(self, values: Sequence[Any], names: Sequence[str], what: str) -> list[str]:
        if isinstance(names, str):
            raise TypeError(f"{what[:-1]}_names is a list of names, got the text {names!r}")
        if len(names) > len(values):
            raise OnnxError(f"there are {len(names)} names for {len(values)} {what}: {', '.join(names)}")
        found = [*names, *(one.name for one in values[len(names) :])]
        if what == "outputs":
            # One value may be given twice, or be an input: each output has a name of its own.
            for i in range(len(names), len(found)):
                base, count = found[i], 1
                while found[i] in found[:i] or found[i] in self.graph_inputs():
                    found[i], count = f"{base}_{count}", count + 1
        double = [name for name, count in Counter(found).items() if count > 1]
        if double:
            raise OnnxError(f"two {what} are to be called {double[0]!r}")
        if not all(isinstance(one, str) and one for one in found):
            raise OnnxError(f"names of {what} are words, got {found!r}")
        return found

    def graph_inputs(self) -> list[str]:
        """The names of the inputs in the file."""
        named = list(self.wanted.input_names)
        return [*named, *(one.name for one in self.graph.inputs[len(named) :])]

    def _dim_names(self, inputs: list[str]) -> dict[Symbol, str]:
        """Return what each symbol is called in the file: as it is asked for, as its dim is, or by its place."""
        found: dict[Symbol, str] = {}
        taken: set[str] = set()
        for name, value in zip(inputs, self.graph.inputs, strict=True):
            if not isinstance(value.type, TensorType):
                continue
            asked = self.wanted.dim_names.get(name, {})
            for dim, size in enumerate(value.type.sizes):
                symbol = size.symbol if isinstance(size, Expression) else None
                if symbol is None or symbol in found:
                    continue
                word = asked.get(dim) or value.type.dims.labels[dim] or f"{name}_dim_{dim}"
                equal = next((found[one] for one in self._equals(symbol) if one in found), None)
                if equal is not None and dim not in asked:
                    word = equal
                elif dim not in asked:
                    while word in taken:
                        word = f"{word}_{name}"
                taken.add(word)
                found[symbol] = word
        return found

    def _equals(self, symbol: Symbol) -> list[Symbol]:
        """Return the sizes that a guard says are the same as this one."""
        found = [symbol]
        for one in self.graph.guards:
            pair = [side.symbol if isinstance(side, Expression) else None for side in (one.left, one.right)]
            if one.relation == "==" and None not in pair and any(each in found for each in pair):
                found += [each for each in pair if each is not None and each not in found]
        return found[1:]

    def _size(self, size: Any) -> Any:
        """Return a size as it is written: a number, a name, or an expression of names."""
        size = self.shared.settled(size)
        if type(size) is int:
            return size
        unknown = [one for one in size.symbols() if one not in self.dims]
        # Of what only a run shows nothing is said.
        return None if unknown else written(size, lambda symbol: self.dims[symbol])

    def info(self, name: str, kind: Type, port: Port | None = None) -> Message:
        """Return what the file says of an input or output; a number is a tensor without dims."""
        if port is not None and port.said.WhichOneof() is not None:
            # As the opened file had it.
            return Message("ValueInfo", name=name, type=port.said)
        if isinstance(kind, ListType):
            item = self.info("", kind.item).type
            return Message(
                "ValueInfo",
                name=name,
                type=Message("Type", sequence_type=Message("ItemType", elem_type=item)),
            )
        if isinstance(kind, TensorType):
            dtype, sizes = storage(dtype_of(kind)), tuple(map(self._size, kind.sizes))
        elif kind in control.NUMBERS:
            dtype, sizes = control.NUMBERS[kind], ()
        else:
            raise OnnxError(
                f"{name} is {kind}, and a file takes and gives tensors: nothing says its data type"
            )
        shape = Message("Shape", dim=list(map(_dimension, sizes)))
        tensor = Message("TensorType", elem_type=type_code(dtype), shape=shape)
        return Message("ValueInfo", name=name, type=Message("Type", tensor_type=tensor))

    def _tensors(self) -> None:
        """Give the tensors that are read names: parameters their own, as far as no input has them."""
        for value, tensor in self.graph.held().items():
            if value not in self.shared.needed:
                continue
            name = self.shared.fresh(value.name)
            self.body.names[value] = name
            self.shared.initializers[name] = self._initializer(value, tensor, name)

    def _initializer(self, value: Value, tensor: Tensor, name: str) -> Message:
        if not dtype_of(tensor).is_quantized:
            return tensor_message(tensor, name)
        codes, self.shared.codes[value] = codes_of(tensor.payload, self.wanted.opset)
        if self.shared.codes[value].nibbles:
            return nibbles_message(numbers(codes), name)
        return tensor_message(codes, name)

    # ------------------------------------------------------------------------------------------- nodes

    def block(self, block: Block, body: Body) -> None:
        """Write the nodes of a block that anything needs."""
        for node in block.nodes:
            if any(one in self.shared.needed for one in node.outputs):
                self._node(node, body)

    def _node(self, node: Node, body: Body) -> None:
        start = len(body.nodes)
        try:
            found = self._written(node, body)
        except (OnnxError, GraphError) as error:
            self.refused.setdefault(called(node.callee), []).append((node.source, str(error)))
            found = tuple(self.shared.fresh(one.name) for one in node.outputs)
        made = {name: i for i in range(start, len(body.nodes)) for name in body.nodes[i].output}
        renamed: dict[str, str] = {}
        for value, name in zip(node.outputs, found, strict=False):
            if name in made and name not in renamed and "/" in name:
                # What the graph calls the value, the file does.
                renamed[name] = self.shared.fresh(value.name)
                name = renamed[name]
            body.names[value] = renamed.get(name, name)
        if renamed:
            _rename(body.nodes[start:], renamed)

    def _written(self, node: Node, body: Body) -> tuple[str, ...]:
        call = Call(body, node)
        if node.op is None:
            return control.written(self, call)
        rule = RULES.get(node.op.name)
        if rule is None:
            raise OnnxError("the format has no operator for it")
        found = rule(call) if node.op.name in ON_CODES or not call.has_codes() else on_codes(call, rule)
        return call.rounded((found,) if isinstance(found, str) else tuple(found))

    def _refuse(self) -> None:
        """Raise where anything had no form: each op with its lines and how often, and why."""
        if not self.refused:
            return
        total = sum(map(len, self.refused.values()))
        lines = []
        for name, places in sorted(self.refused.items()):
            where = list(dict.fromkeys(line for line, _ in places if line))
            shown = f" at {', '.join(where[:4])}{' …' if len(where) > 4 else ''}" if where else ""
            times = f"{len(places)} times" if len(places) > 1 else "once"
            lines.append(f"{name}, {times}{shown}: {places[0][1]}")
        raise OnnxError(
            f"{total} {'nodes have' if total > 1 else 'node has'} no form in the format, and nothing was written. "
            + "; ".join(lines)
        )

    def _result(self, value: Any, name: str) -> str:
        """Let a value be called what the output is; return that."""
        own = self.body.name_of(value)
        made = {one for node in self.body.nodes for one in node.output}
        taken = {self.body.names.get(one) for one in self._settled_outputs}
        if own == name:
            self._settled_outputs.append(value)
            return name
        if own in made and own not in taken:
            _rename(self.body.nodes, {own: name})
            for known, word in self.body.names.items():
                if word == own:
                    self.body.names[known] = name
        else:
            self.body.add("Identity", [own], [name], name=f"Identity/{name}")
        self._settled_outputs.append(value)
        return name


def _decided(graph: Graph) -> dict[Symbol, int]:
    """Return the sizes that a guard says are one number."""
    found = {}
    for value in graph.inputs:
        if isinstance(value.type, TensorType):
            for dim in value.type.fixed:
                size = value.type.sizes[dim]
                if isinstance(size, Expression) and size.symbol is not None:
                    found[size.symbol] = value.type.dims.sizes[dim]
    return found


def _outputs(graph: Graph) -> list[Value]:
    for one in graph.outputs:
        if not isinstance(one, Value) and not list(values_in(one)):
            raise OnnxError(f"the graph gives {one!r}, which is no tensor: a file gives tensors")
    return list(values_in(graph.outputs))


def _needed(graph: Graph) -> set[Value]:
    """Return the values that the outputs need, those of blocks included, and those that show sizes."""
    found = set(values_in(graph.outputs))
    shown = graph.symbols()

    def go(block: Block) -> None:
        for node in reversed(block.nodes):
            if not node.blocks and not any(one in found for one in node.outputs):
                continue
            # What only a gradient is multiplied by is read by nothing here.
            found.update(values_in(node.inputs[:1]) if called(node.callee) == "pass_share" else reads(node))
            found.update(sized((node.inputs, node.params, _sizes_at(node)), shown))
            for inner in node.blocks:
                found.update(values_in(inner.outputs))
                go(inner)

    go(graph)
    return found | set(graph.inputs)


def _sizes_at(node: Node) -> list[Any]:
    """Return the sizes of what a call of an op reads and gives, by which a rule may write it."""
    values = (*node.values, *node.outputs) if node.op is not None else ()
    return [one.type.sizes for one in values if isinstance(one.type, TensorType)]


def _rename(nodes: Sequence[Message], names: Mapping[str, str]) -> None:
    for node in nodes:
        node.input = [names.get(one, one) for one in node.input]
        node.output = [names.get(one, one) for one in node.output]
        for one in node.attribute if node.HasField("attribute") else ():
            if one.HasField("g"):
                _rename(one.g.node, names)
                for info in one.g.output:
                    info.name = names.get(info.name, info.name)


def _all_nodes(graph: Message) -> list[Message]:
    found = []
    for node in graph.node:
        found.append(node)
        for one in node.attribute if node.HasField("attribute") else ():
            if one.HasField("g"):
                found += _all_nodes(one.g)
    return found


def _used(initializers: Mapping[str, Message], nodes: list[Message]) -> Any:
    graph = Message("Graph", node=nodes)
    read = {name for node in _all_nodes(graph) for name in node.input}
    read |= {
        info.name
        for node in _all_nodes(graph)
        for one in (node.attribute if node.HasField("attribute") else ())
        if one.HasField("g")
        for info in one.g.output
    }
    return (message for name, message in initializers.items() if name in read)


def _dimension(size: Any) -> Message:
    if size is None:
        return Message("Dimension")
    return Message("Dimension", **{"dim_value" if type(size) is int else "dim_param": size})
