"""Compute once what is computed twice."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from workbench.graph.blocks import Block, Node
from workbench.graph.effects import pure, writes_anywhere
from workbench.graph.ir import Graph
from workbench.graph.operand_text import written
from workbench.graph.passes.dead_code import dead_code

__all__ = ["common_subexpressions"]


def _key(node: Node) -> tuple[Any, ...]:
    def name(value: Any) -> str:
        # By identity: in blocks beside each other two values may have had one name.
        return f"%{id(value)}"

    # As text: parameters may be lists and arrays, which have no hash; 1, 1.0 and True stay apart.
    params = tuple((key, written(node.params[key], name)) for key in sorted(node.params))
    return node.callee, written(node.inputs, name), params


def common_subexpressions(graph: Graph) -> Graph:
    """Return a graph in which a call with the same inputs and parameters stands once.

    A block finds what was computed before it in the blocks around it, and never what another block computed. What
    draws by two seeds is two calls. A graph that writes into memory stays as it is: there the same call may give other
    numbers later.

    >>> import workbench as wb
    >>> len(common_subexpressions(wb.graph.trace(lambda x: x.exp() + x.exp(), wb.ones(2))).nodes)
    2
    """
    result = graph.copy()
    if not any(map(writes_anywhere, (result, *result.functions.values()))):
        _merge(result, result, ChainMap())
    return dead_code(result)


def _merge(graph: Graph, block: Block, seen: ChainMap[tuple[Any, ...], Node]) -> None:
    for node in block.nodes:
        for inner in node.blocks:
            # A level of its own: what a block computes is not known behind it.
            _merge(graph, inner, seen.new_child())
        if not pure(node) or node.blocks:
            continue
        first = seen.setdefault(_key(node), node)
        if first is not node:
            for old, new in zip(node.outputs, first.outputs, strict=True):
                graph.replace(old, new)
