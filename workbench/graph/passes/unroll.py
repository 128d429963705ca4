"""Write loops out, and decide what is decided already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.graph.blocks import Control, NamedFunction, Node, values_in
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.rewriter import Rewriter
from workbench.graph.walk import walk

__all__ = ["unroll"]


def unroll(graph: Graph, most_turns: int = 64, most_nodes: int = 2048) -> Graph:
    """Return a graph in which a loop that runs a known number of turns is those turns, one behind the other.

    Known is a number that is written in the graph, or follows from such: sums of numbers are worked out, and of an
    ``if`` whose condition is known only the block that runs is left. A loop of more than `most_turns`, or whose turns
    have more than `most_nodes` nodes together, stays.

    >>> import workbench as wb
    >>> graph = wb.graph.parse('''graph(%x : f32[N:3]):
    ...   %y : f32[N:3] = loop(3, True, %x):
    ...     body(%i : int, %a : f32[N:3]):
    ...       %b : f32[N:3] = mul(%a, %i)
    ...       return True, %b
    ...   return %y''')
    >>> print(unroll(graph))
    graph(%x : f32[N:3]):
      %b : f32[N:3] = mul(%x, 0)
      %b_1 : f32[N:3] = mul(%b, 1)
      %b_2 : f32[N:3] = mul(%b_1, 2)
      return %b_2
    """
    return dead_code(_Unroller(graph, most_turns, most_nodes).rewritten())


class _Unroller(Rewriter):
    def __init__(self, graph: Graph, most_turns: int, most_nodes: int) -> None:
        super().__init__(graph)
        self._most_turns = most_turns
        self._most_nodes = most_nodes

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        match node.callee:
            case Control.IF if type(inputs[0]) is bool:
                return self.place(node.blocks[0 if inputs[0] else 1], ())
            case Control.LOOP if (turns := self._turns(node, inputs)) is not None:
                carried = inputs[2:]
                for turn in range(turns):
                    carried = self.place(node.blocks[0], (turn, *carried))[1:]
                return carried
            case NamedFunction(numbers=True) as function if found := _number(function, inputs, params):
                return found
        return self.again(node, inputs, params)

    def _turns(self, node: Node, inputs: tuple[Any, ...]) -> int | None:
        """Return how often a loop runs; None where only a run knows, or it is too often."""
        (body,) = node.blocks
        most, condition = inputs[:2]
        if condition is False:
            return 0
        # Any other condition after a turn is known only when that has run.
        if condition is not True or type(most) is not int or body.outputs[0] is not True:
            return None
        size = sum(1 for _ in walk(body))
        return most if most <= self._most_turns and most * size <= self._most_nodes else None


def _number(function: NamedFunction, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any] | None:
    """Return what a function of numbers gives, where all of them are known; None where it refuses them."""
    if any(True for _ in values_in((inputs, params))):
        return None
    if not all(type(one) in (int, float, bool) for one in (*inputs, *params.values())):
        return None
    try:
        found = function.call(*inputs, **params)
    except (ArithmeticError, ValueError, TypeError):
        # That is for a run to say, if it comes to that.
        return None
    return (found,) if type(found) in (int, float, bool) else None
