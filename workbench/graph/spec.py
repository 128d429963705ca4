"""What a legal graph is, as a check that runs: tests run it after every pass."""

from __future__ import annotations

import re

from workbench.core.dispatch import WithoutNumbers, interpreting
from workbench.core.op import ops
from workbench.graph.ir import NAME, Graph, GraphError, Node, Value, type_of

__all__ = ["check"]


def check(graph: Graph) -> Graph:
    """Return `graph` if it is legal.

    Every name is there once; every value is made before it is read; every node calls an op of the table, knows its
    outputs, and the types written on them are those that the op's own rules give; what is returned exists.

    Raises `GraphError` at the first thing that is wrong.
    """
    known: set[Value] = set()
    names: set[str] = set()
    for value in (*graph.inputs, *graph.parameters, *graph.constants):
        _define(value, known, names)
    for value, tensor in graph.held().items():
        given = type_of(tensor)
        if (given.dtype, given.dims) != (value.type.dtype, value.type.dims):
            raise GraphError(f"{value.name} is written as {value.type} and its tensor is {given}")
    for node in graph.nodes:
        if node.op.name not in ops:
            raise GraphError(f"{node.name} calls {node.op.name!r}, which is not an op of the table")
        for one in node.values:
            if one not in known:
                raise GraphError(f"{node.name} reads {one.name} before it is made")
        for value in node.outputs:
            if value.node is not node:
                raise GraphError(f"{value.name} does not know the node that makes it")
            _define(value, known, names)
        _check_types(node)
    for value in graph.outputs:
        if value not in known:
            raise GraphError(f"the graph returns {value.name}, which nothing makes")
    return graph


def _define(value: Value, known: set[Value], names: set[str]) -> None:
    if value.name in names:
        raise GraphError(f"the name {value.name} is taken twice")
    if not re.fullmatch(NAME, value.name):
        raise GraphError(
            f"{value.name!r} cannot be a name in a graph: it is empty, or has brackets or the like in it"
        )
    if not all(0 <= dim < len(value.type.dims.sizes) for dim in value.type.fixed):
        raise GraphError(f"{value.name} : {value.type} has no dims {sorted(value.type.fixed)} to be fixed")
    known.add(value)
    names.add(value.name)


def _check_types(node: Node) -> None:
    operands = (one.stand_in() if isinstance(one, Value) else one for one in node.inputs)
    try:
        with interpreting(WithoutNumbers()):
            results = node.op(*operands, **node.params)
    except (TypeError, ValueError, LookupError, RuntimeError) as error:
        # Whatever a rule says to wrong operands.
        message = f"{node.name}: {node.op.name} does not take these inputs and parameters: {error}"
        raise GraphError(message) from error
    several = results if isinstance(results, tuple) else (results,)
    if len(several) != len(node.outputs):
        raise GraphError(
            f"{node.name}: {node.op.name} makes {len(several)} values, the node has {len(node.outputs)}"
        )
    for value, result in zip(node.outputs, several, strict=True):
        given = type_of(result)
        if (given.dtype, given.dims) != (value.type.dtype, value.type.dims):
            raise GraphError(
                f"{value.name} is written as {value.type}, the rules of {node.op.name} give {given}"
            )
