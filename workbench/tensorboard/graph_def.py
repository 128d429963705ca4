"""Graphs for TensorBoard: a GraphDef, whose names are paths of scopes, with inputs, types and shapes of every node.

TensorBoard makes boxes of the parts of a name (``net/conv1/relu``) and reads from an attribute which shapes travel
along its edges. So modules, branches, loops and functions are parts of names, and what a function is given is whatever
the call gives it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboardX.proto.attr_value_pb2 import AttrValue
from tensorboardX.proto.graph_pb2 import GraphDef
from tensorboardX.proto.node_def_pb2 import NodeDef
from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboardX.proto.types_pb2 import DataType
from tensorboardX.proto.versions_pb2 import VersionDef

from workbench.base.dtypes import dtype_of
from workbench.base.public import words
from workbench.graph import (
    Block,
    Control,
    Graph,
    GraphError,
    Node,
    SubGraph,
    TensorType,
    Type,
    Value,
    called,
    trace,
)
from workbench.graph.blocks import values_in
from workbench.graph.operand_text import written
from workbench.graph.rules import kind_of
from workbench.nn import Module

__all__ = ["TYPES", "graph_def", "graph_of"]

PRODUCER = 22
"""The version of the format that PyTorch writes."""
LONGEST = 400
"""Most characters of a text that is shown of a node."""
_FOREIGN = re.compile(r"[^\w.\[\]-]+")
"""What may not stand in a part of a name: a slash would begin a scope, a colon count an output."""
TYPES = {
    "float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF", "bfloat16": "DT_BFLOAT16",
    "complex64": "DT_COMPLEX64", "complex128": "DT_COMPLEX128", "int64": "DT_INT64", "int32": "DT_INT32",
    "int16": "DT_INT16", "int8": "DT_INT8", "uint8": "DT_UINT8", "bool": "DT_BOOL", "qint8": "DT_QINT8",
    "quint8": "DT_QUINT8", "qint32": "DT_QINT32",
}  # fmt: skip
"""TensorFlow's names of types."""

Place = tuple[str, ...]


def graph_def(model: Graph | Callable[..., Any], input_to_model: Any = None) -> Any:
    """Return the graph of `model` as a GraphDef; what has none yet is traced with `input_to_model`, one or a tuple.

    A module is traced as it is in evaluation, and is in training again behind that if it was.

    Raises:
        TypeError: there is nothing to trace, or nothing to trace it with.

    >>> import workbench as wb
    >>> [node.name for node in graph_def(wb.nn.Linear(3, 2), wb.ones(1, 3)).node]
    ['input/input', 'Linear/weight', 'Linear/bias', 'Linear/linear', 'output/output']
    """
    return _Writer(graph_of(model, input_to_model)).written()


def graph_of(model: Graph | Callable[..., Any], given: Any = None) -> Graph:
    """Return the graph that `model` is or has, else that of tracing it as `graph_def` does."""
    # What is scripted, traced or opened from a file has its graph.
    held = model if isinstance(model, Graph) else getattr(model, "graph", None)
    if isinstance(held, Graph):
        return held
    if not callable(model):
        raise TypeError(f"a {type(model).__name__} is neither a graph nor something to trace: give a model")
    if given is None:
        raise TypeError(
            f"a {type(model).__name__} is traced with an example of its inputs: writer.add_graph(model, images)"
        )
    inputs = tuple(given) if isinstance(given, tuple | list) else (given,)
    with _in_evaluation(model):
        return trace(model, *inputs)


@contextmanager
def _in_evaluation(model: Any) -> Iterator[None]:
    modules = [*model.modules()] if isinstance(model, Module) else []
    # Each its own: parts of a model that are frozen in evaluation are to stay so.
    before = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training


