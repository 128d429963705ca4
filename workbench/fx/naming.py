"""What nodes, and the functions that they call, are called: in the graph, in its text and in its code."""

from __future__ import annotations

import builtins
import keyword
import re
import types
import typing
from typing import Any

from workbench.core.op import Op
from workbench.graph.vocabulary import ROOMS_ABOVE, named_for
from workbench.tensor import Tensor

__all__ = ["Names", "qualified_name", "snake_case", "type_name"]

_TAKEN = frozenset({"NoneType", "device", "fx_pytree", "inf", "nan", "pytree", "torch", "workbench"})
"""Names that mean something in the code of every graph."""
_ILLEGAL = _TAKEN | set(keyword.kwlist) | set(dir(builtins))


_ILLEGAL_CHARACTERS = re.compile(r"[^0-9a-zA-Z_]+")


class Names:
    """The names of a graph, each taken once.

    >>> names = Names()
    >>> [names.take("relu"), names.take("relu"), names.take("input"), names.take("layer1.0")]
    ['relu', 'relu_1', 'input_1', 'layer1_0']
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def take(self, wanted: str, allowed: frozenset[str] = frozenset()) -> str:
        """Return `wanted`, or a name like it, that nobody has; `allowed` are names with a meaning that is meant."""
        word = (
            wanted
            if wanted.isidentifier() and wanted.isascii()
            else _ILLEGAL_CHARACTERS.sub("_", wanted) or "_unnamed"
        )
        word = f"_{word}" if word[0].isdigit() else word
        # A name that ends in a number goes on counting from there.
        base, mark, digits = word.rpartition("_")
        number = int(digits) if mark and base and digits.isdigit() else 0
        if number or (mark and base and digits.isdigit()):
            word = f"{base}_{number}"
        else:
            base = word
        number = number or self._counts.get(base, 0)
        while word in self._taken or (word in _ILLEGAL and word not in allowed):
            number += 1
            word = f"{base}_{number}"
        self._taken.add(word)
        self._counts[base] = number
        return word

    def copy(self) -> Names:
        """Return names of their own that begin with these."""
        other = Names()
        other._taken, other._counts = set(self._taken), dict(self._counts)
        return other


def snake_case(word: str) -> str:
    """Return ``layer_norm`` for ``LayerNorm``; what has no capitals stays.

    >>> snake_case("MultiheadAttention"), snake_case("add")
    ('multihead_attention', 'add')
    """
    if word.islower():
        return word
    parts: list[str] = []
    for i, char in enumerate(word):
        # Between a small letter and a capital, and before the last capital of several: `getHTTPCode`, `get_http_code`.
        if char.isupper() and i and not word[i - 1].isupper() and word[i - 1] != "_":
            parts.append("_")
        parts.append(char.lower())
    return "".join(parts)


_ROOMS = {
    "wb": "workbench",
    "nn": "workbench.nn",
    "linalg": "workbench.linalg",
    "special": "workbench.special",
}
_ROOMS["fft"] = "workbench.fft"


def qualified_name(function: Any) -> str:
    """Return where people find a function: ``operator.add``, ``workbench.nn.functional.relu``.

    >>> import workbench as wb
    >>> qualified_name(wb.cat)
    'workbench.cat'
    """
    if isinstance(function, Op):
        return f"workbench.core.ops.{function.name}"
    if function is getattr:
        return "builtins.getattr"
    found = named_for(function)
    if found is not None:
        room, _, rest = found.name.partition(".")
        if room in ROOMS_ABOVE:
            return f"workbench.{found.name}"
        return f"{_ROOMS.get(room, room)}.{rest}"
    name = getattr(function, "__name__", None) or type(function).__name__
    module = (getattr(function, "__module__", None) or "").replace("_operator", "operator")
    return f"{module}.{name}" if module else str(name)


def type_name(kind: Any) -> str:
    """Return a type as an annotation is written: ``workbench.Tensor``, ``int``, ``typing.Optional[int]``."""
    if isinstance(kind, str):
        return repr(kind)
    if kind is Tensor:
        return "workbench.Tensor"
    if kind is ...:
        return "..."
    if kind is type(None):
        return "None"
    parts = typing.get_args(kind)
    if parts and not isinstance(kind, types.UnionType):
        # `Optional[int]` is a union to Python; written as one, it runs everywhere.
        origin = typing.get_origin(kind)
        if origin is typing.Union:
            return f"typing.Union[{', '.join(map(type_name, parts))}]"
        return f"{type_name(origin)}[{', '.join(map(type_name, parts))}]"
    if isinstance(kind, types.UnionType):
        return " | ".join(map(type_name, parts))
    if isinstance(kind, type):
        return (
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        )
    return repr(kind)
