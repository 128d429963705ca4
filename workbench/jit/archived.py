"""What a script has beside its graph, as JSON: types of arguments, defaults, attributes of modules."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from workbench.base.errors import WeightsError, short
from workbench.core.value import Value as Tensor
from workbench.graph import GraphError
from workbench.graph.type_reading import read_type
from workbench.graph.types import DictType, ListType, OptionalType, TupleType, Type
from workbench.jit.boundary import Boundary
from workbench.jit.kinds import EnumKind, FutureKind, RecordKind, lowered

__all__ = ["boundary_from", "boundary_told", "kind_from", "kind_told", "value_from", "value_told"]

_DEEPEST = 32


def kind_told(kind: Type) -> Any:
    """Return a type as JSON: the text of the graph's type, or what a named tuple or enum is."""
    match kind:
        case RecordKind(name=name, fields=fields, items=items):
            return {"record": name, "fields": list(fields), "items": [kind_told(one) for one in items]}
        case EnumKind(cls=cls, value=value):
            members = {one.name: one.value for one in cls}
            return {"enum": cls.__name__, "members": members, "value": kind_told(value)}
        case ListType(item=item):
            return {"list": kind_told(item)}
        case OptionalType(item=item):
            return {"optional": kind_told(item)}
        case DictType(key=key, value=value):
            return {"dict": [kind_told(key), kind_told(value)]}
        case TupleType(items=items):
            return {"tuple": [kind_told(one) for one in items]}
        case FutureKind(item=item):
            return kind_told(item)
    return str(lowered(kind))


def kind_from(told: Any, depth: int = 0) -> Type:
    """Read what `kind_told` has written. Raises `WeightsError`."""
    if depth > _DEEPEST:
        raise WeightsError("a type in the archive goes too deep")

    def inner(one: Any) -> Type:
        return kind_from(one, depth + 1)

    match told:
        case str():
            try:
                return read_type(told, GraphError)
            except GraphError as error:
                raise WeightsError(f"a type in the archive: {error}") from None
        case {"record": str() as name, "fields": list() as fields, "items": list() as items} if (
            len(fields) == len(items) and name.isidentifier() and all(map(_is_field, fields))
        ):
            return RecordKind(
                name, tuple(fields), tuple(map(inner, items)), _made(lambda: namedtuple(name, fields))
            )
        case {"enum": str() as name, "members": dict() as members, "value": value} if members and all(
            map(_is_field, members)
        ):
            return EnumKind(_made(lambda: Enum(name, members)), inner(value))
        case {"list": item}:
            return ListType(inner(item))
        case {"optional": item}:
            return OptionalType(inner(item))
        case {"dict": [key, value]}:
            return DictType(inner(key), inner(value))
        case {"tuple": list() as items}:
            return TupleType(tuple(map(inner, items)))
    raise WeightsError(f"the archive has {short(told)} where a type is expected")


def _made(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (TypeError, ValueError) as error:
        raise WeightsError(f"a class in the archive cannot be: {error}") from None


def _is_field(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and name[0] != "_"


def value_told(value: Any, hold: Callable[[Any], str]) -> Any:
    """Return a value as JSON; `hold` keeps a tensor and returns its name. Raises `WeightsError` for other objects."""
    if isinstance(value, Tensor):
        return {"tensor": hold(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        word = "list" if isinstance(value, list) else "tuple"
        return {word: [value_told(one, hold) for one in value]}
    if isinstance(value, Mapping):
        return {"dict": [[value_told(key, hold), value_told(one, hold)] for key, one in value.items()]}
    raise WeightsError(f"a {type(value).__name__} among the attributes cannot be written: delete it before")


def value_from(told: Any, tensors: Mapping[str, Any], depth: int = 0) -> Any:
    """Read what `value_told` has written. Raises `WeightsError`."""
    if depth > _DEEPEST:
        raise WeightsError("a value in the archive goes too deep")

    def inner(one: Any) -> Any:
        return value_from(one, tensors, depth + 1)

    match told:
        case None | bool() | int() | float() | str():
            return told
        case {"tensor": str() as name} if name in tensors:
            return tensors[name]
        case {"float": "inf" | "-inf" | "nan" as text}:
            return float(text)
        case {"list": list() as items}:
            return [inner(one) for one in items]
        case {"tuple": list() as items}:
            return tuple(map(inner, items))
        case {"dict": list() as pairs} if all(isinstance(one, list) and len(one) == 2 for one in pairs):
            found = [(inner(key), inner(value)) for key, value in pairs]
            if all(isinstance(key, str | int | float) for key, _ in found):
                return dict(found)
    raise WeightsError(f"the archive has {short(told)} where a value is expected")


def boundary_told(boundary: Boundary) -> dict[str, Any]:
    """Return what a method takes and gives as JSON; defaults that no file holds are left out."""
    defaults = {}
    for name, value in boundary.defaults.items():
        if value is None or isinstance(value, bool | int | float | str | tuple):
            defaults[name] = value_told(value, _no_tensor)
    return {
        "kinds": [kind_told(one) for one in boundary.kinds],
        "defaults": defaults,
        "result": kind_told(boundary.result),
        "stateful": boundary.stateful,
    }


def _no_tensor(tensor: Any) -> str:
    raise WeightsError("a default is a tensor, which no archive holds")


def boundary_from(told: Any, count: int) -> Boundary:
    """Read what `boundary_told` has written, of a method of so many arguments. Raises `WeightsError`."""
    match told:
        case {
            "kinds": list() as kinds,
            "defaults": dict() as defaults,
            "result": result,
            "stateful": bool() as state,
        }:
            if len(kinds) == count:
                return Boundary(
                    tuple(map(kind_from, kinds)),
                    {name: value_from(one, {}) for name, one in defaults.items()},
                    kind_from(result),
                    state,
                )
    raise WeightsError(f"the archive has {short(told)} where it is said what a method takes")
