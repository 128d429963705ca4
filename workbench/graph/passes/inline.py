"""Put what functions of the graph do in the place of their calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.graph.blocks import GraphError, Node, SubGraph
from workbench.graph.ir import Graph
from workbench.graph.rewriter import Rewriter
from workbench.graph.walk import walk

__all__ = ["inline"]

MOST_NODES = 1_000_000
"""Some hundred times what the largest models have."""


def inline(graph: Graph) -> Graph:
    """Return a graph that calls no function of its own: what those do stands where they were called.

    Raises `GraphError` where that would be more nodes than any model has: functions that call one another twice each
    need a few lines only.

    >>> import workbench as wb
    >>> graph = wb.graph.parse('''twice(%a : f32[N:3]):
    ...   %b : f32[N:3] = add(%a, %a)
    ...   return %b
    ... graph(%x : f32[N:3]):
    ...   %y : f32[N:3] = @twice(%x)
    ...   %z : f32[N:3] = @twice(%y)
    ...   return %z''')
    >>> print(inline(graph))
    graph(%x : f32[N:3]):
      %b : f32[N:3] = add(%x, %x)
      %b_1 : f32[N:3] = add(%b, %b)
      return %b_1
    """
    count = _count(graph, {})
    if count > MOST_NODES:
        raise GraphError(
            f"{graph.name} would have {count} nodes with its functions in the places of their calls, and {MOST_NODES} "
            "is the most that is written out: run it as it is"
        )
    return _Inliner(graph).rewritten()


def _count(function: SubGraph, known: dict[SubGraph, int]) -> int:
    """Return how many nodes a function has with all that it calls, each as often as it is called."""
    if function not in known:
        # Each is counted once: those that it calls were written before it, and none calls itself.
        known[function] = sum(
            _count(node.callee, known) if isinstance(node.callee, SubGraph) else 1
            for node, _ in walk(function)
        )
    return known[function]


class _Inliner(Rewriter):
    # None is left to be called.
    writes_functions = False

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        function = node.callee
        if not isinstance(function, SubGraph):
            return self.again(node, inputs, params)
        found = self.place(function, inputs, function)
        # Called for its tuple, as one value, it gives the tuple.
        return found if function.single or len(node.outputs) == len(found) else (found,)
