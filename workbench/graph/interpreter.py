"""Running a graph: node by node, each value let go after its last use."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from workbench.base.errors import DimensionError
from workbench.core.value import dims_of
from workbench.graph.ir import Graph, Node, Value

__all__ = ["run"]

Observer = Callable[[Node, Any, float], None]


def run(graph: Graph, *inputs: Any, observe: Observer | None = None) -> Any:
    """Run `graph` on tensors, and return what the traced function would return, to the bit.

    Sizes may differ from those of the trace where the ops allow it. Several threads may run one graph at once. With
    `observe`, ``observe(node, results, seconds)`` is called after each node.

    Raises `DimensionError` where inputs are missing, have other names or another number of dims than the trace, or
    where a size differs that the traced function used as a number.
    """
    if len(inputs) != len(graph.inputs):
        raise DimensionError(
            f"the graph takes {len(graph.inputs)} inputs ({', '.join(one.name for one in graph.inputs)}), "
            f"got {len(inputs)}.",
            op=graph.name,
        )
    environment: dict[Value, Any] = dict(graph.held())
    for value, tensor in zip(graph.inputs, inputs, strict=True):
        _check(graph, value, tensor)
        _check_sizes(graph, value, tensor)
        environment[value] = tensor
    last = _last_uses(graph)
    for position, node in enumerate(graph.nodes):
        arguments = [environment[one] if isinstance(one, Value) else one for one in node.inputs]
        start = time.perf_counter() if observe is not None else 0.0
        results = node.op(*arguments, **node.params)
        if observe is not None:
            observe(node, results, time.perf_counter() - start)
        several = results if isinstance(results, tuple) else (results,)
        for value, result in zip(node.outputs, several, strict=True):
            environment[value] = result
            if value.type.fixed:
                _check_sizes(graph, value, result)
        del arguments, results, several
        for value in last.get(position, ()):
            del environment[value]
    outputs = tuple(environment[one] for one in graph.outputs)
    return outputs[0] if graph.single else outputs


def _last_uses(graph: Graph) -> dict[int, list[Value]]:
    """For each position, the values that nothing reads after that node."""
    last: dict[Value, int] = {}
    for position, node in enumerate(graph.nodes):
        for value in (*node.values, *node.outputs):
            last[value] = position
    kept = set(graph.outputs)
    ends: dict[int, list[Value]] = {}
    for value, position in last.items():
        if value not in kept:
            ends.setdefault(position, []).append(value)
    return ends


def _check(graph: Graph, value: Value, tensor: Any) -> None:
    expected, given = value.type.dims, dims_of(tensor)
    if len(expected.sizes) != len(given.sizes):
        raise DimensionError(
            f"{value.name} has {len(expected.sizes)} dims {expected} in the graph, got {len(given.sizes)}.",
            op=graph.name,
            operands=(given.operand(value.name),),
        )
    for i, (wanted, name) in enumerate(zip(expected.names, given.names, strict=True)):
        if wanted is not None and name is not None and wanted != name:
            raise DimensionError(
                f"{value.name} was traced with dims {list(expected.names)}, got {list(given.names)}.",
                op=graph.name,
                operands=(expected.operand("traced", [i]), given.operand(value.name, [i])),
                fix=f"{value.name}.align_to({', '.join(repr(one) for one in expected.names)})",
            )


def _check_sizes(graph: Graph, value: Value, tensor: Any) -> None:
    """Refuse a size other than the one that the function used as a number while it was traced."""
    traced, given = value.type.dims, dims_of(tensor)
    wrong = [i for i in sorted(value.type.fixed) if traced.sizes[i] != given.sizes[i]]
    if wrong:
        name, size = traced.names[wrong[0]] or f"dim {wrong[0]}", traced.sizes[wrong[0]]
        raise DimensionError(
            f"{name} of {value.name} was {size} in the trace, where the function used that size as a number; now it is "
            f"{given.sizes[wrong[0]]}. Trace again with this size, or write the function without it: "
            "x.flatten(1) needs no size where x.reshape(x.shape[0], -1) does.",
            op=graph.name,
            operands=(traced.operand("traced", wrong), given.operand(value.name, wrong)),
        )
