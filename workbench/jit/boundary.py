"""Where Python meets a script: what a call is given becomes what the graph takes, and what it gives what Python has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from workbench.core.value import Value as Tensor
from workbench.graph.blocks import GraphError
from workbench.graph.types import COMPLEX, FLOAT, INT, DictType, ListType, OptionalType, TupleType, Type
from workbench.jit.kinds import EnumKind, ObjectKind, RecordKind

__all__ = ["Boundary", "State", "given", "handed"]


@dataclass(frozen=True)
class Boundary:
    """What a method of a script takes and gives."""

    kinds: tuple[Type, ...]
    defaults: Mapping[str, Any]
    result: Type
    stateful: bool = False
    """Does its graph take the module, of which it reads what changes?"""


def given(kind: Type, value: Any) -> Any:
    """Return what a call is given as the graph takes it."""
    match kind:
        case OptionalType(item=item):
            return None if value is None else given(item, value)
        case ListType(item=item) if isinstance(value, list | tuple):
            found = [given(item, one) for one in value]
            # The list itself where it is one already: what the script puts in is to be seen outside.
            same = isinstance(value, list) and all(
                one is other for one, other in zip(found, value, strict=True)
            )
            return value if same else found
        case DictType(value=item) if isinstance(value, dict):
            made = {key: given(item, one) for key, one in value.items()}
            return value if all(made[key] is value[key] for key in value) else made
        case TupleType(items=items) | RecordKind(items=items) if isinstance(value, tuple | list):
            # One by one up to the shorter: the graph says what is wrong with the number of them.
            several = [given(one, item) for one, item in zip(items, value, strict=False)]
            return (*several, *value[len(items) :])
        case EnumKind(cls=cls) if isinstance(value, Enum) and value.name in cls.__members__:
            # By name: an archive has a class of its own for it.
            return value.name, value.value
        case ObjectKind(cls=cls) if isinstance(value, cls):
            return vars(value)
    if isinstance(value, np.generic):
        # A number of NumPy's is one of Python's, where it is of the same kind or a narrower one.
        value = value.item()
    if kind == FLOAT and type(value) is int:
        return float(value)
    if kind == COMPLEX and type(value) in (int, float):
        return complex(value)
    if kind in (INT, FLOAT) and isinstance(value, Tensor) and not value.payload.shape:
        number: Any = value
        return int(number) if kind == INT else float(number)
    return value


def handed(kind: Type, value: Any) -> Any:
    """Return what a graph gives as Python has it."""
    match kind:
        case OptionalType(item=item):
            return None if value is None else handed(item, value)
        case ListType(item=item) if _differs(item):
            return [handed(item, one) for one in value]
        case DictType(value=item) if _differs(item):
            return {key: handed(item, one) for key, one in value.items()}
        case TupleType(items=items):
            return tuple(handed(one, item) for one, item in zip(items, value, strict=True))
        case RecordKind(items=items, cls=cls):
            several = [handed(one, item) for one, item in zip(items, value, strict=True)]
            return tuple(several) if cls is None else cls(*several)
        case EnumKind(cls=cls):
            return cls[value[0]]
        case ObjectKind(cls=cls):
            made = object.__new__(cls)
            made.__dict__ = value
            return made
    return value


def _differs(kind: Type) -> bool:
    """Say whether Python has something else for values of a type than graphs do."""
    match kind:
        case RecordKind() | EnumKind() | ObjectKind():
            return True
        case ListType(item=item) | OptionalType(item=item):
            return _differs(item)
        case DictType(key=key, value=value):
            return _differs(key) or _differs(value)
        case TupleType(items=items):
            return any(map(_differs, items))
    return False


class State:
    """A module as its graphs see it: what changes in it, by paths."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def _owner(self, path: str) -> tuple[Any, str]:
        *parts, name = path.split(".")
        owner = self._module
        for part in parts:
            owner = owner._modules[part]
        # Nothing else of an object: a text of a graph may ask for any path.
        if path not in self._module._attributes and name != "training" and name not in owner._buffers:
            raise GraphError(f"the module has no attribute {path!r} that its graph may look at")
        return owner, name

    def __getitem__(self, path: str) -> Any:
        owner, name = self._owner(path)
        return getattr(owner, name)

    def __setitem__(self, path: str, value: Any) -> None:
        owner, name = self._owner(path)
        setattr(owner, name, value)
