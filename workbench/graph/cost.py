"""What a graph costs: operations, memory moved, parameters, node by node."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.base.dims import Dims
from workbench.base.size_expressions import hint_of
from workbench.graph.blocks import Node, SubGraph, Value, filled, values_in
from workbench.graph.ir import Graph
from workbench.graph.types import TensorType
from workbench.graph.walk import walk

__all__ = ["Cost", "bytes_of", "cost", "elements_of", "total"]


@dataclass(frozen=True)
class Cost:
    """Floating point operations, bytes read and written, and values of parameters read."""

    flops: float
    bytes: float
    parameters: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes, self.parameters + other.parameters)


def bytes_of(value: Value) -> float:
    """Return the memory that a tensor takes at the sizes of the trace; 0 for what is none, or not known."""
    kind = value.type
    return float(kind.dims.numel * kind.dtype.itemsize) if isinstance(kind, TensorType) else 0.0


def elements_of(value: Value) -> int:
    """Return how many values a tensor has at the sizes of the trace; 0 for what is none, or not known."""
    return value.type.dims.numel if isinstance(value.type, TensorType) else 0


def cost(graph: Graph, node: Node) -> Cost:
    """Return the cost of one node at the sizes of the trace.

    A node of blocks has none of its own, the nodes in them have theirs; a function of the graph costs what its nodes
    cost; what a module kept whole or a function called by name computes is not known, and counts nothing.
    """
    values = node.values
    moved = sum(map(bytes_of, (*values, *node.outputs)))
    parameters = sum(elements_of(one) for one in values if one in graph.parameters)
    if node.blocks:
        # Which block runs, and how often, is not known before it runs.
        return Cost(0.0, 0.0, parameters)
    if isinstance(node.callee, SubGraph):
        # The parameters are left out: a function holds none, and is given them by this node.
        parts = [cost(graph, inner) for inner, _ in walk(node.callee)]
        return Cost(sum(one.flops for one in parts), sum(one.bytes for one in parts), parameters)
    return Cost(_flops(node), moved, parameters)


def _flops(node: Node) -> float:
    tensors = (*values_in(node.inputs), *node.outputs)
    # A rule of costs asks for dims of all that it is given.
    known = all(isinstance(one.type, TensorType) for one in tensors)
    if node.op is None or not known:
        return 0.0
    dims = [
        one.type.dims if isinstance(one, Value) and isinstance(one.type, TensorType) else Dims((), ())
        for one in (*node.inputs, node.outputs[0])
    ]
    # A number that a node computes counts as 0: costs depend on sizes.
    return float(node.op.cost(tuple(dims[:-1]), dims[-1], **filled(node.params, lambda value: 0, hint_of)))


def total(graph: Graph) -> Cost:
    """Return the cost of a whole graph; a parameter that is read twice counts once, both blocks of an ``if`` count.

    >>> import workbench as wb
    >>> total(wb.graph.trace(lambda x: x @ x, wb.ones(4, 4))).flops
    128.0
    """
    parts = [cost(graph, node) for node, _ in graph.walk()]
    # Not the sum over nodes, which would count one that is read twice twice.
    parameters = sum(map(elements_of, graph.parameters))
    return Cost(sum(one.flops for one in parts), sum(one.bytes for one in parts), parameters)
