"""Annotations as types. Names are looked up around the function; nothing is evaluated."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from workbench.base.annotations import annotations_of
from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.graph.types import (
    ANY,
    BOOL,
    COMPLEX,
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
from workbench.jit.guards import Future, is_interface
from workbench.jit.kinds import (
    DEVICE,
    DTYPE,
    OPAQUE,
    EnumKind,
    FutureKind,
    ObjectKind,
    RecordKind,
    UnionKind,
    kind_of_operand,
    optional,
)
from workbench.jit.scripting.errors import ScriptError, Source
from workbench.nn import Module, Parameter
from workbench.tensor import Tensor

__all__ = ["Annotations", "kind_of_class", "static"]

_PLAIN: dict[Any, Type] = {
    int: INT, float: FLOAT, bool: BOOL, complex: COMPLEX, str: TEXT, None: NONE, type(None): NONE, Tensor: TENSOR,
    Parameter: TENSOR, Any: ANY, object: ANY, DType: DTYPE, Device: DEVICE, list: ListType(TENSOR),
    tuple: OPAQUE,
}  # fmt: skip
MODULES = "a module is kept in the one that is scripted, as an attribute: self.layer(x)"
"""What to write where a module is an argument."""
_WRITE = (
    "Write Tensor, int, float, bool, str, a list, dict, tuple or Optional of those, a named tuple, an enum or a "
    "scripted class"
)


def static(tree: ast.expr, around: Mapping[str, Any]) -> Any:
    """Return the object that a name, or a dotted name, means around a function. Raises LookupError."""
    if isinstance(tree, ast.Name):
        if tree.id in around:
            return around[tree.id]
        if hasattr(builtins, tree.id):
            return getattr(builtins, tree.id)
        raise LookupError(tree.id)
    if isinstance(tree, ast.Attribute):
        owner = static(tree.value, around)
        # Of modules and classes only: an attribute of anything else may be computed when it is asked for.
        if isinstance(owner, types.ModuleType | type) and hasattr(owner, tree.attr):
            return getattr(owner, tree.attr)
    raise LookupError(ast.unparse(tree))


class Annotations:
    """Reads the annotations of one function or class."""

    def __init__(self, source: Source, around: Mapping[str, Any]) -> None:
        self.source = source
        self.around = around

    def kind(self, tree: ast.expr) -> Type:
        """Return the type that an annotation says; raise `ScriptError` where it says none."""
        found = self._kind(tree)
        if found is None:
            raise self.source.error(tree, *self._refusal(tree))
        return found

    def _refusal(self, tree: ast.expr) -> tuple[str, str]:
        """Say why an annotation is no type, and what to write."""
        try:
            found = static(tree, self.around)
        except LookupError:
            found = None
        if isinstance(found, type) and issubclass(found, Module):
            return f"{ast.unparse(tree)} is a module, and no value of a run", MODULES.capitalize()
        return f"{ast.unparse(tree)} is no type that a script has", _WRITE

    def _kind(self, tree: ast.expr) -> Type | None:
        match tree:
            case ast.Constant(value=None):
                return NONE
            case ast.Constant(value=str() as text):
                return self._text(tree, text)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return _union([self.kind(left), self.kind(right)])
            case ast.Subscript(value=head, slice=inner):
                return self._of(tree, head, inner)
        try:
            return kind_of_class(static(tree, self.around))
        except LookupError:
            # A class of the house by its usual name, which only type checkers have imported.
            return TENSOR if ast.unparse(tree) == "Tensor" else None

    def _text(self, tree: ast.expr, text: str) -> Type | None:
        try:
            inner = ast.parse(text, mode="eval").body
        except SyntaxError:
            return None
        for one in ast.walk(inner):
            ast.copy_location(one, tree)
        return self._kind(inner)

    def _of(self, tree: ast.expr, head: ast.expr, inner: ast.expr) -> Type | None:
        """Read ``List[int]`` and its like."""
        try:
            maker = static(head, self.around)
        except LookupError:
            return None
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        # `List` of `typing` is another word for `list`.
        maker = typing.get_origin(maker) or maker
        name = getattr(maker, "__name__", None) or getattr(maker, "_name", None) or str(maker)
        if name in ("Final", "Annotated", "ClassVar") or maker in (typing.Final, typing.Annotated):
            return self.kind(parts[0])
        if maker is Tensor:
            return TENSOR
        if maker is list and len(parts) == 1:
            return ListType(self.kind(parts[0]))
        if maker is dict and len(parts) == 2:
            return DictType(self.kind(parts[0]), self.kind(parts[1]))
        if maker is tuple:
            if isinstance(inner, ast.Tuple) and not inner.elts:
                return TupleType(())
            if any(isinstance(one, ast.Constant) and one.value is Ellipsis for one in parts):
                raise self.source.error(
                    tree,
                    "a tuple of any length has no type in a script",
                    "Write List[…], or each item's type",
                )
            return TupleType(tuple(map(self.kind, parts)))
        if maker is typing.Optional and len(parts) == 1:
            return optional(self.kind(parts[0]))
        if maker is typing.Union:
            return _union([self.kind(one) for one in parts])
        if maker is Future and len(parts) == 1:
            return FutureKind(self.kind(parts[0]))
        return None


def _union(kinds: list[Type]) -> Type:
    flat: list[Type] = []
    for one in kinds:
        flat += one.options if isinstance(one, UnionKind) else [one]
    found = list(dict.fromkeys(flat))
    rest = [one for one in found if one != NONE]
    if len(rest) == 1:
        return rest[0] if len(found) == 1 else optional(rest[0])
    return UnionKind(tuple(found)) if rest else NONE


def kind_of_class(thing: Any) -> Type | None:
    """Return the type that a class, or something that `typing` makes, stands for; None where it is none."""
    try:
        if thing in _PLAIN:
            return _PLAIN[thing]
    except TypeError:  # no hash
        return None
    origin, parts = typing.get_origin(thing), typing.get_args(thing)
    if origin is list and not parts:
        return ListType(TENSOR)
    if origin is not None:
        return _of_generic(origin, parts)
    if not isinstance(thing, type):
        return None
    if issubclass(thing, Tensor):
        return TENSOR
    if issubclass(thing, tuple) and hasattr(thing, "_fields"):
        return _record(thing)
    if issubclass(thing, Enum):
        kinds = dict.fromkeys(kind_of_operand(one.value) for one in thing)
        (value,) = kinds if len(kinds) == 1 else (None,)
        if value is None:
            raise ScriptError(
                f"the members of the enum {thing.__name__} have values of several types, and in a script all have one"
            )
        return EnumKind(thing, value)
    if is_interface(thing) or hasattr(thing, "__torch_script_class__") or is_dataclass(thing):
        return ObjectKind(thing)
    return None


def _of_generic(origin: Any, parts: tuple[Any, ...]) -> Type | None:
    if origin in (typing.Final, typing.Annotated, typing.ClassVar):
        return kind_of_class(parts[0])
    inner = [kind_of_class(one) for one in parts]
    if any(one is None for one in inner):
        return None
    found = [one for one in inner if one is not None]
    if origin is list:
        return ListType(found[0])
    if origin is dict:
        return DictType(found[0], found[1])
    if origin is tuple:
        return TupleType(tuple(found))
    if origin is typing.Union or origin is types.UnionType:
        return _union(found)
    return None


def _record(cls: Any) -> Type:
    """Return the type of a named tuple; fields without annotations are tensors."""
    # A class made from a named tuple has the fields of that.
    hints: dict[str, Any] = {}
    for one in cls.__mro__[::-1]:
        hints |= annotations_of(one)
    around = vars(inspect.getmodule(cls) or builtins)
    if cls.__module__.startswith("workbench."):
        # While Python runs, the name stands for anything in rooms below the tensor's.
        around = {**around, "Tensor": Tensor}
    source = Source(getattr(inspect.getmodule(cls), "__file__", None) or "<unknown>", 1, (), 0)
    kinds = []
    for field in cls._fields:
        hint = hints.get(field, Tensor)
        # `typing.NamedTuple` makes one of what is written as text.
        hint = hint.__forward_arg__ if isinstance(hint, typing.ForwardRef) else hint
        if isinstance(hint, str):
            kinds.append(Annotations(source, around).kind(ast.Constant(hint, lineno=1, col_offset=0)))
            continue
        kind = kind_of_class(hint)
        if kind is None:
            raise ScriptError(
                f"the field {field} of {cls.__name__} is {hint!r}, which is no type that a script has"
            )
        kinds.append(kind)
    return RecordKind(cls.__name__, tuple(cls._fields), tuple(kinds), cls)
