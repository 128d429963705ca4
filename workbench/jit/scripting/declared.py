"""What functions of the workbench and of Python give, as they declare it themselves; nothing is guessed from names."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from workbench.graph.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    TupleType,
    Type,
)
from workbench.jit.kinds import DEVICE, DTYPE, NUMBER, OPAQUE, Item, RecordKind, optional
from workbench.jit.scripting.annotations import kind_of_class
from workbench.nn.utils.rnn import PackedSequence
from workbench.tensor import Tensor

__all__ = ["arguments_of", "attribute_kind", "result_kind"]

_WORDS: dict[str, Type] = {
    "Tensor": TENSOR, "Self": TENSOR, "bool": BOOL, "int": INT, "float": FLOAT, "str": TEXT, "None": NONE,
    "DType": DTYPE, "Device": DEVICE, "Size": ListType(INT), "Names": OPAQUE, "QScheme": OPAQUE,
}  # fmt: skip
_MEASURED: dict[str, Type] = {"item": NUMBER, "tolist": ANY}
"""Methods whose declared result is anything, and what that is in a script."""


def result_kind(
    function: Callable[..., Any], inputs: Sequence[Any], params: Mapping[str, Any]
) -> Type | None:
    """Return the type of what a function gives when it is called so; None where its declaration says none.

    A tuple of any length counts as a list, as in TorchScript.
    """
    name = getattr(function, "__name__", "")
    if name == "size" and function is getattr(Tensor, "size", None):
        return INT if len(inputs) + len(params) > 1 else ListType(INT)
    if name in _MEASURED and function is getattr(Tensor, name, None):
        return _MEASURED[name]
    for one in (*_overloads(function), function):
        if one is function or _goes(one, inputs, params):
            found = _declared(one, function)
            if found is not None:
                return found
    return None


@lru_cache(maxsize=512)
def _overloads(function: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    # Of plain functions only: a builtin's has no module that it could be registered under.
    # What takes ``out=`` stands around the function that was declared.
    plain = inspect.unwrap(function)
    return tuple(typing.get_overloads(plain)) if inspect.isfunction(plain) else ()


def _goes(overload: Callable[..., Any], inputs: Sequence[Any], params: Mapping[str, Any]) -> bool:
    """Say whether a call goes with an overload: by how many arguments there are, and by those that are literals."""
    try:
        bound = inspect.signature(overload).bind(*inputs, **params)
    except TypeError:
        return False
    hints = getattr(overload, "__annotations__", {})
    for name, value in bound.arguments.items():
        hint = str(hints.get(name, ""))
        operand = value.operand if isinstance(value, Item) else value
        kind = value.kind if isinstance(value, Item) else None
        if hint == "Literal[True]" and operand is not True:
            return False
        if hint == "Literal[False]" and operand is not False:
            return False
        if hint == "Tensor" and kind is not None and kind != TENSOR:
            return False
        if hint == "Dim" and kind == TENSOR:
            return False
        if hint.startswith("Sequence") and kind == TENSOR:
            return False
    return True


def _declared(overload: Callable[..., Any], function: Callable[..., Any]) -> Type | None:
    hint = getattr(overload, "__annotations__", {}).get("return")
    text = hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
    return (
        _read(text, getattr(inspect.unwrap(function), "__globals__", {}))
        if hint is not None or text == "None"
        else None
    )


def _read(text: str, around: Mapping[str, Any]) -> Type | None:
    """Read a declaration: text with the names of the file that it stands in."""
    return _kind(ast.parse(text, mode="eval").body, around)


def _kind(tree: ast.expr, around: Mapping[str, Any]) -> Type | None:
    match tree:
        case ast.Constant(value=None):
            return NONE
        case ast.Constant(value=str() as text):
            return _read(text, around)
        case ast.Name(id=name) if name in _WORDS:
            return _WORDS[name]
        case ast.Name(id=name):
            return _record(around.get(name))
        case ast.Subscript(
            value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[one, ast.Constant(value=rest)])
        ) if rest is Ellipsis:
            item = _kind(one, around)
            return None if item is None else ListType(item)
        case ast.Subscript(value=ast.Name(id="list"), slice=one):
            item = _kind(one, around)
            return None if item is None else ListType(item)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, value])):
            pair = _kind(key, around), _kind(value, around)
            return None if pair[0] is None or pair[1] is None else DictType(pair[0], pair[1])
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)):
            items = [_kind(one, around) for one in parts]
            known = [one for one in items if one is not None]
            return TupleType(tuple(known)) if len(known) == len(items) else None
        case ast.BinOp(left=one, op=ast.BitOr(), right=ast.Constant(value=None)):
            item = _kind(one, around)
            return None if item is None else optional(item)
    return None


def _record(thing: Any) -> Type | None:
    """Return the type of a named tuple: as its fields are annotated, else of tensors, such as values and indices."""
    fields = getattr(thing, "_fields", None)
    if thing is PackedSequence:
        return kind_of_class(thing)
    return RecordKind(thing.__name__, tuple(fields), (TENSOR,) * len(fields)) if fields else None


def attribute_kind(name: str) -> Type | None:
    """Return the type of an attribute of tensors; None where there is none, or it is a method.

    >>> print(attribute_kind("requires_grad"), attribute_kind("shape"), attribute_kind("view"))
    bool list[int] None
    """
    if name == "shape":
        return ListType(INT)
    found = inspect.getattr_static(Tensor, name, None)
    getter = getattr(found, "fget", None)
    return None if getter is None else _declared(getter, getter)


def arguments_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function; None for those of Python's that have none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
