"""Make one product of several that stand side by side: of one input, with weights that are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.core.dispatch import no_grad
from workbench.core.op import Op, ops
from workbench.core.value import labelled
from workbench.graph.blocks import Node, Value
from workbench.graph.cost import elements_of
from workbench.graph.effects import writes_anywhere
from workbench.graph.ir import Graph
from workbench.graph.outlining import Outliner
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.passes.fuse_convolutions import followed
from workbench.graph.rewriter import Rewriter
from workbench.graph.types import TensorType
from workbench.graph.walk import walk

__all__ = ["batch_products"]

LARGEST = 1 << 22
"""Weights of more values together are left apart: such products fill a processor each for itself."""


def batch_products(graph: Graph) -> Graph:
    """Return a graph in which products of one input with several weights are one product and its parts.

    Of ``linear(x, a, b)`` and ``linear(x, c, d)`` the weights are put together, which must be constants (see `freeze`)
    that nothing else reads, and so are those of ``matmul(x, a)``: the queries, keys and values of an attention are one
    product then. Each number is the sum of the same products as before; sums may be taken in another order. A product
    that has something to be fused with stays, as do large ones, and all in a graph that writes into memory.

    >>> import workbench as wb
    >>> a, b, linear = wb.ones(4, 3), wb.ones(2, 3), wb.nn.functional.linear
    >>> graph = wb.graph.trace(lambda x: (linear(x, a), linear(x, b)), wb.ones(N=5, C=3))
    >>> print(batch_products(graph))
    graph(%x : f32[N:5, C=3]):
      assert %x.shape[1] == 3  # ...
      %weights : f32[·:6, ·:3] = constant()
      %linear : f32[N:5, ·:6] = linear(%x, %weights)  # ...
      %index : f32[N:5, ·:4] = index(%linear, key=(slice(None, None, None), slice(0, 4, None)))  # ...
      %index_1 : f32[N:5, ·:2] = index(%linear, key=(slice(None, None, None), slice(4, 6, None)))  # ...
      return (%index, %index_1)
    """
    if any(map(writes_anywhere, (graph, *graph.functions.values()))):
        return dead_code(graph)
    together = {node: one for one in _together(graph) for node in one}
    return dead_code(_Batched(graph, together).rewritten())


_SIDES: dict[Op, int] = {ops.linear: 0, ops.matmul: 1}
"""The ops, and the dim of their weight that stands in the result."""


def _together(graph: Graph) -> Iterator[list[Node]]:
    """Yield products that can be one, in the order in which they stand."""
    outliner = Outliner(graph)
    found: dict[tuple[Any, ...], list[Node]] = {}
    for node, block in walk(graph):
        if node.op in _SIDES and _known(node, graph, outliner) and len(followed(node, outliner)) == 1:
            weight = graph.constants[node.inputs[1]]
            # Parts are called what the results were called.
            alike = node.op, len(node.inputs), weight.dtype, weight._names, weight._labels
            rest = node.outputs[0].tensor.dims.names, node.outputs[0].tensor.dtype
            found.setdefault((id(block), node.inputs[0], *alike, *rest), []).append(node)
    for nodes in found.values():
        size = sum(elements_of(node.inputs[1]) for node in nodes)
        if len(nodes) > 1 and size <= LARGEST:
            yield nodes


def _known(node: Node, graph: Graph, outliner: Outliner) -> bool:
    """Say whether a node is a product of a tensor and a weight, and nothing else needs what it is given."""
    first, *held = node.inputs
    # A parameter that is trained would be put together in each run.
    if node.params or not isinstance(first, Value) or not isinstance(first.type, TensorType):
        return False
    if not all(isinstance(one, Value) and one in graph.constants for one in held):
        return False
    if any(graph.constants[one].requires_grad for one in held):
        return False
    alone = all(len(outliner.readers(one)) == 1 and one not in outliner.needed for one in held)
    plain = all(one.tensor.dtype == node.outputs[0].tensor.dtype for one in (first, *held))
    matrices = len(held[0].tensor.dims.sizes) == 2 and len(first.tensor.dims.sizes) > 1
    return alone and plain and matrices and first.tensor.dtype.kind == "f"


class _Batched(Rewriter):
    def __init__(self, graph: Graph, together: dict[Node, list[Node]]) -> None:
        super().__init__(graph)
        self._together = together
        self._made: dict[Node, tuple[Value, ...]] = {}

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        nodes = self._together.get(node)
        if nodes is None:
            return self.again(node, inputs, params)
        if node is nodes[0]:
            self._put(nodes, inputs[0])
        return self._made[node]

    def _put(self, nodes: list[Node], first: Value) -> None:
        """Write one product for several, where the first of them stood, and its parts."""
        node, side = nodes[0], _SIDES[nodes[0].callee]
        held = [self._joined(nodes, 1, side, "weights")]
        if len(node.inputs) > 2:
            held.append(self._joined(nodes, 2, 0, "biases"))
        (whole,) = self.insert(node.callee, (first, *held), like=node)
        start = 0
        for one in nodes:
            end = start + one.inputs[1].tensor.dims.sizes[side]
            key = (*[slice(None)] * (len(whole.tensor.dims.sizes) - 1), slice(start, end))
            self._made[one] = self.insert(ops.index, (whole,), {"key": key}, like=one)
            start = end

    def _joined(self, nodes: Sequence[Node], place: int, dim: int, name: str) -> Value:
        tensors = [self.old.constants[node.inputs[place]] for node in nodes]
        with no_grad():
            whole = ops.cat(*tensors, dim=dim)
        return self.graph.hold(labelled(whole, tensors[0]._labels), name)
