"""Let planes lie with their channels last, from the first convolution on: decided once for the whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.memory_formats import channels_last as CHANNELS_LAST
from workbench.core.op import ops
from workbench.graph.blocks import Block, Node, SubGraph, Value
from workbench.graph.ir import Graph
from workbench.graph.rewriter import Rewriter
from workbench.graph.types import TensorType
from workbench.graph.walk import walk

__all__ = ["channels_last"]


def channels_last(graph: Graph) -> Graph:
    """Return a graph in which convolutions and poolings of planes read values whose channels lie last in memory.

    Sizes and names stay, y[n, c, h, w] = x[n, c, h, w]; what changes is that y[n, c + 1, h, w] comes next in memory. A
    ``lay_out`` stands in front of what reads planes that come from elsewhere: an input, a reshaped value. What such a
    node gives lies so by itself, and so does what is computed of it value by value, or joined: an image is turned once
    for the whole network. A graph without ``conv2d`` stays as it is, and so do functions that were put together already
    and other types than floats. Run it before `fuse_convolutions`.

    >>> import workbench as wb
    >>> layers = [wb.nn.Conv2d(3, 8, 3), wb.nn.ReLU(), wb.nn.MaxPool2d(2), wb.nn.Conv2d(8, 4, 3)]
    >>> graph = wb.graph.trace(wb.nn.Sequential(*layers), wb.ones(1, 3, 10, 10))
    >>> [node.op.name for node in channels_last(graph).nodes]
    ['lay_out', 'conv2d', 'relu', 'max_pool2d', 'conv2d']
    """
    several = (graph, *graph.functions.values())
    if not any(node.op is ops.conv2d for function in several for node, _ in walk(function)):
        return graph.copy()
    return _ChannelsLast(graph).rewritten()


_PLANES = (ops.conv2d, ops.max_pool2d, ops.avg_pool2d)
"""What reads planes as its first operand, and gives planes that lie as they did."""

_ORDER = CHANNELS_LAST.order


class _ChannelsLast(Rewriter):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._lying: set[Value] = set()
        """Values of the new graph whose channels lie last."""
        self._turned: dict[tuple[Block, Value], Value] = {}
        """What was turned, by the block in which it is: another one may not see it."""
        self._kept = False

    def function(self, old: SubGraph) -> SubGraph:
        around, self._kept = self._kept, bool(old.kind)
        try:
            return super().function(old)
        finally:
            self._kept = around

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        if self._kept:
            return self.again(node, inputs, params)
        if node.op in _PLANES and self._turns(inputs[0]):
            inputs = (self._laid(inputs[0], node), *inputs[1:])
        made = self.again(node, inputs, params)
        turned = node.op is ops.lay_out and params["order"] == _ORDER
        if turned or node.op in _PLANES or self._goes_along(node, inputs):
            self._lying.update(made)
        return made

    def _turns(self, operand: Any) -> bool:
        """Say whether an operand is planes of floats that lie otherwise, as far as is known."""
        return isinstance(operand, Value) and _is_planes(operand) and operand not in self._lying

    def _laid(self, value: Value, node: Node) -> Value:
        place = self._into, value
        if place not in self._turned:
            (self._turned[place],) = self.insert(ops.lay_out, (value,), {"order": _ORDER}, like=node)
        return self._turned[place]

    def _goes_along(self, node: Node, inputs: tuple[Any, ...]) -> bool:
        """Say whether what a node gives lies as its operands do, which lie with their channels last."""
        op = node.op
        if op is None or not ("elementwise" in op.properties or op in (ops.cat, ops.batch_norm_inference)):
            return False
        planes = [one for one in _values(inputs) if _is_planes(one)]
        return bool(planes) and all(one in self._lying for one in planes)


def _values(inputs: tuple[Any, ...]) -> list[Value]:
    return [one for one in inputs if isinstance(one, Value)]


def _is_planes(value: Value) -> bool:
    kind = value.type
    # Codes of quantized tensors lie row by row.
    floats = isinstance(kind, TensorType) and isinstance(kind.dtype, np.dtype) and kind.dtype.kind == "f"
    return floats and len(value.tensor.sizes) == 4
