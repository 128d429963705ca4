"""What only a gradient reads, left out of a graph that has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.op import ops
from workbench.graph.blocks import Node
from workbench.graph.ir import Graph
from workbench.graph.rewriter import Rewriter

__all__ = ["untrained"]


def untrained(graph: Graph) -> Graph:
    """Return a graph in which picked rows are passed on as they are, and not what part of their gradient is.

    >>> import workbench as wb
    >>> words = wb.nn.Embedding(5, 3, padding_idx=0)
    >>> [node.op.name for node in untrained(wb.graph.trace(words, wb.tensor([1, 2]))).nodes]
    ['embedding', 'embedding_share']
    """
    return _Untrained(graph).rewritten()


class _Untrained(Rewriter):
    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        # A copy of the rows, which nobody else has: they are passed on in its place.
        return (inputs[0],) if node.op is ops.pass_share else self.again(node, inputs, params)
