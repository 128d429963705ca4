"""Graphs as text: in the style of TorchScript's, which `parse` reads back, and as Python.

Nothing that is read is ever executed.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import DType, as_dtype
from workbench.core.op import Op, ops
from workbench.core.value import dims_of
from workbench.graph.ir import Graph, GraphError, Node, Type, Value

__all__ = ["parse", "python_text", "text"]


def text(graph: Graph) -> str:
    """Return the graph, one node a line: ``%y : f32[N:2] = sum(%x, dim=(1,), keepdim=False)``."""
    inputs = ", ".join(repr(one) for one in graph.inputs)
    lines = [f"{graph.name}({inputs}):"]
    lines += [f"  {value!r} = parameter()" for value in graph.parameters]
    lines += [f"  {value!r} = constant()" for value in graph.constants]
    for node in graph.nodes:
        made = ", ".join(repr(one) for one in node.outputs)
        arguments = ", ".join([*(_argument(one) for one in node.inputs), *_keywords(node)])
        where = " · ".join(part for part in (".".join(node.scope), node.source) if part)
        lines.append(f"  {made} = {node.op.name}({arguments})" + (f"  # {where}" if where else ""))
    outputs = ", ".join(f"%{one.name}" for one in graph.outputs)
    lines.append(f"  return {outputs}" if graph.single else f"  return ({outputs})")
    return "\n".join(lines)


def python_text(graph: Graph) -> str:
    """Return the graph as a Python function of its inputs; ``self`` stands for what holds its tensors."""

    def name(value: Value) -> str:
        held = value in graph.parameters or value in graph.constants
        return f"self.{value.name}" if held else value.name

    inputs = ", ".join(f'{one.name}: "{one.type}"' for one in graph.inputs)
    lines = ["from workbench.core import ops", "", "", f"def {graph.name}(self, {inputs}):"]
    for node in graph.nodes:
        arguments = [name(one) if isinstance(one, Value) else repr(one) for one in node.inputs]
        made = ", ".join(one.name for one in node.outputs)
        lines.append(f"    {made} = ops.{node.op.name}({', '.join([*arguments, *_keywords(node)])})")
    outputs = ", ".join(name(one) for one in graph.outputs)
    lines.append(f"    return {outputs}" if graph.single else f"    return ({outputs},)")
    return "\n".join(lines)


def _argument(one: Any) -> str:
    return f"%{one.name}" if isinstance(one, Value) else repr(one)


def _keywords(node: Node) -> list[str]:
    return [f"{key}={_literal(value)}" for key, value in node.params.items()]


def _literal(value: Any) -> str:
    """Return a parameter as text that `_read` understands."""
    if isinstance(value, np.dtype):
        return f"dtype('{value.name}')"
    if isinstance(value, np.ndarray):
        return f"array({value.tolist()!r}, '{value.dtype.name}')"
    if isinstance(value, slice):
        return f"slice({value.start}, {value.stop}, {value.step})"
    if isinstance(value, tuple):
        inner = ", ".join(_literal(one) for one in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return "..." if value is Ellipsis else repr(value)


# ------------------------------------------------------------------------------------------------ reading

_LINE = re.compile(r"(?P<made>.*?) = (?P<op>[a-z_0-9]+)\((?P<arguments>.*)\)(?:  # (?P<where>.*))?$")
_VALUE = re.compile(r"%(?P<name>[\w.]+) : (?P<dtype>\w+)\[(?P<dims>[^\]]*)\]")
_SHORT: dict[str, DType] = {
    as_dtype(name).short: as_dtype(name)
    for name in (
        "float16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64", "uint8", "bool",
    )
}  # fmt: skip


def parse(source: str, tensors: dict[str, Any] | None = None) -> Graph:
    """Read what `text` wrote. `tensors` gives the parameters and constants by name.

    Raises `GraphError` with the line that is not understood, or the tensor that is missing.
    """
    lines = source.strip().splitlines()
    head = re.match(r"(\w+)\((.*)\):$", lines[0]) if lines else None
    if head is None:
        raise GraphError("the text of a graph starts with a line 'name(%x : f32[N:2], ...):'")
    graph = Graph(head[1])
    known: dict[str, Value] = {}
    for value in _values(head[2], lines[0]):
        graph.inputs.append(value)
        known[value.name] = value
    for number, line in enumerate(lines[1:], 2):
        stripped = line.strip()
        if stripped.startswith("return"):
            graph.single = not stripped.startswith("return (")
            names = re.findall(r"%([\w.]+)", stripped)
            graph.outputs = tuple(_find(known, name, number) for name in names)
        else:
            _read_line(graph, known, stripped, number, tensors or {})
    for name in known:
        graph.fresh(name)
    return graph


def _values(part: str, line: str) -> list[Value]:
    values = []
    for match in _VALUE.finditer(part):
        if match["dtype"] not in _SHORT:
            raise GraphError(f"{match['dtype']!r} is not a data type, in: {line}")
        names: list[str | None] = []
        sizes = []
        for dim in filter(None, match["dims"].split(", ")):
            name, _, size = dim.partition(":")
            if not size.isdigit():
                raise GraphError(f"{dim!r} is not a dim with its size, in: {line}")
            names.append(None if name == "·" else name)
            sizes.append(int(size))
        kind = Type(_SHORT[match["dtype"]].numpy, Dims(tuple(names), tuple(sizes)))
        values.append(Value(match["name"], kind))
    return values


def _find(known: dict[str, Value], name: str, number: int) -> Value:
    if name not in known:
        raise GraphError(f"line {number} reads %{name}, which nothing above it makes")
    return known[name]


def _read_line(
    graph: Graph, known: dict[str, Value], line: str, number: int, tensors: dict[str, Any]
) -> None:
    match = _LINE.match(line)
    made = _values(match["made"], line) if match else []
    if match is None or not made:
        raise GraphError(f"line {number} is not understood: {line}")
    if match["op"] in ("parameter", "constant"):
        (value,) = made
        if value.name not in tensors:
            raise GraphError(f"line {number}: no tensor called {value.name!r} was given")
        if dims_of(tensors[value.name]) != value.type.dims:
            raise GraphError(
                f"line {number}: {value.name} has dims {dims_of(tensors[value.name])}, not {value.type.dims}"
            )
        (graph.parameters if match["op"] == "parameter" else graph.constants)[value] = tensors[value.name]
    else:
        inputs, params = _read_arguments(match["arguments"], known, number)
        scope, source = _read_where(match["where"] or "")
        node = Node(_op(match["op"], number), inputs, params, tuple(made), scope, source)
        for value in made:
            value.node = node
        graph.nodes.append(node)
    known.update({value.name: value for value in made})


def _op(name: str, number: int) -> Op:
    if name not in ops:
        raise GraphError(f"line {number} calls {name!r}, which is not an op of the table")
    found: Op = getattr(ops, name)
    return found


def _read_where(where: str) -> tuple[tuple[str, ...], str]:
    scope, mark, source = where.partition(" · ")
    if not mark and ":" in scope:
        scope, source = "", scope
    return tuple(scope.split(".")) if scope else (), source


def _read_arguments(
    arguments: str, known: dict[str, Value], number: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    names: list[str] = []

    def mark(match: re.Match[str]) -> str:
        names.append(match[1])
        return f"value_{len(names) - 1}"

    plain = re.sub(r"%([\w.]+)", mark, arguments)
    try:
        call = ast.parse(f"f({plain})", mode="eval").body
    except SyntaxError:
        raise GraphError(f"line {number}: the arguments are not understood: {arguments}") from None
    if not isinstance(call, ast.Call):
        raise GraphError(f"line {number}: the arguments are not understood: {arguments}")

    def value(tree: ast.expr) -> Any:
        if isinstance(tree, ast.Name) and tree.id.startswith("value_"):
            return _find(known, names[int(tree.id.removeprefix("value_"))], number)
        return _read(tree, number)

    params = {str(one.arg): _read(one.value, number) for one in call.keywords}
    return tuple(value(one) for one in call.args), params


def _read(tree: ast.expr, number: int) -> Any:
    """Return the literal that a syntax tree stands for."""
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.Tuple):
        return tuple(_read(one, number) for one in tree.elts)
    if isinstance(tree, ast.List):
        return [_read(one, number) for one in tree.elts]
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_read(tree.operand, number)
    if isinstance(tree, ast.Name) and tree.id in ("inf", "nan"):
        return float(tree.id)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        arguments = [_read(one, number) for one in tree.args]
        if tree.func.id == "dtype":
            return as_dtype(arguments[0]).numpy
        if tree.func.id == "array":
            return np.array(arguments[0], as_dtype(arguments[1]).numpy)
        if tree.func.id == "slice":
            return slice(*arguments)
    raise GraphError(f"line {number}: {ast.unparse(tree)!r} is not a literal")
