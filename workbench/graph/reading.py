"""Reading graphs from text. Nothing that is read is executed: literals are read, ops are looked up in the table."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.dims import MAXIMUM_DIMS, Dims, check_names
from workbench.base.dtypes import DType, as_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import Op, ops
from workbench.core.value import dims_of
from workbench.graph.ir import NAME, Graph, GraphError, Node, Type, Value
from workbench.graph.printing import IMPORTS
from workbench.graph.spec import check

__all__ = ["parse"]

MOST_CHARACTERS = 1 << 24
"""A longer text is refused before anything is made of it."""


def parse(source: str, tensors: Mapping[str, Any] | None = None) -> Graph:
    r"""Read what `text` or `python_text` wrote, and check it. `tensors` gives parameters and constants by name.

    Raises `GraphError` with the line that is not understood, the tensor that is missing, or what is not legal.

    >>> graph = parse("double(%x : f32[N:2]):\n  %y : f32[N:2] = mul(%x, 2)\n  return %y")
    >>> graph.nodes
    [<node y: mul>]
    """
    if len(source) > MOST_CHARACTERS:
        raise GraphError(
            f"a graph's text has at most {MOST_CHARACTERS:,} characters, this one {len(source):,}"
        )
    reader = _Reader(tensors or {})
    try:
        if re.match(r"(?:from .*\n|\s*\n)*def ", source):
            _read_python(reader, source)
        else:
            _read_text(reader, source)
        return reader.finish()
    except (RecursionError, MemoryError):
        raise GraphError(f"line {reader.line} is nested too deeply") from None


class _Reader:
    """The graph as far as it was read: what both forms have in common."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self.graph = Graph()
        self.tensors = tensors
        self.known: dict[str, Value] = {}
        self.line = 1
        self.returned = False

    def refuse(self, why: str) -> GraphError:
        """Return an error that names the line."""
        return GraphError(f"line {self.line} {why}")

    def define(self, value: Value) -> Value:
        """Take a new name."""
        if value.name in self.known:
            raise self.refuse(f"makes {value.name} a second time")
        self.known[value.name] = value
        return value

    def find(self, name: str) -> Value:
        """Return the value of that name."""
        if name not in self.known:
            raise self.refuse(f"reads %{name}, which nothing above it makes")
        return self.known[name]

    def hold(self, kind: str, name: str, type: Type) -> None:
        """Take one of the tensors."""
        if name not in self.tensors:
            raise self.refuse(f"needs a tensor: no tensor called {name!r} was given")
        given = dims_of(self.tensors[name])
        if given.by_label() == type.dims:  # what is written of a parameter are its labels
            type = replace(type, dims=given)
        held = self.graph.parameters if kind == "parameter" else self.graph.constants
        held[self.define(Value(name, type))] = self.tensors[name]

    def call(
        self, made: Sequence[Value], name: str, inputs: Sequence[Any], params: dict[str, Any], where: str
    ) -> None:
        """Add a node."""
        if name not in ops:
            raise self.refuse(f"calls {name!r}, which is not an op of the table")
        op: Op = getattr(ops, name)
        scope, mark, source = where.partition(" · ")
        if not mark and ":" in scope:
            scope, source = "", scope
        node = Node(op, tuple(inputs), params, tuple(made), tuple(scope.split(".")) if scope else (), source)
        for value in made:
            self.define(value).node = node
        self.graph.nodes.append(node)

    def finish(self) -> Graph:
        """Return the graph, checked."""
        if not self.returned:
            raise self.refuse("is the last, and nothing was returned")
        for name in self.known:
            self.graph.fresh(name)
        return check(self.graph)

    # ------------------------------------------------------------------------------------------- parts

    def type(self, written: str) -> Type:
        """Read ``f32[N:2, C=3]``."""
        match = re.fullmatch(r"(\w+)\[([^\]]*)\]", written)
        if match is None:
            raise self.refuse(f"has {written!r} where a type is expected, such as f32[N:2]")
        parts = [re.fullmatch(r"(·|\w+)([:=])(\d{1,18})", dim) for dim in match[2].split(", ") if dim]
        if None in parts or len(parts) > MAXIMUM_DIMS:
            raise self.refuse(f"has {match[2]!r} where dims with their sizes are expected, such as N:2, C:3")
        found = [(None if one[1] == "·" else one[1], int(one[3])) for one in parts if one is not None]
        names, sizes = tuple(name for name, _ in found), tuple(size for _, size in found)
        fixed = frozenset(i for i, one in enumerate(parts) if one is not None and one[2] == "=")
        try:
            check_names(names, len(names))
        except DimensionError as error:
            raise self.refuse(f"has a type that cannot be: {error}") from None
        return Type(self.dtype(match[1], short=True), Dims(names, sizes), fixed)

    def dtype(self, name: Any, short: bool = False) -> np.dtype[Any] | DType:
        """Read a data type, by its name or its short name."""
        try:
            found = _SHORT[name] if short else as_dtype(name)
        except (KeyError, DTypeError, TypeError):
            raise self.refuse(f"has {name!r}, which is not a data type") from None
        return found if found.is_quantized else found.numpy

    def literal(self, tree: ast.expr) -> Any:
        """Return the plain value that a syntax tree stands for."""
        match tree:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Constant(value=value) if value is Ellipsis:
                return value
            case ast.Tuple(elts=elements):
                return tuple(self.literal(one) for one in elements)
            case ast.List(elts=elements):
                return [self.literal(one) for one in elements]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
                return -math.inf
            case ast.Name(id="inf" | "nan" as name):
                return float(name)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _MAKERS:
                try:
                    return _MAKERS[name](self, *(self.literal(one) for one in arguments))
                except (TypeError, ValueError, OverflowError):
                    pass
        raise self.refuse(f"has {ast.unparse(tree)[:80]!r}, which is not a literal")

    def _array(self, values: list[Any], dtype: str) -> Any:
        return np.array(values, as_dtype(dtype).numpy)

    def _empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        if math.prod(shape) != 0:
            raise ValueError("only arrays without values are written as empty")
        return np.empty(shape, as_dtype(dtype).numpy)


