"""Compute beforehand what does not depend on the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.dispatch import apply, no_grad
from workbench.core.value import new
from workbench.graph.blocks import Node, Value, filled
from workbench.graph.cost import elements_of
from workbench.graph.effects import writes_anywhere
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.sizes import is_symbolic
from workbench.graph.walk import blocks

__all__ = ["constant_fold"]

LARGEST = 1 << 22
"""Results with more values than this are left to be computed: a constant takes its memory for good."""


def constant_fold(graph: Graph) -> Graph:
    """Return a graph in which calls of ops on constants and parameters alone have become constants.

    Their values are those of now: a parameter that changes afterwards changes nothing here. Parameters that a run
    itself changes are left alone, and so is a graph that writes into memory.

    >>> import workbench as wb
    >>> model = wb.nn.Linear(2, 2)
    >>> model.forward = lambda x: x @ (model.weight * 2).t()
    >>> graph = wb.graph.trace(model, wb.ones(1, 2))
    >>> len(graph.nodes), len(constant_fold(graph).nodes)
    (3, 1)
    """
    result = graph.copy()
    # Something may be written into a view of a constant, or into a parameter, before it is read.
    if writes_anywhere(result):
        return dead_code(result)
    held = {value: tensor for value, tensor in result.held().items() if value not in result.updates}
    for block in blocks(result):
        kept = []
        for node in block.nodes:
            if not _known(node, held):
                kept.append(node)
                continue
            for value, tensor in zip(node.outputs, _computed(node, held), strict=True):
                value.node = None
                # At once, so that calls on this result are folded in the same pass.
                held[value] = result.constants[value] = _own(tensor)
        block.nodes = kept
    return dead_code(result)


def _known(node: Node, held: dict[Value, Any]) -> bool:
    """Say whether all that a call needs is there, and what it gives is not too large."""
    # Asked before it is computed.
    small = all(elements_of(one) <= LARGEST for one in node.outputs)
    any_run = is_symbolic((node.inputs, node.params))
    return node.op is not None and small and not any_run and all(one in held for one in node.values)


def _computed(node: Node, held: dict[Value, Any]) -> tuple[Any, ...]:
    # A constant has no history: its gradients would go into a parameter that the graph no longer reads.
    with no_grad():
        found = apply(
            node.callee, *filled(node.inputs, held.__getitem__), **filled(node.params, held.__getitem__)
        )
    return found if isinstance(found, tuple) else (found,)


def _own(tensor: Any) -> Any:
    """Return `tensor` in memory of its own: what moves values gives views, which would follow their parameter."""
    return new(tensor.payload.copy(), tensor._names) if isinstance(tensor.payload, np.ndarray) else tensor
