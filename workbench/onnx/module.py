"""A model of a file as a module: it runs on a graph, and is trained and explained like any other."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, BinaryIO

from workbench.base.dims import near_miss
from workbench.base.errors import DimensionError, DTypeError, short
from workbench.core.value import dims_of
from workbench.graph import Graph, GraphError, Node, Value, check, run
from workbench.graph.walk import reads
from workbench.nn import Module
from workbench.onnx.building import Builder
from workbench.onnx.errors import OnnxError, UnknownOperatorError
from workbench.onnx.reading import read
from workbench.onnx.signatures import Port, Signature
from workbench.onnx.values import Integers, as_tensor
from workbench.tensor import Tensor

__all__ = ["OnnxModule", "load"]


class OnnxModule(Module):
    """A model of an ONNX file.

    It takes the inputs of the file, by position or by their names there, and gives its outputs: one, or a tuple. What
    the file has as numbers with a point are its parameters, under their names; statistics, scales and whole numbers are
    buffers. A file is written for training or for use: `train` and `eval` change nothing.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._graph = Graph()
        self._signature = Signature((), ())
        self._places: Mapping[str, Value] = {}
        self._unknown: Mapping[str, int] = {}
        self._versions: Mapping[str, int] = {}

    @property
    def graph(self) -> Graph:
        """The graph that a call runs: a node of the file is a call by name, ``onnx.Conv``."""
        return self._graph

    @property
    def signature(self) -> Signature:
        """What it takes and gives: names, types, sizes."""
        return self._signature

    @property
    def versions(self) -> Mapping[str, int]:
        """Which version of each domain of operators the file was written for."""
        return MappingProxyType(dict(self._versions))

    @property
    def unknown(self) -> Mapping[str, int]:
        """How many nodes there are of each operator that is not known here; empty where all of it runs."""
        return MappingProxyType(dict(self._unknown))

    @property
    def places(self) -> Mapping[str, Value]:
        """The values of the graph, by what they or the nodes that make them are called in the file and in the graph."""
        return MappingProxyType(dict(self._places))

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Return the outputs of the file for these inputs; raise before anything runs where an input does not fit."""
        return self._run(self._graph, inputs, keywords)

    def run_until(self, name: str, *inputs: Any, **keywords: Any) -> Any:
        """Return a value in the middle: that of a node, or of an output of one, by its name in the file or the graph.

        Only what it needs is computed, so that it works in front of an operator that is not known.
        """
        value = self._places.get(name)
        if value is None:
            value = next(
                (one for node in self._graph.nodes for one in node.outputs if one.name == name), None
            )
        if value is None:
            names = [*self._places, *(one.name for node in self._graph.nodes for one in node.outputs)]
            near = near_miss(name, names)
            raise OnnxError(
                f"there is no value {short(name)} outside the blocks of the graph"
                + (f": did you mean {near!r}?" if near else "")
            )
        return self._run(_up_to(self._graph, value), inputs, keywords)

    def extra_repr(self) -> str:
        """What it takes and gives."""
        return str(self._signature)

    def _run(self, graph: Graph, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        given = self._signature.bound(inputs, keywords)
        # Inside, a file knows places only: names are checked as they come in, and given back by what the file says.
        named = [_named(one) for one in given]
        for value, one, has in zip(graph.inputs, given, named, strict=True):
            if has and not value.type.holds(one):
                raise DimensionError(
                    f"{value.name} is {value.type}, got dims {list(one.names)}.",
                    op="onnx",
                    operands=(dims_of(one).operand(value.name),),
                )
        plain = [one.rename(None) if has else one for one, has in zip(given, named, strict=True)]
        last: list[Node] = []
        try:
            result = run(
                graph, *plain, owner=self, observe=lambda node, *_: last.__setitem__(slice(None), [node])
            )
        except UnknownOperatorError:
            raise
        except OnnxError as error:
            raise type(error)(f"{_reached(graph, last)}: {error}") from error
        except (DimensionError, DTypeError) as error:
            error.add_note(f"in {_reached(graph, last)}")
            raise
        results = (result,) if graph.single else result
        found = tuple(map(_given_back, results))
        if any(named) and graph is self._graph:
            found = tuple(map(_renamed, found, self._signature.outputs))
        return found[0] if graph.single else found

    def _get_name(self) -> str:
        return self._name


def _named(value: Any) -> bool:
    return isinstance(value, Tensor) and any(value.names)


def _renamed(value: Any, port: Port) -> Any:
    """Return a result with the names that the file has for its dims."""
    fits = isinstance(value, Tensor) and value.dim() == len(port.names) and any(port.names)
    return value.rename(*port.names) if fits else value


def _reached(graph: Graph, last: list[Node]) -> str:
    """Return which node a run came to, where the one in `last` is the last that was computed."""
    if any(node.blocks for node in graph.nodes):
        # The next one may stand in a block, or behind it.
        return f"behind {last[0].source}" if last else "the first node"
    return graph.nodes[graph.nodes.index(last[0]) + 1 if last else 0].source


def _given_back(value: Any) -> Any:
    """Return a result as people know it: sequences are lists, whole numbers tensors."""
    if isinstance(value, tuple):
        return [_given_back(one) for one in value]
    return as_tensor(Integers(value) if type(value) in (int, list) else value)


def _up_to(graph: Graph, value: Value) -> Graph:
    """Return a graph of the nodes that `value` needs, which gives it; they are those of `graph`."""
    needed, nodes = {value}, []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(reads(node))
    return Graph(
        name=graph.name, inputs=list(graph.inputs), nodes=nodes[::-1], outputs=(value,), single=True,
        parameters={one: tensor for one, tensor in graph.parameters.items() if one in needed},
        constants={one: tensor for one, tensor in graph.constants.items() if one in needed},
    )  # fmt: skip


def load(source: str | os.PathLike[str] | bytes | BinaryIO) -> OnnxModule:
    """Return the model of an ONNX file, given by its path, its bytes or an open file, as a module.

    Versions 7 to 28 of the operators are read. An operator that is not known is no reason not to open a file: `unknown`
    counts its nodes, a call raises when it comes to one, and `run_until` gives what stands before it. Values of tensors
    may lie in files beside that of the model, where it is opened by its path.

    Raises `OnnxError` for a file that is damaged or claims what is not so, TypeError for what is no file.

    >>> import workbench as wb
    >>> wb.onnx.load(["model.onnx"])
    Traceback (most recent call last):
    TypeError: onnx.load takes a path, bytes or an open file, not list
    """
    model = read(source)
    builder = Builder(model, module := OnnxModule(_class_name(model.proto.graph.name)))
    try:
        module._signature = builder.build()
        module._graph = check(builder.graph)
    except (GraphError, TypeError) as error:
        raise OnnxError(f"{model.name}: {error}") from error
    except OnnxError as error:
        raise type(error)(f"{model.name}: {error}") from error
    # Who traces it calls its inputs as the file does.
    module.__signature__ = inspect.Signature(
        [inspect.Parameter(one.name, inspect.Parameter.POSITIONAL_ONLY) for one in module._graph.inputs]
    )
    module._places, module._unknown = builder.places, dict(builder.unknown)
    module._versions = dict(model.versions)
    return module.eval()


def _class_name(name: str) -> str:
    return name if name.isidentifier() else "OnnxModule"