_MAKERS: dict[str, Any] = {
    "dtype": _Reader.dtype,
    "array": _Reader._array,
    "empty": _Reader._empty,
    "slice": lambda reader, *parts: slice(*parts),
    "complex": lambda reader, real, imaginary: complex(real, imaginary),
}
"""What may be called in a literal."""

_SHORT: dict[str, DType] = {
    as_dtype(name).short: as_dtype(name)
    for name in (
        "float16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64", "uint8", "bool",
        "quint8", "qint8", "qint32",
    )
}  # fmt: skip


# -------------------------------------------------------------------------------------------------- text

_LINE = re.compile(r"(?P<made>%.*?) = (?P<op>[a-z_0-9]+)\((?P<arguments>.*?)\)(?:  # (?P<where>.*))?$")
_VALUE = re.compile(rf"%(?P<name>{NAME}) : (?P<type>\w+\[[^\]]*\])(?:, |$)")


def _read_text(reader: _Reader, source: str) -> None:
    lines = source.strip().split("\n")
    head = re.fullmatch(r"(\w+)\((.*)\):", lines[0])
    if head is None:
        raise GraphError("the text of a graph starts with a line 'name(%x : f32[N:2], ...):'")
    reader.graph.name = head[1]
    reader.graph.inputs = [reader.define(value) for value in _values(reader, head[2])]
    for reader.line, line in enumerate(lines[1:], 2):
        stripped = line.strip()
        if reader.returned:
            raise reader.refuse("comes after the return")
        if stripped.startswith("return "):
            _read_return(reader, stripped.removeprefix("return "))
        else:
            _read_line(reader, stripped)


def _values(reader: _Reader, part: str) -> list[Value]:
    """Read ``%a : f32[N:2], %b : i64[]``."""
    values, at = [], 0
    while at < len(part):
        match = _VALUE.match(part, at)
        if match is None:
            raise reader.refuse(
                f"has {part[at : at + 80]!r} where a value is expected, such as %x : f32[N:2]"
            )
        values.append(Value(match["name"], reader.type(match["type"])))
        at = match.end()
    return values


def _read_return(reader: _Reader, part: str) -> None:
    reader.graph.single = not part.startswith("(")
    names = part if reader.graph.single else part.removeprefix("(").removesuffix(")")
    written = [one for one in names.split(", ") if one]
    if any(not one.startswith("%") for one in written) or (reader.graph.single and len(written) != 1):
        raise reader.refuse(f"returns {part[:80]!r}, which is not a value or several in parentheses")
    reader.graph.outputs = tuple(reader.find(one[1:]) for one in written)
    reader.returned = True


def _read_line(reader: _Reader, line: str) -> None:
    match = _LINE.match(line)
    if match is None:
        raise reader.refuse(f"is not understood: {line[:80]}")
    made = _values(reader, match["made"])
    if match["op"] in ("parameter", "constant"):
        if len(made) != 1 or match["arguments"]:
            raise reader.refuse(f"is not understood: {line[:80]}")
        reader.hold(match["op"], made[0].name, made[0].type)
        return
    inputs, params = _arguments(reader, match["arguments"])
    reader.call(made, match["op"], inputs, params, match["where"] or "")


