"""What a graph costs: operations, memory moved, parameters, node by node."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.base.dims import Dims
from workbench.graph.ir import Graph, Node, Value

__all__ = ["Cost", "cost", "total"]


@dataclass(frozen=True)
class Cost:
    """Floating point operations, bytes read and written, and values of parameters read."""

    flops: float
    bytes: float
    parameters: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes, self.parameters + other.parameters)


def _bytes(value: Value) -> float:
    return float(value.type.dims.numel * value.type.dtype.itemsize)


def cost(graph: Graph, node: Node) -> Cost:
    """Return the cost of one node at the sizes of the trace."""
    dims = tuple(one.type.dims if isinstance(one, Value) else Dims((), ()) for one in node.inputs)
    flops = node.op.cost(dims, node.outputs[0].type.dims, **node.params)
    moved = sum(_bytes(one) for one in (*node.values, *node.outputs))
    parameters = sum(one.type.dims.numel for one in node.values if one in graph.parameters)
    return Cost(flops, moved, parameters)


def total(graph: Graph) -> Cost:
    """Return the cost of a whole graph; a parameter that is read twice counts once.

    >>> import workbench as wb
    >>> total(wb.graph.trace(lambda x: x @ x, wb.ones(4, 4))).flops
    128.0
    """
    parts = [cost(graph, node) for node in graph.nodes]
    parameters = sum(value.type.dims.numel for value in graph.parameters)
    return Cost(sum(one.flops for one in parts), sum(one.bytes for one in parts), parameters)
