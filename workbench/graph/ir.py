"""The one intermediate representation: values that are assigned once, nodes that call ops of the table.

A `Graph` is a straight line of nodes in the order in which they run. Every value has a type with named dims;
every node knows the module it came from and the line of code that made it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.base import rich
from workbench.base.dims import Dims
from workbench.base.dtypes import DType, dtype_of
from workbench.core.dispatch import WithoutNumbers, interpreting
from workbench.core.op import Op
from workbench.core.value import Abstract, dims_of, labelled, new

__all__ = ["NAME", "Graph", "GraphError", "Node", "Type", "Value", "type_of"]

NAME = r"""[^\s,()\[\]:=%'"]+"""
"""What a value may be called: anything that the text of a graph does not use otherwise."""


class GraphError(RuntimeError):
    """A graph that is not legal, or a change that would make it so."""


@dataclass(frozen=True)
class Type:
    """What is known of a value before it is computed: its data type, its dims, and which sizes are fixed.

    Sizes are those of the trace; a graph runs for others too, except where one is fixed.

    >>> print(Type(np.dtype("f4"), Dims(("N", "C"), (32, 3)), frozenset({1})))
    f32[N:32, C=3]
    """

    dtype: np.dtype[Any] | DType
    """NumPy's type, or the type of codes that stand for real numbers."""
    dims: Dims
    fixed: frozenset[int] = frozenset()
    """Positions of dims whose size the function used as a number: no other size will do."""

    def __str__(self) -> str:
        dims = zip(self.dims.labels, self.dims.sizes, strict=True)
        parts = [
            f"{name or '·'}{'=' if i in self.fixed else ':'}{size}" for i, (name, size) in enumerate(dims)
        ]
        return f"{dtype_of(self).short}[{', '.join(parts)}]"


def type_of(tensor: Any) -> Type:
    """Return the type of a tensor; sizes of traced tensors become plain numbers.

    >>> import workbench as wb
    >>> print(type_of(wb.ones(N=2)))
    f32[N:2]
    """
    dims, dtype = dims_of(tensor), tensor.payload.dtype
    plain = dims.of_sizes(tuple(map(operator.index, dims.sizes)))
    return Type(dtype if isinstance(dtype, DType) else np.dtype(dtype), plain)


@dataclass(eq=False)
class Value:
    """One value: its name in the graph, its type, and the node that makes it (None for what comes from outside)."""

    name: str
    type: Type
    node: Node | None = None

    def stand_in(self) -> Any:
        """Return a tensor of this type without numbers."""
        dims = self.type.dims
        made = new(Abstract(dims.sizes, self.type.dtype), dims.names if any(dims.names) else None)
        return labelled(made, dims.labels if any(dims.labels) else None)

    def __repr__(self) -> str:
        return f"%{self.name} : {self.type}"


@dataclass(eq=False)
class Node:
    """One call of an op. Inputs are values, or Python numbers."""

    op: Op
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    outputs: tuple[Value, ...]
    scope: tuple[str, ...] = ()
    """Path of the module that made the call, outermost first."""
    source: str = ""
    """Line of the user's code, as ``model.py:12`` or ``In[3]:4``."""

    @property
    def name(self) -> str:
        """Name of the first output."""
        return self.outputs[0].name

    @property
    def values(self) -> tuple[Value, ...]:
        """The inputs that are values."""
        return tuple(one for one in self.inputs if isinstance(one, Value))

    def __repr__(self) -> str:
        return f"<node {self.name}: {self.op.name}>"


@dataclass(eq=False)
class Graph:
    """A traced function: what goes in, the tensors it holds, its nodes in order, and what comes out."""

    name: str = "graph"
    inputs: list[Value] = field(default_factory=list)
    parameters: dict[Value, Any] = field(default_factory=dict)
    """Tensors of the module that was traced, under their dotted names."""
    constants: dict[Value, Any] = field(default_factory=dict)
    """Other tensors that the function uses."""
    nodes: list[Node] = field(default_factory=list)
    outputs: tuple[Value, ...] = ()
    single: bool = True
    """True if the function returns one tensor rather than a tuple."""

    _names: dict[str, int] = field(default_factory=dict, repr=False)

    def fresh(self, base: str) -> str:
        """Return a name that is not taken: `base`, or `base` with a number."""
        count = self._names.get(base, 0)
        self._names[base] = count + 1
        return base if count == 0 else self.fresh(f"{base}_{count}")

    def values(self) -> Iterator[Value]:
        """Every value: inputs, parameters, constants, then what the nodes make."""
        yield from self.inputs
        yield from self.parameters
        yield from self.constants
        for node in self.nodes:
            yield from node.outputs

    def held(self) -> dict[Value, Any]:
        """Parameters and constants with their tensors."""
        return {**self.parameters, **self.constants}

    def users(self) -> dict[Value, list[Node]]:
        """For each value, the nodes that read it, in order."""
        found: dict[Value, list[Node]] = {value: [] for value in self.values()}
        for node in self.nodes:
            for value in dict.fromkeys(node.values):
                found.setdefault(value, []).append(node)
        return found

    def replace(self, old: Value, new: Value) -> None:
        """Let everything that reads `old` read `new`; sizes that are fixed for `old` are then fixed for `new`."""
        new.type = replace(new.type, fixed=new.type.fixed | old.type.fixed)
        for node in self.nodes:
            node.inputs = tuple(new if one is old else one for one in node.inputs)
        self.outputs = tuple(new if one is old else one for one in self.outputs)

    def hold(self, tensor: Any, name: str = "constant") -> Value:
        """Take `tensor` in as a constant, under `name` or a name like it."""
        value = Value(self.fresh(name), type_of(tensor))
        self.constants[value] = tensor
        return value

    def insert(
        self, op: Op, *inputs: Any, before: Node | None = None, like: Node | None = None, **params: Any
    ) -> Node:
        """Add a call of `op` on values and numbers in front of the node `before`, or at the end, and return it.

        Types follow from the op's rules; scope and source are those of the node `like`. Raises what the rules raise.

        >>> import workbench as wb
        >>> graph = wb.graph.trace(lambda x: x * 2, wb.ones(N=2))
        >>> graph.outputs = graph.insert(wb.core.ops.relu, graph.outputs[0]).outputs
        >>> graph(wb.tensor([1.0, -1.0]))
        tensor([2.0000, 0.0000])
        """
        position = len(self.nodes) if before is None else self.nodes.index(before)
        operands = (one.stand_in() if isinstance(one, Value) else one for one in inputs)
        with interpreting(WithoutNumbers()):
            results = op(*operands, **params)
        several = results if isinstance(results, tuple) else (results,)
        node = Node(op, inputs, params, tuple(Value(self.fresh(op.name), type_of(one)) for one in several))
        for value in node.outputs:
            value.node = node
        if like is not None:
            node.scope, node.source = like.scope, like.source
        self.nodes.insert(position, node)
        return node

    def remove(self, node: Node) -> None:
        """Take a node out; raise `GraphError` while anything reads what it makes."""
        for value in node.outputs:
            readers = [one.name for one in self.nodes if value in one.values]
            if readers or value in self.outputs:
                where = ", ".join(readers) or "the graph's output"
                raise GraphError(f"cannot remove {node.name}: {value.name} is still read by {where}")
        self.nodes.remove(node)

    def copy(self) -> Graph:
        """Return a graph of its own with the same tensors."""
        known: dict[Value, Value] = {}

        def twin(value: Value) -> Value:
            known[value] = Value(value.name, value.type)
            return known[value]

        other = Graph(self.name, [twin(one) for one in self.inputs])
        other.parameters = {twin(value): tensor for value, tensor in self.parameters.items()}
        other.constants = {twin(value): tensor for value, tensor in self.constants.items()}
        for node in self.nodes:
            inputs = tuple(known[one] if isinstance(one, Value) else one for one in node.inputs)
            made = Node(node.op, inputs, dict(node.params), (), node.scope, node.source)
            made.outputs = tuple(twin(one) for one in node.outputs)
            for value in made.outputs:
                value.node = made
            other.nodes.append(made)
        other.outputs = tuple(known[one] for one in self.outputs)
        other.single = self.single
        other._names = dict(self._names)
        return other

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph; see `workbench.graph.run`."""
        return _run(self, *inputs)

    def __str__(self) -> str:
        return str(_print(self))

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.nodes)} nodes, {len(self.parameters)} parameters>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return rich.mimebundle("graph", self)


def _unset(graph: Graph, *arguments: Any) -> Any:
    raise GraphError("import workbench.graph as a whole")


_run = _unset
_print = _unset


def use(run: Any, text: Any) -> None:
    """Set what running and printing a graph does. Called once, when the room is imported."""
    global _run, _print
    _run, _print = run, text