def _arguments(reader: _Reader, written: str) -> tuple[list[Any], dict[str, Any]]:
    names: list[str] = []

    def mark(match: re.Match[str]) -> str:
        names.append(match[1])
        return f"_{len(names) - 1}"

    plain = re.sub(rf"%({NAME})", mark, written)
    try:
        call = ast.parse(f"f({plain})", mode="eval").body
    except (SyntaxError, ValueError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise reader.refuse(f"has arguments that are not understood: {written[:80]}")
    known = {f"_{i}": name for i, name in enumerate(names)}

    def value(tree: ast.expr) -> Any:
        if isinstance(tree, ast.Name) and tree.id in known:
            return reader.find(known[tree.id])
        return reader.literal(tree)

    return [value(one) for one in call.args], _keywords(reader, call)


def _keywords(reader: _Reader, call: ast.Call) -> dict[str, Any]:
    if any(one.arg is None for one in call.keywords):
        raise reader.refuse("has ** among its arguments")
    return {str(one.arg): reader.literal(one.value) for one in call.keywords}


# ------------------------------------------------------------------------------------------------ Python


def _read_python(reader: _Reader, source: str) -> None:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        reader.line = getattr(error, "lineno", None) or 1
        raise reader.refuse("is not Python") from None
    for reader.line, statement in _numbered(body[:-1]):
        if ast.unparse(statement) not in IMPORTS:
            raise reader.refuse("is not what a graph's Python begins with")
    function = body[-1]
    reader.line = function.lineno
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        raise reader.refuse("is not a plain function")
    reader.graph.name = function.name
    _read_inputs(reader, function.args)
    lines = source.splitlines()
    waiting: dict[str, Type] = {}
    for reader.line, statement in _numbered(function.body):
        if reader.returned:
            raise reader.refuse("comes after the return")
        after = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode()  # type: ignore[operator]
        _read_statement(reader, statement, waiting, after.removeprefix("  # "))


def _numbered(statements: Sequence[ast.stmt]) -> Iterator[tuple[int, ast.stmt]]:
    return ((one.lineno, one) for one in statements)


def _read_inputs(reader: _Reader, arguments: ast.arguments) -> None:
    plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs)
    if (
        not plain
        or arguments.defaults
        or [one.arg for one in arguments.args[:2]] != ["parameters", "constants"]
    ):
        raise reader.refuse("takes something else than parameters, constants and typed inputs")
    for one in arguments.args[2:]:
        reader.graph.inputs.append(reader.define(Value(one.arg, _annotation(reader, one.annotation))))


def _annotation(reader: _Reader, tree: ast.expr | None) -> Type:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return reader.type(tree.value)
    raise reader.refuse('has no type, such as x: "f32[N:2]"')


def _read_statement(reader: _Reader, statement: ast.stmt, waiting: dict[str, Type], where: str) -> None:
    """Read one line of the function; `waiting` are the types of values that a line below makes together."""
    match statement:
        case ast.AnnAssign(target=ast.Subscript() as target, annotation=kind, value=None):
            reader.hold(*_held(reader, target), _annotation(reader, kind))
        case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=None):
            waiting[name] = _annotation(reader, kind)
        case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=ast.Call() as call):
            _read_call(reader, [Value(name, _annotation(reader, kind))], call, where)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() as call):
            names = [one.id for one in targets if isinstance(one, ast.Name)]
            if len(names) != len(targets) or any(name not in waiting for name in names):
                raise reader.refuse("makes values that have no type")
            _read_call(reader, [Value(name, waiting.pop(name)) for name in names], call, where)
        case ast.Return(value=ast.Tuple(elts=elements)):
            reader.graph.single = False
            reader.graph.outputs = tuple(_operand(reader, one) for one in elements)
            reader.returned = True
        case ast.Return(value=ast.Name() | ast.Subscript() as tree):
            reader.graph.outputs = (_operand(reader, tree),)
            reader.returned = True
        case _:
            raise reader.refuse(f"is not understood: {ast.unparse(statement)[:80]}")


def _held(reader: _Reader, tree: ast.Subscript) -> tuple[str, str]:
    match tree:
        case ast.Subscript(
            value=ast.Name(id="parameters" | "constants" as where), slice=ast.Constant(value=str() as name)
        ):
            return where.removesuffix("s"), name
    raise reader.refuse(f"is not understood: {ast.unparse(tree)[:80]}")


def _operand(reader: _Reader, tree: ast.expr) -> Any:
    if isinstance(tree, ast.Subscript):
        return reader.find(_held(reader, tree)[1])
    if isinstance(tree, ast.Name) and tree.id not in ("inf", "nan"):
        return reader.find(tree.id)
    return reader.literal(tree)


def _read_call(reader: _Reader, made: list[Value], call: ast.Call, where: str) -> None:
    match call.func:
        case ast.Attribute(value=ast.Name(id="ops"), attr=name):
            inputs = [_operand(reader, one) for one in call.args]
            reader.call(made, name, inputs, _keywords(reader, call), where)
        case _:
            raise reader.refuse(f"calls {ast.unparse(call.func)[:80]!r}, which is not an op of the table")
