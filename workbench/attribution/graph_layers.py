"""Layers of a model that runs a graph, traced, scripted or read: what a module made there, or a node of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.attribution.graph_turns import turning
from workbench.graph import Graph, Node, Value
from workbench.graph.blocks import values_in
from workbench.graph.types import ANY, TENSOR, TensorType
from workbench.graph.walk import reads

__all__ = ["GraphLayers", "Place", "has_node"]

Path = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where in a graph a value is seen."""

    node: Node
    at_input: bool = False
    """Whether it is what the node is given."""
    at: int | None = None
    """Which of several operands, or of several outputs."""


class GraphLayers:
    """The layers of a graph by name: paths of modules, names of values in the graph, and what a file calls them.

    A layer gives the tensors that its nodes make and others read. `names` are further names of values.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(2, 3), wb.nn.ReLU()).eval()
    >>> GraphLayers(wb.graph.trace(model, wb.ones(1, 2))).gives["0"][0].name
    'linear'
    """

    def __init__(self, graph: Graph, names: Mapping[str, Value] | None = None) -> None:
        self.graph = graph
        self._held = {*graph.parameters, *graph.constants, *graph.seeds}
        self._returned = set(graph.returned())
        self._readers: dict[Value, list[Node]] = {}
        self._inside: dict[Path, dict[Node, None]] = {}
        paths = _paths(graph, names or {})
        for node in graph.nodes:
            for value in dict.fromkeys(reads(node)):
                self._readers.setdefault(value, []).append(node)
            for length in range(1, len(paths[node]) + 1):
                self._inside.setdefault(paths[node][:length], {})[node] = None
        self.gives: dict[str, list[Value]] = {}
        """What each layer gives: of a module the values of its calls, one after the other; or one value."""
        for path, nodes in self._inside.items():
            left = [value for node in nodes for value in node.outputs if self._leaves(value, nodes)]
            if left:
                self.gives[".".join(path)] = left
        made = [value for node in graph.nodes for value in node.outputs]
        alone = [value.name for value in made if not paths[value.node] and self._leaves(value, ())]
        self.turning = turning(graph)
        """What modules inside loops and branches give, by path: calls are counted when the model runs."""
        inside = [asked for name, one in self.turning.items() for asked in one.offered(name)]
        self.offered = [asked for name in (*self.gives, *alone) for asked in self._calls(name)] + inside
        """Names under which each of these is offered once."""
        for name, value in {**{one.name: one for one in made}, **(names or {})}.items():
            if value.node is not None:
                self.gives.setdefault(name, [value])

    @property
    def names(self) -> list[str]:
        """All names by which layers are found."""
        return [*self.gives, *self.turning]

    def place_inside(self, name: str, at_input: bool) -> Place | None:
        """Return where the value of a layer inside loops is seen, as `place` does."""
        one = self.turning[name]
        if not at_input:
            return _output(one.value)
        operand = self.operand(one.nodes[0])
        return None if len(one.nodes) > 1 or operand is None else Place(one.nodes[0], True, operand)

    def place(self, name: str, call: int, at_input: bool) -> Place | None:
        """Return where the value of a layer's call is seen; None if what it is given is no one value of its own."""
        given = self.gives[name][call]
        if not at_input:
            return _output(given)
        nodes: Collection[Any] = self._inside.get(tuple(name.split(".")), [given.node])
        enters = list(dict.fromkeys(
            value for node in nodes for value in reads(node) if value.node not in nodes and self._flows(value)
        ))  # fmt: skip
        if len(enters) != len(self.gives[name]):
            return None
        value = enters[call]
        readers = self._readers[value]
        if value.node is not None and set(readers) <= set(nodes) and value not in self._returned:
            return _output(value)
        here = [node for node in readers if node in nodes]
        if len(here) > 1 or list(values_in(here[0].inputs)).count(value) != 1 or value not in here[0].inputs:
            return None
        return Place(here[0], True, here[0].inputs.index(value))

    def operand(self, node: Node) -> int | None:
        """Return which operand of a node comes from the inputs, not from what the model holds; None for several."""
        found = [at for at, one in enumerate(node.inputs) if isinstance(one, Value) and self._flows(one)]
        return found[0] if len(found) == 1 else None

    def _calls(self, name: str) -> list[str]:
        count = len(self.gives.get(name, ()))
        return [f"{name}#{call}" for call in range(count)] if count > 1 else [name]

    def _leaves(self, value: Value, nodes: Collection[Node]) -> bool:
        """Say whether a tensor is read by others than the nodes that made it."""
        outside = value in self._returned or any(one not in nodes for one in self._readers.get(value, []))
        return outside and _may_be_tensor(value)

    def _flows(self, value: Value) -> bool:
        """Say whether a value is an input, or computed; of those that are anything, a script's own module is none."""
        if value in self._held or not _may_be_tensor(value):
            return False
        return value.node is not None or value.type != ANY


def has_node(graph: Graph, node: Node) -> bool:
    """Say whether a graph, or a function of it, has a node.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(wb.relu, wb.ones(2))
    >>> has_node(graph, graph.nodes[0]), has_node(wb.graph.trace(wb.relu, wb.ones(2)), graph.nodes[0])
    (True, False)
    """
    functions: Iterator[Any] = iter((graph, *graph.functions.values()))
    return any(one is node for function in functions for one, _ in function.walk())


def _output(value: Value) -> Place:
    node = value.node
    assert node is not None
    return Place(node, False, node.outputs.index(value) if len(node.outputs) > 1 else None)


def _may_be_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType) or value.type in (ANY, TENSOR)


def _paths(graph: Graph, names: Mapping[str, Value]) -> dict[Any, Path]:
    """Return the path of the module that made each node; empty where nobody knows."""
    called: dict[Value, str] = {}
    for name, value in names.items():
        called.setdefault(value, name)
    found: dict[Any, Path] = {}
    for node in graph.nodes:
        in_file = next((called[one] for one in node.outputs if one in called), "")
        found[node] = node.scope or _path_in_file(in_file) or (_path_of_held(graph, node) if names else ())
    return found


def _path_in_file(name: str) -> Path:
    """Return the path that a name in a file has before the operator: ``/features/features.0/Conv`` is of features.0.

    >>> _path_in_file("conv1/Conv"), _path_in_file("/features/features.0/Conv"), _path_in_file("Conv_3")
    (('conv1',), ('features', '0'), ())
    """
    path: list[str] = []
    before = ""
    for part in name.strip("/").split("/")[:-1]:
        path += (part.removeprefix(f"{before}.") if before else part).split(".")
        before = part
    return tuple(path)


def _path_of_held(graph: Graph, node: Node) -> Path:
    """Return the path of the only module whose parameters a node reads."""
    owners = {tuple(value.name.split(".")[:-1]) for value in reads(node) if value in graph.parameters}
    return owners.pop() if len(owners) == 1 else ()
