"""Operands as text that is Python, and back: literals, and tuples, lists, dicts and slices with values in them."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType, as_dtype
from workbench.base.errors import DTypeError
from workbench.base.size_expressions import Expression, Symbol, Symbolic
from workbench.base.size_expressions import written as size_text
from workbench.base.size_formulas import calculated
from workbench.base.size_guards import Guard
from workbench.graph.blocks import GraphError, SubGraph, Value
from workbench.graph.symbols import symbols
from workbench.graph.types import TensorType

__all__ = ["literal", "read_guard", "read_operand", "size_names", "written"]

MOST_PARTS = 4096
"""A size of more parts is refused."""


def literal(value: Any) -> str:
    """Return an operand without values as Python that `read_operand` reads back."""
    return written(value, _no_value)


def _no_value(value: Value) -> str:
    raise GraphError(f"{value.name} is no literal")


def written(operand: Any, name: Callable[[Value], str], size: Callable[[Symbol], str] = str) -> str:
    """Return an operand as Python; `name` says what values are called, and `size` what sizes of inputs are."""
    if isinstance(operand, Value):
        return name(operand)
    if isinstance(operand, Symbolic):
        return size_text(operand, size)
    if isinstance(operand, Device):
        return f"device({str(operand)!r})"
    if isinstance(operand, DType) and not operand.is_quantized:
        # What a program has compared with: it is equal to no type of NumPy's.
        return f"data_type({operand.name!r})"
    if isinstance(operand, np.dtype | DType):
        return f"dtype({operand.name!r})"
    # Nested lists lose the dims behind one of size 0.
    if isinstance(operand, np.ndarray):
        if operand.size == 0:
            return f"empty({operand.shape!r}, '{operand.dtype.name}')"
        return f"array({operand.tolist()!r}, '{operand.dtype.name}')"
    if isinstance(operand, np.generic):
        # The type of a NumPy number counts for nothing in a parameter: ops take Python's.
        return written(operand.item(), name, size)
    if isinstance(operand, slice):
        parts = (written(one, name, size) for one in (operand.start, operand.stop, operand.step))
        return f"slice({', '.join(parts)})"
    if isinstance(operand, dict):
        pairs = (f"{literal(key)}: {written(one, name, size)}" for key, one in operand.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(operand, tuple | list):
        inner = ", ".join(written(one, name, size) for one in operand)
        if isinstance(operand, list):
            return f"[{inner}]"
        # (x) alone would be x.
        return f"({inner},)" if len(operand) == 1 else f"({inner})"
    if isinstance(operand, complex):
        # Python's own form is a sum, and loses the sign of a zero.
        return f"complex({operand.real!r}, {operand.imag!r})"
    if operand is None or operand is Ellipsis or isinstance(operand, bool | int | float | str):
        # `repr` of a float is read back to the bit; inf and nan are names that both forms know.
        return "..." if operand is Ellipsis else repr(operand)
    raise GraphError(f"a parameter of type {type(operand).__name__} cannot be written as text")


def size_names(function: SubGraph, name: Callable[[Value], str]) -> Callable[[Symbol], str]:
    """Return what the sizes of a function are called: ``x.shape[0]``."""
    known = {symbol: f"{name(value)}.shape[{dim}]" for symbol, (value, dim) in symbols(function).items()}
    return lambda symbol: known.get(symbol, symbol.name)


Refuse = Callable[[str], GraphError]
"""Makes the error of what is not understood."""


def read_operand(tree: ast.expr, find: Callable[[ast.expr], Value | None], refuse: Refuse) -> Any:
    """Return the operand that a syntax tree stands for; `find` returns the value where one stands, else None."""
    value = find(tree)
    if value is not None:
        return value

    def read(part: ast.expr) -> Any:
        return read_operand(part, find, refuse)

    match tree:
        case ast.Constant(value=bool() | int() | float() | str() | None as plain):
            return plain
        # A pattern can compare with literals only by equality, and … is none of them.
        case ast.Constant(value=plain) if plain is Ellipsis:
            return plain
        case ast.Tuple(elts=elements):
            return tuple([read(one) for one in elements])
        case ast.List(elts=elements):
            return [read(one) for one in elements]
        case ast.Dict(keys=keys, values=values):
            # A list as a key would pass as an operand and fail as a key; `**` has None here.
            if all(isinstance(key, ast.Constant | ast.UnaryOp | ast.Name) for key in keys):
                return {
                    read(key): read(one) for key, one in zip(keys, values, strict=True) if key is not None
                }
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as plain)):
            return -plain
        case (
            ast.Subscript() | ast.BinOp() | ast.UnaryOp(op=ast.USub(), operand=ast.Subscript() | ast.BinOp())
        ):
            return read_size(tree, find, refuse)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
            return -math.inf
        case ast.Name(id="inf" | "nan" as name):
            return float(name)
        case ast.Call(func=ast.Name(id="slice"), args=parts, keywords=[]) if len(parts) == 3:
            return slice(*[read(one) for one in parts])
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in _MAKERS:
            try:
                # Without values: what is made here is a literal. Arguments are read, so that nothing else can be
                # called.
                return _MAKERS[name](*(read_operand(one, lambda tree: None, refuse) for one in parts))
            except DTypeError:
                raise refuse(f"has {ast.unparse(parts[-1])[:80]}, which is not a data type") from None
            except (TypeError, ValueError, OverflowError, RuntimeError) as error:
                if isinstance(error, GraphError):
                    raise
    raise refuse(f"has {_shown(tree)}, which is not a literal")


def read_size(tree: ast.expr, find: Callable[[ast.expr], Value | None], refuse: Refuse) -> Any:
    """Return the size, or the formula, that a syntax tree stands for: arithmetic of ``x.shape[0]`` and numbers."""
    # Sizes are multiplied out: a short text of nested products would take unbounded time.
    if sum(1 for _ in ast.walk(tree)) > MOST_PARTS:
        raise refuse(f"has a size of more than {MOST_PARTS:,} parts")
    found = _size(tree, find)
    if found is None:
        raise refuse(f"has {_shown(tree)}, which is not a size")
    return found


def _size(tree: ast.expr, find: Callable[[ast.expr], Value | None]) -> Any:
    """Return a size or a formula; None for what is neither."""
    match tree:
        case ast.Constant(value=int() | float() as number) if type(number) in (int, float):
            return number
        case ast.Name(id="inf" | "nan" as name):
            return float(name)
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name() as name, attr="shape"), slice=ast.Constant(value=dim)
        ):
            value = find(name)
            # What an op makes has sizes that follow from others, and is written by those.
            follows = value is None or (value.node is not None and value.node.op is not None)
            kind = None if value is None or follows else value.type
            if type(dim) is int and isinstance(kind, TensorType) and 0 <= dim < len(kind.sizes):
                return kind.sizes[dim]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _size(operand, find)
            if isinstance(inner, int | float | Expression):
                return -inner
        case ast.BinOp(left=left, op=rule, right=right) if type(rule) in _ARITHMETIC:
            sides = _size(left, find), _size(right, find)
            # Numbers alone are written as one number: so nobody has large ones computed here.
            if None not in sides and any(isinstance(one, Symbolic) for one in sides):
                try:
                    return calculated(sides[0], _ARITHMETIC[type(rule)], sides[1])
                except (ValueError, ArithmeticError):
                    return None
    return None


_ARITHMETIC: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip


def read_guard(
    tree: ast.expr, find: Callable[[ast.expr], Value | None], refuse: Refuse, source: str
) -> Guard:
    """Return what ``x.shape[0] > 4`` says."""
    match tree:
        case ast.Compare(left=left, ops=[relation], comparators=[right]) if type(relation) in _RELATIONS:
            sides = read_size(left, find, refuse), read_size(right, find, refuse)
            return Guard(sides[0], _RELATIONS[type(relation)], sides[1], source)
    raise refuse(f"asserts {_shown(tree)}, which is not how two sizes are related")


_RELATIONS: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def _shown(tree: ast.expr) -> str:
    return repr(ast.unparse(tree)[:80])


def _dtype(name: str) -> np.dtype[Any] | DType:
    found = as_dtype(name)
    return found if found.is_quantized else found.numpy


def _array(values: list[Any], dtype: str) -> Any:
    return np.array(values, as_dtype(dtype).numpy)


def _empty(shape: tuple[int, ...], dtype: str) -> Any:
    # An array without numbers given would have whatever stands in memory.
    if math.prod(shape) != 0:
        raise ValueError("only arrays without values are written as empty")
    return np.empty(shape, as_dtype(dtype).numpy)


_MAKERS: dict[str, Callable[..., Any]] = {
    "array": _array,
    "complex": complex,
    "data_type": as_dtype,
    "device": Device,
    "dtype": _dtype,
    "empty": _empty,
}
"""What may be called in a literal."""
