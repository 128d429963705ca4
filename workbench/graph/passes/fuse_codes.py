"""Put what is done to codes together with the layer that gives them: bounds of its result, and sums behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dtypes import quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import ops
from workbench.core.quantization import Quantization
from workbench.graph.blocks import Node, Value, values_in
from workbench.graph.ir import Graph
from workbench.graph.outlining import Outliner
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.rewriter import Rewriter
from workbench.graph.types import TensorType
from workbench.graph.walk import walk

__all__ = ["CODES", "fuse_codes", "table_of"]

CODES = "fused_codes"
"""What kind of functions come out."""

_LAYERS = (ops.quantized_conv2d, ops.quantized_linear)
_SUMS = (ops.quantize_per_tensor, ops.quantized_add)
_SCALARS = (ops.quantized_add_scalar, ops.quantized_mul_scalar)
"""What gives each code another meaning, or turns it around: one by one as well."""


def fuse_codes(graph: Graph) -> Graph:
    """Return a graph in which layers on codes bound their results themselves, and sums of codes are one call.

    A rectifier, or bounds, of a layer's codes that nothing else reads become the layer's own: it gives no code outside
    of theirs. ``quantize_per_tensor`` of an ``add``, rectified or not, of two ``dequantize`` that nothing else reads
    becomes a function of the kind ``fused_codes``; the layer ``quantized_conv2d`` whose result is added stands in it,
    and likewise that whose result ``quantized_add`` takes.
    The codes stay the very same.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> w = wb.quantize_per_tensor(wb.ones(1, 1, 1, 1), 0.5, 0, wb.qint8)
    >>> def block(x):
    ...     q = wb.quantize_per_tensor(x, 0.1, 10, wb.quint8)
    ...     y = F.conv2d(q, w, None, scale=0.1).relu()
    ...     return wb.quantize_per_tensor(y.dequantize() + q.dequantize(), 0.2, 0, wb.quint8).dequantize()
    >>> graph = fuse_codes(wb.graph.trace(block, wb.ones(1, 1, 4, 4)))
    >>> [node.callee.kind if node.op is None else node.op.name for node in graph.nodes]
    ['quantize_per_tensor', 'fused_codes', 'dequantize']
    """
    if not any(node.op in _LAYERS or node.op in _SUMS for node, _ in walk(graph)):
        return graph.copy()
    result = dead_code(_Bounded(graph).rewritten())
    outliner = Outliner(result)
    for node in [node for node, _ in walk(result) if node.op in _SUMS]:
        group = _sum(node, outliner) if node.op is ops.quantize_per_tensor else _sum_of_layer(node, outliner)
        if group:
            outliner.attempt(group, CODES)
    return result


def table_of(node: Node, params: dict[str, Any], scale: float, zero_point: int) -> QuantizedArray | None:
    """Return what a node of one value gives for each of its 256 codes, in their order; None where it says no codes.

    Beside the value it may be given numbers, as ``clamp`` is.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: x.relu().clamp(max=20.0), wb.ones(2))
    >>> [table_of(node, node.params, 0.5, 100).codes[[0, 100, 255]].tolist() for node in graph.nodes]
    [[100, 100, 255], [0, 100, 140]]
    """
    op, operands = node.op, node.inputs
    rule = None if op is None else op.quantized
    if op is None or not isinstance(rule, Quantization) or not callable(rule.codes):
        return None
    alone = len(node.values) == 1 == sum(isinstance(one, Value) for one in operands)
    if ("elementwise" not in op.properties and op not in _SCALARS) or not alone:
        return None
    if not all(isinstance(one, Value | int | float) for one in operands):
        return None
    every = QuantizedArray(np.arange(256, dtype=np.uint8), scale, zero_point, quint8)
    found = rule.codes(op, *(every if isinstance(one, Value) else one for one in operands), **params)
    fits = isinstance(found, QuantizedArray) and found.dtype is quint8 and found.per_tensor
    return found if fits else None


class _Bounded(Rewriter):
    """Gives layers the bounds of what stands behind them."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._readers = graph.users()
        self._returned = set(graph.returned())

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        # In the new graph, where one bound after the other becomes the layer's.
        value = next(values_in(inputs), None) if len(node.values) == 1 and len(node.outputs) == 1 else None
        layer = None if value is None else value.node
        if layer is None or layer.op not in _LAYERS or not self._is_alone(node.values[0]):
            return self.again(node, inputs, params)
        bounds = _bounds(node, params, layer.params)
        if bounds is None:
            return self.again(node, inputs, params)
        told = {**layer.params, "qmin": bounds[0], "qmax": bounds[1]}
        return self.insert(layer.op, layer.inputs, told, like=layer)

    def _is_alone(self, value: Value) -> bool:
        return len(self._readers.get(value, ())) == 1 and value not in self._returned


