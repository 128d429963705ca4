"""Graphs as text, in the style of TorchScript's and as Python; `workbench.graph.parse` reads both back."""

from __future__ import annotations

import keyword
from typing import Any

import numpy as np

from workbench.base.dtypes import DType
from workbench.graph.ir import Graph, GraphError, Node, Value

__all__ = ["IMPORTS", "TAKEN", "literal", "python_text", "text"]

IMPORTS = ("from numpy import array, dtype, empty, inf, nan", "from workbench.core import ops")
"""What the Python form stands on."""

TAKEN = frozenset(
    {"array", "dtype", "empty", "inf", "nan", "ops", "parameters", "constants", "slice", "complex"}
)
"""Names that mean something else in the Python form."""


def text(graph: Graph) -> str:
    """Return the graph, one node a line: ``%y : f32[N:2] = sum(%x, dim=(1,), keepdim=False)``."""
    inputs = ", ".join(repr(one) for one in graph.inputs)
    lines = [f"{graph.name}({inputs}):"]
    lines += [f"  {value!r} = parameter()" for value in graph.parameters]
    lines += [f"  {value!r} = constant()" for value in graph.constants]
    for node in graph.nodes:
        made = ", ".join(repr(one) for one in node.outputs)
        arguments = (f"%{one.name}" if isinstance(one, Value) else literal(one) for one in node.inputs)
        lines.append(f"  {made} = {node.op.name}({_all(arguments, node)}){_where(node)}")
    outputs = ", ".join(f"%{one.name}" for one in graph.outputs)
    lines.append(f"  return {outputs}" if graph.single else f"  return ({outputs})")
    return "\n".join(lines)


def python_text(graph: Graph) -> str:
    """Return the graph as a Python function of two mappings, from names to the tensors that it holds, and its inputs.

    Raises `GraphError` where a name of the graph cannot be one in Python.

    >>> import workbench as wb
    >>> print(python_text(wb.graph.trace(lambda x: (x * 2).sum("C"), wb.ones(N=2, C=3))))
    from numpy import array, dtype, empty, inf, nan
    from workbench.core import ops
    <BLANKLINE>
    <BLANKLINE>
    def graph(parameters, constants, x: "f32[N:2, C:3]"):
        mul: "f32[N:2, C:3]" = ops.mul(x, 2)  # ...
        sum: "f32[N:2]" = ops.sum(mul, dim=(1,), keepdim=False)  # ...
        return sum
    """
    called = {value: f"parameters[{value.name!r}]" for value in graph.parameters}
    called |= {value: f"constants[{value.name!r}]" for value in graph.constants}
    for value in (*graph.inputs, *(one for node in graph.nodes for one in node.outputs)):
        called[value] = _identifier(value.name)
    inputs = "".join(f', {one.name}: "{one.type}"' for one in graph.inputs)
    lines = [*IMPORTS, "", "", f"def {_identifier(graph.name)}(parameters, constants{inputs}):"]
    lines += [f'    {called[value]}: "{value.type}"' for value in graph.held()]
    for node in graph.nodes:
        arguments = (called[one] if isinstance(one, Value) else literal(one) for one in node.inputs)
        call = f"ops.{node.op.name}({_all(arguments, node)}){_where(node)}"
        typed = [f'{one.name}: "{one.type}"' for one in node.outputs]
        if len(typed) == 1:
            lines.append(f"    {typed[0]} = {call}")
        else:  # several targets take no types of their own
            lines += [f"    {one}" for one in typed]
            lines.append(f"    {', '.join(one.name for one in node.outputs)} = {call}")
    outputs = [called[one] for one in graph.outputs]
    lines.append(
        f"    return {outputs[0]}"
        if graph.single
        else f"    return ({''.join(f'{one}, ' for one in outputs)})"
    )
    return "\n".join(lines)


def _identifier(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name) or name in TAKEN:
        raise GraphError(f"{name!r} cannot be a name in Python: rename it, or write the graph as text")
    return name


def _all(arguments: Any, node: Node) -> str:
    return ", ".join([*arguments, *(f"{key}={literal(value)}" for key, value in node.params.items())])


def _where(node: Node) -> str:
    """Where the node came from, as a comment; a line break in a file's name must not begin another line."""
    where = " · ".join(part for part in (".".join(node.scope), node.source) if part)
    return "  # " + " ".join(where.splitlines()) if where else ""


def literal(value: Any) -> str:
    """Return a parameter as Python that `parse` reads back."""
    if isinstance(value, np.dtype | DType):
        return f"dtype('{value.name}')"
    if isinstance(value, np.ndarray):
        if value.size == 0:
            return f"empty({value.shape!r}, '{value.dtype.name}')"
        return f"array({value.tolist()!r}, '{value.dtype.name}')"
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, slice):
        return f"slice({literal(value.start)}, {literal(value.stop)}, {literal(value.step)})"
    if isinstance(value, tuple | list):
        inner = ", ".join(literal(one) for one in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | str):
        return "..." if value is Ellipsis else repr(value)
    raise GraphError(f"a parameter of type {type(value).__name__} cannot be written as text")