class _Writer:
    """Writes one graph, node by node."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._root = (graph.name,)
        self._nodes: dict[str, Any] = {}
        self._sources: dict[Value, tuple[str, ...]] = {}
        """Where values come from: names of nodes, with the number of the output; of a tuple those of its parts."""

    def written(self) -> Any:
        graph = self._graph
        self._given(graph.inputs, ("input",), "IO Node")
        self._given(graph.seeds, ("input",), "Seed")
        for held, kind in ((graph.parameters, "Parameter"), (graph.constants, "Const")):
            for value in held:
                *path, name = value.name.split(".")
                self._given([value], (*self._root, *path), kind, name)
        self._block(graph, self._root)
        for i, operand in enumerate(graph.outputs):
            self._leaves("output" if graph.single else f"output.{i}", operand)
        for value, after in graph.updates.items():
            self._leaves(f"update.{value.name}", after)
        return GraphDef(node=self._nodes.values(), versions=VersionDef(producer=PRODUCER))

    def _leaves(self, name: str, operand: Any) -> None:
        values = [*values_in(operand)]
        self._add(("output", name), "IO Node", self._from(values), [value.type for value in values])

    def _given(self, values: Iterable[Value], place: Place, kind: str, name: str = "") -> None:
        """Write what is there before any node of a block runs."""
        for value in values:
            self._sources[value] = (self._add((*place, name or value.name), kind, (), [value.type]),)

    def _block(self, block: Block, place: Place, base: Place = ()) -> None:
        """Write the nodes of a block; `base` is the part of their scopes that `place` has already."""
        for node in block.nodes:
            own = node.scope[len(base) :] if node.scope[: len(base)] == base else ()
            inside = (*place, *own)
            if isinstance(node.callee, SubGraph):
                self._function(node, node.callee, inside)
            elif node.blocks:
                self._control(node, inside)
            else:
                self._call(node, (*inside, node.name), self._from(node.values))

    def _function(self, node: Node, function: SubGraph, place: Place) -> None:
        """Write what a function runs, in a scope of this call: its inputs are what the call gives."""
        for value, operand in zip(function.inputs, node.inputs, strict=True):
            self._sources[value] = self._from(values_in(operand))
        self._block(function, (*place, f"{function.name}[{node.name}]"), node.scope)
        results = function.outputs if len(node.outputs) == len(function.outputs) else (function.outputs,)
        for value, operand in zip(node.outputs, results, strict=True):
            self._sources[value] = self._from(values_in(operand))

    def _control(self, node: Node, place: Place) -> None:
        """Write the blocks of an ``if`` or a loop, each a scope, and a node where their results meet."""
        place = (*place, f"{called(node.callee)}[{node.name}]")
        kind = kind_of(node.callee)
        before = node.inputs
        if node.callee is Control.LOOP:
            body, (most, condition, *carried) = node.blocks[0], before
            self._given(body.inputs, (*place, "body"), "Carried")
            for value, operand in zip(body.inputs[1:], carried, strict=True):
                self._feed(value, self._from(values_in(operand)))
            before = (most, condition)
        for name, block in zip(kind.blocks if kind is not None else (), node.blocks, strict=True):
            self._block(block, (*place, name), node.scope)
        reads = [*values_in(before), *(one for block in node.blocks for one in values_in(block.outputs))]
        self._call(node, (*place, node.name), self._from(reads))

    def _feed(self, value: Value, sources: tuple[str, ...]) -> None:
        [name] = self._sources[value]
        self._nodes[name].input.extend(sources)

    def _call(self, node: Node, path: Place, reads: tuple[str, ...]) -> None:
        name = self._add(path, called(node.callee), reads, [value.type for value in node.outputs], node)
        for i, value in enumerate(node.outputs):
            self._sources[value] = (f"{name}:{i}" if i else name,)

    def _from(self, values: Iterable[Value]) -> tuple[str, ...]:
        return tuple([name for value in values for name in self._sources[value]])

    def _add(
        self, path: Place, kind: str, reads: Iterable[str], types: list[Type], node: Node | None = None
    ) -> str:
        """Write one node, and return its name, which is no other node's."""
        name = plain = "/".join(_FOREIGN.sub("_", part).strip("_") or "_" for part in path)
        count = 0
        while name in self._nodes:
            count += 1
            name = f"{plain}_{count}"
        attributes = {"_output_shapes": AttrValue(list=AttrValue.ListValue(shape=map(_shape, types)))}
        code = _type_code(types[0]) if types else None
        if code is not None:
            attributes["dtype"] = AttrValue(type=code)
        told = {"type": ", ".join(map(str, types))}
        if node is not None:
            told |= {"attr": _settings(node), "source": node.source}
        attributes |= {key: AttrValue(s=text[:LONGEST].encode()) for key, text in told.items() if text}
        self._nodes[name] = NodeDef(name=name, op=kind, input=reads, attr=attributes)
        return name


def _settings(node: Node) -> str:
    """Return what a node is called with besides values."""
    found = [f"{key}={_literal(one)}" for key, one in node.params.items()]
    return ", ".join([*(_literal(one) for one in node.inputs if not [*values_in(one)]), *found])


def _literal(operand: Any) -> str:
    try:
        return written(operand, lambda value: value.name)
    except GraphError:
        # An object of the program's own.
        return type(operand).__name__


def _shape(kind: Type) -> Any:
    if not isinstance(kind, TensorType):
        return TensorShapeProto(unknown_rank=True)
    pairs = zip(kind.dims.labels, kind.dims.sizes, strict=True)
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size, name=name or "") for name, size in pairs])


def _type_code(kind: Type) -> int | None:
    name = TYPES.get(dtype_of(kind).name) if isinstance(kind, TensorType) else None
    return None if name is None else int(DataType.Value(name))


__getattr__, __dir__ = words(__name__, __all__)
