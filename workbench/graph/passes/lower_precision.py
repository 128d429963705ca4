"""Let a graph compute in a type of 16 bits where that is safe, as autocast does, and keep its values so in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, half_width
from workbench.core.dispatch import no_grad
from workbench.core.op import Op, ops
from workbench.core.value import labelled
from workbench.graph.blocks import Block, GraphError, Node, Value, filled, values_in
from workbench.graph.ir import Graph
from workbench.graph.rewriter import Rewriter
from workbench.graph.types import TensorType
from workbench.graph.walk import walk

__all__ = ["lower_precision"]

_FLOAT32 = np.dtype(np.float32)


def lower_precision(graph: Graph, dtype: Any) -> Graph:
    """Return a graph that computes its products in `dtype`, bfloat16 or float16; what goes in and out keeps its type.

    Convolutions, linear maps and products read and give narrow values, and so does what follows them: sums,
    activations, pooling, norms (which compute in float32 inside) and whatever moves values. Other
    elementwise ops compute in float32 on narrow values, and round what they give once. Ops whose record says that they
    need range or digits (``wide``, as autocast asks) and all others read and give float32. Constants become narrow
    beforehand.

    Raises `GraphError` for a graph with blocks or functions, which `inline` and `unroll` resolve.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(3, 4), wb.nn.ReLU(), wb.nn.Linear(4, 2))
    >>> from workbench.graph.passes import freeze
    >>> graph = lower_precision(freeze(wb.graph.trace(model, wb.ones(1, 3))), wb.bfloat16)
    >>> [(node.op.name, str(node.outputs[0].tensor.dtype)) for node in graph.nodes]
    [('to', 'bfloat16'), ('linear', 'bfloat16'), ('relu', 'bfloat16'), ('linear', 'bfloat16'), ('to', 'float32')]
    """
    narrow = as_dtype(dtype).numpy
    if not half_width(narrow):
        raise GraphError(f"lower_precision: {dtype} is no float of 16 bits; bfloat16 and float16 are")
    if graph.functions or any(node.blocks for node, _ in walk(graph)):
        raise GraphError("lower_precision: the graph has functions or blocks: inline and unroll it first")
    return _Lowered(graph, narrow).rewritten()


_KEPT = (
    ops.relu, ops.hardtanh, ops.hardswish, ops.silu, ops.sigmoid, ops.gelu, ops.gelu_tanh, ops.tanh, ops.max_pool2d,
    ops.avg_pool2d, ops.mean, ops.cat, ops.layer_norm,
)  # fmt: skip
"""What reads and gives narrow values where one of its operands is narrow, beside what moves values."""


class _Lowered(Rewriter):
    def __init__(self, graph: Graph, narrow: np.dtype[Any]) -> None:
        super().__init__(graph)
        self.narrow = narrow
        self._narrowed: dict[Value, Value] = {}
        """Values in float32, as narrow ones."""
        self._widened: dict[Value, Value] = {}
        """Narrow values in float32: those that they were rounded from, or are turned into."""

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        op = node.op
        if op is not None and "narrow" in op.properties:
            return self.again(node, self._as_narrow(inputs, node), params)
        if not any(self._is(one, self.narrow) for one in values_in(inputs)):
            return self.again(node, inputs, params)
        # What makes another type of what it is given, as a complex number of two values, may know no narrow ones.
        if op is not None and self._keeps(op, inputs) and self._is(node.outputs[0], _FLOAT32):
            return self.again(node, self._as_narrow(inputs, node), params)
        rounds = op is not None and "elementwise" in op.properties and "wide" not in op.properties
        made = self.again(node, self._as_wide(inputs, node), params)
        return [self._narrow(one, node) if rounds else one for one in made]

    def fill(self, old: Block, new: Block) -> None:
        """Write the nodes, and give results in the type that they had."""
        super().fill(old, new)
        around, self._into = self._into, new
        before = values_in(old.outputs)
        types = {now: value.type for now, value in zip(values_in(new.outputs), before, strict=True)}

        def given(value: Value) -> Value:
            kind = types[value]
            same = not isinstance(kind, TensorType) or kind.dtype == value.tensor.dtype
            assert same or value.node is not None
            return value if same else self._wide(value, value.node)  # type: ignore[arg-type]

        new.outputs = filled(new.outputs, given)
        self._into = around

    # ------------------------------------------------------------------------------------------------- types

    def _is(self, value: Any, dtype: np.dtype[Any]) -> bool:
        return isinstance(value, Value) and isinstance(value.type, TensorType) and value.type.dtype == dtype

    def _as_narrow(self, inputs: tuple[Any, ...], like: Node) -> Any:
        return filled(inputs, lambda value: self._narrow(value, like))

    def _as_wide(self, inputs: tuple[Any, ...], like: Node) -> Any:
        return filled(inputs, lambda value: self._wide(value, like))

    def _narrow(self, value: Value, like: Node) -> Value:
        """Return a value of float32 as a narrow one, made once; any other as it is."""
        if not self._is(value, _FLOAT32):
            return value
        if value not in self._narrowed:
            constant = self.graph.constants.get(value)
            if constant is None:
                (made,) = self.insert(ops.to, (value,), {"dtype": self.narrow}, like=like)
            else:
                with no_grad():
                    made = self.graph.hold(
                        labelled(ops.to(constant, dtype=self.narrow), constant._labels), value.name
                    )
            self._narrowed[value] = made
            self._widened[made] = value
        return self._narrowed[value]

    def _wide(self, value: Value, like: Node) -> Value:
        """Return a narrow value in float32, as it was before it was rounded if it was; any other as it is."""
        if not self._is(value, self.narrow):
            return value
        if value not in self._widened:
            (made,) = self.insert(ops.to, (value,), {"dtype": _FLOAT32}, like=like)
            self._widened[value] = made
            self._narrowed[made] = value
        return self._widened[value]

    def _keeps(self, op: Op, inputs: tuple[Any, ...]) -> bool:
        """Say whether an op reads and gives narrow values as they are."""
        if op in _KEPT or op.view or "moves" in op.properties:
            return op is not ops.to
        # A sum of what products gave is done with them, in float32, and rounded once.
        if op is ops.add:
            sizes = [
                tuple(map(self.sizes.settle, one.tensor.sizes)) for one in inputs if isinstance(one, Value)
            ]
            return len(sizes) == 2 and sizes[0] == sizes[1]
        return False
