"""Compute beforehand what does not depend on the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.dispatch import apply, no_grad
from workbench.core.value import new
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code

__all__ = ["constant_fold"]

LARGEST = 1 << 22
"""Results with more values than this are left to be computed: a constant takes its memory for good."""


def constant_fold(graph: Graph) -> Graph:
    """Return a graph in which calls on constants and parameters alone have become constants.

    Their values are those of now: a parameter that changes afterwards changes nothing here.

    >>> import workbench as wb
    >>> model = wb.nn.Linear(2, 2)
    >>> model.forward = lambda x: x @ (model.weight * 2).t()
    >>> graph = wb.graph.trace(model, wb.ones(1, 2))
    >>> len(graph.nodes), len(constant_fold(graph).nodes)
    (3, 1)
    """
    result = graph.copy()
    held = result.held()
    kept = []
    for node in result.nodes:
        known = all(one in held for one in node.values)
        small = all(one.type.dims.numel <= LARGEST for one in node.outputs)
        if not known or not small or "random" in node.op.properties:
            kept.append(node)
            continue
        with no_grad():
            results = apply(node.op, *(held.get(one, one) for one in node.inputs), **node.params)
        several = results if isinstance(results, tuple) else (results,)
        for value, tensor in zip(node.outputs, several, strict=True):
            value.node = None
            held[value] = result.constants[value] = _own(tensor)
    result.nodes = kept
    return dead_code(result)


def _own(tensor: Any) -> Any:
    """Return `tensor` in memory of its own: what moves values gives views, which would follow their parameter."""
    return new(tensor.payload.copy(), tensor._names) if isinstance(tensor.payload, np.ndarray) else tensor