def _bounds(node: Node, params: dict[str, Any], layer: dict[str, Any]) -> tuple[int, int] | None:
    """Return the least and the greatest code that is left where a node only bounds the codes of a layer."""
    scale, zero = layer["scale"], layer["zero_point"]
    found = None if scale is None else table_of(node, params, scale, zero)
    if found is None or (found.scale, found.zero_point) != (scale, zero):
        return None
    low, high = int(found.codes.min()), int(found.codes.max())
    if not np.array_equal(found.codes, np.clip(np.arange(256), low, high)):
        return None
    low, high = max(low, layer["qmin"]), min(high, layer["qmax"])
    # A layer's greatest code is not below its zero point.
    return (low, high) if max(low, zero) <= high else None


def _sum(quantize: Node, outliner: Outliner) -> list[Node]:
    """Return the nodes that make the codes of a sum, in order; none where it is something else."""
    if quantize.params["dtype"] is not quint8 or not isinstance(quantize.inputs[0], Value):
        return []
    group = [quantize]
    before = _made_for(quantize.inputs[0], quantize, outliner)
    if before is not None and before.op is ops.relu:
        group.insert(0, before)
        before = _made_for(before.inputs[0], before, outliner)
    if before is None or before.op is not ops.add or before.params or len(before.values) != 2:
        return []
    terms = [_made_for(one, before, outliner) for one in before.values]
    if terms[0] is terms[1] or not all(one is not None and _is_of_codes(one) for one in terms):
        return []
    sizes = [outliner.sizes(before, one) for one in before.values]
    if sizes[0] != sizes[1]:
        return []
    found = [one for one in terms if one is not None]
    order = {node: i for i, node in enumerate(outliner.block[quantize].nodes)}
    last = _last_layer([(one.inputs[0], one) for one in found], order, outliner)
    return sorted([*last, *found, before, *group], key=lambda one: order[one])


def _sum_of_layer(add: Node, outliner: Outliner) -> list[Node]:
    """Return a layer and the op that adds its codes to others; none where it is something else."""
    one, two = (*add.values, None, None)[:2]
    if one is None or two is None or one is two or not (_is_unsigned(one) and _is_unsigned(two)):
        return []
    if outliner.sizes(add, one) != outliner.sizes(add, two):
        return []
    order = {node: i for i, node in enumerate(outliner.block[add].nodes)}
    last = _last_layer([(one, add), (two, add)], order, outliner)
    return [*last, add] if last else []


def _last_layer(terms: list[tuple[Value, Node]], order: dict[Node, int], outliner: Outliner) -> list[Node]:
    """Return the convolution whose codes only this sum reads; of two the one that runs later.

    What it is added to is there by then.
    """
    layers = [
        value.node
        for value, reader in terms
        if value.node is not None
        and value.node.op is ops.quantized_conv2d
        and outliner.only_reader(value) is reader
    ]
    return [max(layers, key=lambda one: order[one])] if layers else []


def _made_for(value: Value, reader: Node, outliner: Outliner) -> Node | None:
    """Return the node that makes a value for this reader alone."""
    return value.node if outliner.only_reader(value) is reader else None


def _is_of_codes(node: Node) -> bool:
    """Say whether a node gives the numbers of codes without sign."""
    return node.op is ops.dequantize and _is_unsigned(node.inputs[0])


def _is_unsigned(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is quint8
