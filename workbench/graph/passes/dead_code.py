"""Take out nodes whose results nothing reads, and tensors that no node uses."""

from __future__ import annotations

from workbench.base.size_expressions import Symbol
from workbench.graph.blocks import Block, SubGraph, Value, values_in
from workbench.graph.effects import pure
from workbench.graph.ir import Graph
from workbench.graph.symbols import binders, sized, symbols

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
        _clear_function(function, set())
    needed = set(result.returned())
    _clear_function(result, needed)
    # A parameter that is only updated is read by nobody, and still changes.
    kept = needed | set(result.updates)
    result.parameters = {value: one for value, one in result.parameters.items() if value in kept}
    result.constants = {value: one for value, one in result.constants.items() if value in kept}
    return result


def _clear_function(function: SubGraph, needed: set[Value]) -> None:
    shown = symbols(function)
    # What a guard asks for must be there to be asked: by that the function decided what to do.
    needed.update(shown[symbol][0] for guard in function.guards for symbol in guard.symbols())
    _clear(function, needed, shown)


def _clear(block: Block, needed: set[Value], shown: dict[Symbol, tuple[Value, int]]) -> None:
    """Take out of a block what is not needed, from its end on; what it reads from around it is then needed there."""
    needed.update(values_in(block.outputs), sized(block.outputs, shown))
    kept = []
    for node in reversed(block.nodes):
        # From the end on one pass does it: whoever reads a value stands behind it.
        asked = (value for inner in node.blocks for value in binders(inner))
        if pure(node) and not any(value in needed for value in (*node.outputs, *asked)):
            continue
        needed.update(node.values, sized((node.inputs, node.params), shown))
        for inner in node.blocks:
            _clear(inner, needed, shown)
        kept.append(node)
    block.nodes = kept[::-1]
