"""Take out nodes whose results nothing reads, and tensors that no node uses."""

from __future__ import annotations

from workbench.graph.ir import Graph

__all__ = ["dead_code"]


def dead_code(graph: Graph) -> Graph:
    """Return a graph without what cannot reach its outputs.

    >>> import workbench as wb
    >>> len(dead_code(wb.graph.trace(lambda x: (x * 2, x + 1)[0], wb.ones(2))).nodes)
    1
    """
    result = graph.copy()
    needed = set(result.outputs)
    kept = []
    for node in reversed(result.nodes):
        if any(value in needed for value in node.outputs):
            needed.update(node.values)
            kept.append(node)
    result.nodes = kept[::-1]
    result.parameters = {value: one for value, one in result.parameters.items() if value in needed}
    result.constants = {value: one for value, one in result.constants.items() if value in needed}
    return result
