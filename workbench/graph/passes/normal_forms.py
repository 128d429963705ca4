"""Call by its name what is written out in small ops, as files of other programs have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.size_guards import SizeScope
from workbench.core.op import Op, ops
from workbench.core.value import new
from workbench.graph.blocks import Node, SubGraph, Value, filled
from workbench.graph.effects import writes_anywhere
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.passes.patterns import RULES, Found, Held, Stretched, Transposed, Turned
from workbench.graph.rules import results
from workbench.graph.types import TensorType
from workbench.graph.walk import blocks

__all__ = ["normal_forms"]


def normal_forms(graph: Graph) -> Graph:
    """Return a graph in which one op stands for the small ones that compute the same.

    Found are, written in the usual ways: ``gelu`` (both forms), ``silu`` and ``hardswish`` as products; ``layer_norm``
    as means and a root; ``attention`` as ``softmax(s·q·kᵀ + mask)·v``; ``linear`` as a product with a matrix that is a
    constant (see `freeze`), and what is added to it; and a ``permute`` between two ``reshape``. Numbers agree to the
    rounding of their type (1e-5 relative to the largest, in single precision), as sums are taken in another order. An
    attention in which a query may see nothing is left where its result would be NaN. A graph that writes into memory
    stays as it is.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: x * 0.5 * (1 + (x / 2 ** 0.5).erf()), wb.ones(N=3))
    >>> print(graph)
    graph(%x : f32[N:3]):
      %mul : f32[N:3] = mul(%x, 0.5)  # ...
      %div : f32[N:3] = div(%x, 1.4142135623730951)  # ...
      %erf : f32[N:3] = erf(%div)  # ...
      %add : f32[N:3] = add(%erf, 1)  # ...
      %mul_1 : f32[N:3] = mul(%mul, %add)  # ...
      return %mul_1
    >>> print(normal_forms(graph))
    graph(%x : f32[N:3]):
      %gelu : f32[N:3] = gelu(%x)  # ...
      return %gelu
    """
    if any(map(writes_anywhere, (graph, *graph.functions.values()))):
        return dead_code(graph)
    result = graph.copy()
    for function in (*result.functions.values(), result):
        if not function.kind:
            _Forms(result, function).all()
    return dead_code(result)


class _Forms:
    """One function, and what stands for its values by now."""

    def __init__(self, graph: Graph, function: SubGraph) -> None:
        self.graph = graph
        self.function = function
        self.held = Held(graph.constants, SizeScope(function.guards))
        self.instead: dict[Value, Value] = {}
        self.turned: dict[Value, Value] = {}
        """Constants, and their transposes."""

    def all(self) -> None:
        """Find everything, and put it in."""
        for block in blocks(self.function):
            kept: list[Node] = []
            # From the end on: what is found is as large as can be, and what it is made of is read by nobody then.
            for node in reversed(block.nodes):
                found = (
                    next((one for rule in RULES.get(node.callee, ()) if (one := rule(node, self.held))), None)
                    if node.op
                    else None
                )
                kept += [node, *reversed(self._put(node, found) if found is not None else [])]
            block.nodes = kept[::-1]
        for block in blocks(self.function):
            block.outputs = filled(block.outputs, self._now)
            for node in block.nodes:
                node.inputs, node.params = filled(node.inputs, self._now), filled(node.params, self._now)
        if self.function is self.graph:
            self.graph.updates = {value: self._now(one) for value, one in self.graph.updates.items()}

    def _now(self, value: Value) -> Value:
        return self.instead.get(value, value)

    def _put(self, node: Node, found: Found) -> list[Node]:
        """Return nodes that give what a node gives; none where that is of another type, or not so for all sizes."""
        made: list[Node] = []
        with SizeScope(self.function.guards) as sizes:
            try:
                inputs = tuple(self._operand(one, node, made, sizes) for one in found.inputs)
                last = self._call(found.op, inputs, found.params, node, sizes)
            except (TypeError, ValueError, LookupError, RuntimeError):
                # What a rule says of operands that it does not take.
                return []
            # What the rules ask for must follow: the graph holds for as many sizes as before.
            if len(sizes.guards) > len(self.function.guards) or not _alike(
                last.outputs[0], node.outputs[0], sizes
            ):
                return []
        self.instead[node.outputs[0]] = last.outputs[0]
        return [*made, last]

    def _operand(self, operand: Any, node: Node, made: list[Node], sizes: SizeScope) -> Any:
        if isinstance(operand, Transposed):
            value = operand.value
            rank = len(value.tensor.dims.sizes)
            order = (*range(rank - 2), rank - 1, rank - 2)
            if value.node is not None and value.node.op is ops.permute and value.node.params["dim"] == order:
                return value.node.inputs[0]
            made.append(self._call(ops.permute, (value,), {"dim": order}, node, sizes))
            return made[-1].outputs[0]
        if isinstance(operand, Stretched):
            missing = 4 - len(operand.value.tensor.dims.sizes)
            if missing == 0:
                return operand.value
            shape = (*(1,) * missing, *map(sizes.settle, operand.value.tensor.sizes))
            made.append(self._call(ops.reshape, (operand.value,), {"sizes": shape}, node, sizes))
            return made[-1].outputs[0]
        if isinstance(operand, Turned):
            if operand.value not in self.turned:
                array = np.ascontiguousarray(self.graph.constants[operand.value].payload.T)
                self.turned[operand.value] = self.graph.hold(new(array, None), "weight")
            return self.turned[operand.value]
        return operand

    def _call(
        self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], like: Node, sizes: SizeScope
    ) -> Node:
        call = Node(op, inputs, params, (), like.scope, like.source)
        kinds = results(call, sizes) or ()
        call.outputs = tuple(Value(self.graph.fresh(op.name), one, call) for one in kinds)
        return call


def _alike(one: Value, other: Value, sizes: SizeScope) -> bool:
    if not (
        isinstance(one.type, TensorType)
        and isinstance(other.type, TensorType)
        and one.type.accepts(other.type)
    ):
        return False
    return [sizes.settle(size) for size in one.type.sizes] == [
        sizes.settle(size) for size in other.type.sizes
    ]
