"""Types of scripted values: those of the graph, and what a graph knows as one of those.

A tensor in a script is any tensor. A named tuple is a tuple in the graph, an enum its name and its value, an object of
a scripted class, a data type or a device anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.graph.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NEVER,
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)

__all__ = [
    "DEVICE", "DTYPE", "NUMBER", "OPAQUE", "EnumKind", "FutureKind", "Item", "ObjectKind", "RecordKind", "UnionKind",
    "WholeKind", "fits", "joined", "kind_of_operand", "lowered", "optional", "shown",
]  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A value of a script: the operand of the graph, and its type."""

    operand: Any
    kind: Type


class _OwnKind(Type):
    """A type that graphs do not have."""

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is the same type."""
        return self == other or other == NEVER

    def holds(self, value: Any) -> bool:
        """Say whether `value` is one in a run: a graph knows no better than `lowered` says."""
        return lowered(self).holds(value)


@dataclass(frozen=True)
class WholeKind(_OwnKind):
    """Something that a script hands on whole: a data type, a device, a generator."""

    name: str

    def __str__(self) -> str:
        return self.name


DTYPE, DEVICE, OPAQUE = WholeKind("dtype"), WholeKind("device"), WholeKind("Any")
NUMBER = WholeKind("number")
"""A number of which only the run knows whether it is whole: what ``item()`` gives."""


@dataclass(frozen=True)
class UnionKind(_OwnKind):
    """One of several types."""

    options: tuple[Type, ...]

    def __str__(self) -> str:
        return f"Union[{', '.join(map(shown, self.options))}]"

    def accepts(self, other: Type) -> bool:
        """Say whether `other` is one of them, or a union of some."""
        if isinstance(other, UnionKind):
            return all(map(self.accepts, other.options))
        if isinstance(other, OptionalType):
            return self.accepts(NONE) and self.accepts(other.item)
        return any(one.accepts(other) for one in self.options)


@dataclass(frozen=True)
class RecordKind(_OwnKind):
    """A named tuple."""

    name: str
    fields: tuple[str, ...]
    items: tuple[Type, ...]
    cls: Any = None
    """The class, which a result is made of; None where only fields are known."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class EnumKind(_OwnKind):
    """A member of an enum: in the graph its name and its value."""

    cls: Any
    value: Type

    def __str__(self) -> str:
        return str(self.cls.__name__)


@dataclass(frozen=True)
class ObjectKind(_OwnKind):
    """An object of a scripted class: in the graph a dict of its attributes."""

    cls: Any

    def __str__(self) -> str:
        return str(self.cls.__name__)


@dataclass(frozen=True)
class FutureKind(_OwnKind):
    """What ``fork`` gives; in a graph it is the result already."""

    item: Type

    def __str__(self) -> str:
        return f"Future[{shown(self.item)}]"


_NAMES = {TENSOR: "Tensor", TEXT: "str", NONE: "NoneType", ANY: "Any", NEVER: "nothing"}


def shown(kind: Type) -> str:
    """Return a type as a program writes it.

    >>> shown(ListType(OptionalType(TENSOR)))
    'List[Optional[Tensor]]'
    """
    match kind:
        case TensorType():
            return "Tensor"
        case ListType(item=item):
            return f"List[{shown(item)}]"
        case DictType(key=key, value=value):
            return f"Dict[{shown(key)}, {shown(value)}]"
        case OptionalType(item=item):
            return f"Optional[{shown(item)}]"
        case TupleType(items=items):
            return f"Tuple[{', '.join(map(shown, items)) or '()'}]"
    return _NAMES.get(kind, str(kind))  # type: ignore[call-overload, no-any-return]


def lowered(kind: Type) -> Type:
    """Return the type that a graph has for it."""
    match kind:
        case ListType(item=item):
            return ListType(lowered(item))
        case DictType(key=key, value=value):
            return DictType(lowered(key), lowered(value))
        case OptionalType(item=item):
            return optional(lowered(item))
        case TupleType(items=items) | RecordKind(items=items):
            return TupleType(tuple(map(lowered, items)))
        case EnumKind(value=value):
            return TupleType((TEXT, lowered(value)))
        case FutureKind(item=item):
            return lowered(item)
    return ANY if isinstance(kind, _OwnKind) else kind


def optional(kind: Type) -> Type:
    """Return the type made optional, where it is not yet."""
    if kind in (ANY, NONE, OPAQUE) or isinstance(kind, OptionalType):
        return kind
    return OptionalType(kind)


def fits(wanted: Type, given: Type) -> bool:
    """Say whether a value of the type `given` can stand where `wanted` is asked for."""
    if wanted in (ANY, OPAQUE):
        return True
    if isinstance(wanted, OptionalType):
        inner = given.item if isinstance(given, OptionalType) else given
        return given == NONE or fits(wanted.item, inner)
    if isinstance(wanted, UnionKind):
        return wanted.accepts(given) or any(fits(one, given) for one in wanted.options)
    if isinstance(wanted, TupleType) and isinstance(given, RecordKind):
        return fits(wanted, TupleType(given.items))
    if isinstance(wanted, TupleType) and isinstance(given, TupleType):
        return len(wanted.items) == len(given.items) and all(map(fits, wanted.items, given.items))
    if wanted == NUMBER:
        return given in (INT, FLOAT, BOOL, COMPLEX) or given == NUMBER
    # Lists and dicts can be changed by both names they have: their items must be the same, or there are none yet.
    if isinstance(wanted, ListType) and isinstance(given, ListType):
        return given.item in (wanted.item, NEVER)
    if isinstance(wanted, DictType) and isinstance(given, DictType):
        return given.key == NEVER or (given.key, given.value) == (wanted.key, wanted.value)
    return wanted.accepts(given)


def joined(kinds: Iterable[Type]) -> Type | None:
    """Return the one type that all of them are; None where there is none."""
    found = list(dict.fromkeys(kinds))
    if not found:
        return NEVER
    widest = next((one for one in found if all(fits(one, other) for other in found)), None)
    if widest is not None or NONE not in found:
        return widest
    rest = joined(one for one in found if one != NONE)
    return None if rest is None else optional(rest)


def kind_of_operand(value: Any) -> Type | None:
    """Return the type of a literal; None for what cannot stand in a graph."""
    plain: dict[type, Type] = {
        bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: TEXT, type(None): NONE
    }  # fmt: skip
    return plain.get(type(value))
