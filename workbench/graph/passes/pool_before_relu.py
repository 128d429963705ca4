"""Take the largest of windows first, and rectify what is left of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.op import ops
from workbench.graph.blocks import Node, Value
from workbench.graph.effects import writes_anywhere
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.rewriter import Rewriter

__all__ = ["pool_before_relu"]


def pool_before_relu(graph: Graph) -> Graph:
    """Return a graph in which ``max_pool2d(relu(x))`` is ``relu(max_pool2d(x))``: the same numbers, of fewer values.

    The largest of what is rectified is the largest, rectified; NaN wins either way, and a zero may have the other sign.
    The gradients are the same too: where a window has nothing above 0 none goes through, whatever place was the
    largest, and elsewhere the place is the same. A rectifier whose result something else reads too stays, and so does
    one of which the places of the largest are read: they would be others among zeros. A graph that writes into memory
    stays as it is.

    >>> import workbench as wb
    >>> network = wb.nn.Sequential(wb.nn.Conv2d(1, 4, 3), wb.nn.ReLU(), wb.nn.MaxPool2d(2))
    >>> graph = wb.graph.trace(network, wb.ones(1, 1, 6, 6))
    >>> [node.op.name for node in pool_before_relu(graph).nodes]
    ['conv2d', 'max_pool2d', 'relu']
    """
    if any(map(writes_anywhere, (graph, *graph.functions.values()))):
        return dead_code(graph)
    return dead_code(_PoolFirst(graph).rewritten())


class _PoolFirst(Rewriter):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._readers = graph.users()
        self._returned = set(graph.returned())

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        before = node.inputs[0].node if node.op is ops.max_pool2d else None
        if before is None or before.op is not ops.relu or not self._is_free(node, before):
            return self.again(node, inputs, params)
        rectified: Node = inputs[0].node
        values, places = self.insert(ops.max_pool2d, rectified.inputs, params, like=node)
        (made,) = self.insert(ops.relu, (values,), {}, like=before)
        return made, places

    def _is_free(self, node: Node, before: Node) -> bool:
        """Say whether nothing but the pooling reads what was rectified, and nothing where the largest were."""
        return self._read_by(before.outputs[0]) == [node] and not self._read_by(node.outputs[1])

    def _read_by(self, value: Value) -> list[Node | None]:
        # What a function computes is not known here: functions stay as they are.
        return [*self._readers.get(value, ()), *([None] if value in self._returned else [])]
