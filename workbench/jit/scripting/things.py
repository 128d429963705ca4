"""What names stand for while compiling and what is no value of a run: functions, modules, methods."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.jit.kinds import Item
from workbench.jit.scripting.errors import Source

__all__ = ["Bound", "Known", "Many", "Nested", "Part", "PartMethod"]


@dataclass(frozen=True, eq=False)
class Known:
    """An object of Python's around the function: a module, a function, a class."""

    value: Any


@dataclass(frozen=True)
class Bound:
    """A method of a value."""

    receiver: Item
    name: str


@dataclass(frozen=True)
class Part:
    """A module of layers: the one that is scripted, or one in it."""

    module: Any
    path: str
    """Where it stands in the one that is scripted; empty for that itself."""
    above: type | None = None
    """Behind ``super()``: the class above which its methods are looked for."""


@dataclass(frozen=True)
class PartMethod:
    """A method of a module of layers."""

    part: Part
    name: str
    owner: type
    """The class whose method it is: the module's own, or one above it."""


@dataclass(frozen=True)
class Many:
    """Several things in a row that are known while compiling: the modules of a list, the pairs of an `enumerate`."""

    things: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Nested:
    """A function that is written in the one that is compiled."""

    tree: ast.FunctionDef
    source: Source
    around: Mapping[str, Any]
    place: Any
