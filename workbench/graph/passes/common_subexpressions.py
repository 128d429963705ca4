"""Compute once what is computed twice."""

from __future__ import annotations

from typing import Any

from workbench.graph.ir import Graph, Node, Value
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.printing import literal

__all__ = ["common_subexpressions"]


def _key(node: Node) -> tuple[Any, ...]:
    inputs = tuple(id(one) if isinstance(one, Value) else literal(one) for one in node.inputs)
    return node.op.name, inputs, tuple((key, literal(node.params[key])) for key in sorted(node.params))


def common_subexpressions(graph: Graph) -> Graph:
    """Return a graph in which a call with the same inputs and parameters stands once; random ops stay.

    >>> import workbench as wb
    >>> len(common_subexpressions(wb.graph.trace(lambda x: x.exp() + x.exp(), wb.ones(2))).nodes)
    2
    """
    result = graph.copy()
    seen: dict[tuple[Any, ...], Node] = {}
    for node in result.nodes:
        if "random" in node.op.properties:
            continue
        first = seen.setdefault(_key(node), node)
        if first is not node:
            for old, new in zip(node.outputs, first.outputs, strict=True):
                result.replace(old, new)
    return dead_code(result)
