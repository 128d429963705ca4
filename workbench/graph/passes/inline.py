"""Put what functions of the graph do in the place of their calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.graph.blocks import Node, SubGraph
from workbench.graph.ir import Graph
from workbench.graph.rewriter import Rewriter

__all__ = ["inline"]


def inline(graph: Graph) -> Graph:
    """Return a graph that calls no function of its own: what those do stands where they were called.

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
    return _Inliner(graph).rewritten()


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
