"""Where rectifiers let nothing through, kept in a byte each for gradients that read nothing else of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.compiler.halves import leading_to
from workbench.core.op import ops
from workbench.graph.blocks import Node, Value, values_in
from workbench.graph.ir import Graph
from workbench.graph.rewriter import Rewriter

__all__ = ["with_masks"]


def with_masks(joint: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Return a graph with its gradients that reads of rectified values where they are not above 0, and those values.

    Of a rectifier whose result is nothing but the operand of its gradient there, ``relu_gradient(g, y)`` becomes
    ``where(y <= 0, 0, g)``, the same numbers: a quarter of the memory is kept, or less where y would have been kept for
    its own sake. A result that something else of the gradients reads, or that is returned, is kept anyway.

    >>> import workbench as wb
    >>> from workbench.graph.passes.differentiate import joined
    >>> graph = wb.graph.trace(lambda x: x.exp().relu().cumsum(0), wb.ones(3))
    >>> made, masks = with_masks(joined(graph, ["x"]).graph)
    >>> masks
    ('relu_blocks',)
    """
    masked = _masked(joint)
    if not masked:
        return joint, ()
    written = _Masks(joint, masked)
    return written.rewritten(), tuple(one.name for one in written.masks.values())


def _masked(joint: Graph) -> set[Value]:
    """Return the rectified values of which the gradients read nothing but where they are above 0."""
    result, _ = joint.outputs
    kept = {*values_in(result), *joint.updates.values()}
    forward = leading_to(kept, set(joint.given()))
    readers = joint.users()
    found = set()
    for node in forward:
        if node.op is not ops.relu or node.outputs[0] in kept:
            continue
        behind = [one for one in readers[node.outputs[0]] if one not in forward]
        if behind and all(_is_gradient_of(one, node.outputs[0]) for one in behind):
            found.add(node.outputs[0])
    return found


def _is_gradient_of(node: Node, value: Value) -> bool:
    return node.op is ops.relu_gradient and node.inputs[1] is value and node.inputs[0] is not value


class _Masks(Rewriter):
    def __init__(self, joint: Graph, masked: set[Value]) -> None:
        super().__init__(joint)
        self.masked = masked
        self.masks: dict[Value, Value] = {}
        """Where values are not above 0, by the values of the old graph."""

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        if node.op is ops.relu_gradient and node.inputs[1] in self.masks:
            name = node.outputs[0].name
            return self.insert(
                ops.where, (self.masks[node.inputs[1]], 0.0, inputs[0]), like=node, names=[name]
            )
        made = self.again(node, inputs, params)
        if node.op is ops.relu and node.outputs[0] in self.masked:
            # By the name of what it is of: graphs for other gradients that arrive call it the same.
            (mask,) = self.insert(ops.le, (made[0], 0.0), like=node, names=[f"{made[0].name}_blocks"])
            self.masks[node.outputs[0]] = mask
        return made
