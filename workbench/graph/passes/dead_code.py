"""Take out nodes whose results nothing reads, and tensors that no node uses."""

from __future__ import annotations

from workbench.graph.blocks import Block, Value, values_in
from workbench.graph.effects import pure
from workbench.graph.ir import Graph

__all__ = ["dead_code"]


def dead_code(graph: Graph) -> Graph:
    """Return a graph without what cannot reach its outputs, in any of its blocks and functions.

    What changes memory stays, and so do seeds: those that are drawn after one are drawn as before.

    >>> import workbench as wb
    >>> len(dead_code(wb.graph.trace(lambda x: (x * 2, x + 1)[0], wb.ones(2))).nodes)
    1
    """
    result = graph.copy()
    for function in result.functions.values():
        # Each for itself: what a function returns is needed, whoever calls it.
        _clear(function, set())
    needed = set(result.returned())
    _clear(result, needed)
    # A parameter that is only updated is read by nobody, and still changes.
    kept = needed | set(result.updates)
    result.parameters = {value: one for value, one in result.parameters.items() if value in kept}
    result.constants = {value: one for value, one in result.constants.items() if value in kept}
    return result


def _clear(block: Block, needed: set[Value]) -> None:
    """Take out of a block what is not needed, from its end on; what it reads from around it is then needed there."""
    needed.update(values_in(block.outputs))
    kept = []
    for node in reversed(block.nodes):
        # From the end on one pass does it: whoever reads a value stands behind it.
        if pure(node) and not any(value in needed for value in node.outputs):
            continue
        needed.update(node.values)
        for inner in node.blocks:
            _clear(inner, needed)
        kept.append(node)
    block.nodes = kept[::-1]
