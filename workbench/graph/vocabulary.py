"""Functions that a graph calls by name, as people write them: Python's operators, and what the workbench offers.

A graph that was traced calls ops; one that comes from a program as it was written calls ``operator.add``,
``nn.functional.relu`` or ``Tensor.view``. A name is looked up in the tables of what is offered, and never imported or
evaluated: text of a graph can call nothing else.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from workbench.core.op import Op
from workbench.graph.blocks import GraphError, NamedFunction
from workbench.graph.raising import throw
from workbench.graph.type_reading import read_type
from workbench.ops import FFT, FUNCTIONS, LINALG, NN, SPECIAL
from workbench.tensor import Tensor, factories, ranges, type_queries
from workbench.tensor import random as drawing

__all__ = ["MAKERS", "ROOMS_ABOVE", "holds", "introduce", "named", "named_for", "narrow"]

ROOMS_ABOVE: dict[str, Callable[[str], NamedFunction | None]] = {}
"""Rooms above this one whose functions graphs call, ``onnx.Conv``: what finds one by its name, put here by the room."""

MAKERS: dict[str, Callable[..., Any]] = {
    name: getattr(room, name)
    for room in (factories, ranges, drawing, type_queries)
    for name in room.__all__
    if name.islower()
}
"""What makes tensors, or says what they are, and is in no table of ops."""


def _get_attribute(value: Any, name: str) -> Any:
    """Return an attribute of a value, none that is private: those lead to everything that Python can do."""
    if name.startswith("_"):
        raise GraphError(f"a graph looks at no private attribute, as {name!r} is")
    return getattr(value, name)


def _append(items: list[Any], item: Any) -> None:
    items.append(item)


def narrow(value: Any) -> Any:
    """Return the value itself: a graph that calls this writes a narrower type for it, which is checked when it runs."""
    return value


def holds(value: Any, kind: str) -> bool:
    """Say whether a value is of a type, written as graphs write it: what ``isinstance`` is in a graph.

    >>> holds([1, 2], "list[int]"), holds(1, "str")
    (True, False)
    """
    return read_type(kind, GraphError).holds(value)


_CHANGES = frozenset(
    {
        "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow",
        "irshift", "isub", "itruediv", "ixor", "setitem",
    }
)  # fmt: skip
"""Operators that change their first operand, where it can be changed."""

_PYTHON: dict[str, Callable[..., Any]] = {
    "builtins.abs": abs, "builtins.bool": bool, "builtins.complex": complex, "builtins.divmod": divmod,
    "builtins.float": float, "builtins.getattr": _get_attribute, "builtins.int": int, "builtins.len": len,
    "builtins.all": all, "builtins.any": any, "builtins.chr": chr, "builtins.format": format, "builtins.hex": hex,
    "builtins.list": list, "builtins.max": max, "builtins.min": min, "builtins.ord": ord, "builtins.print": print,
    "builtins.range": range, "builtins.repr": repr, "builtins.round": round, "builtins.sorted": sorted,
    "builtins.str": str, "builtins.sum": sum, "builtins.tuple": tuple,
    "list.append": _append, "wb.graph.holds": holds, "wb.graph.narrow": narrow, "wb.graph.throw": throw,
}  # fmt: skip
_IMPURE = frozenset({"builtins.list", "builtins.print", "builtins.sorted"})
"""Functions of Python's that do something, or give a list that is another at every call."""

_METHODS: dict[type, tuple[str, ...]] = {
    list: ("clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"),
    dict: ("clear", "copy", "get", "items", "keys", "pop", "setdefault", "update", "values"),
    str: (
        "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "index", "isalnum", "isalpha",
        "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle",
        "isupper", "join", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind",
        "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase",
        "title", "upper", "zfill",
    ),
}  # fmt: skip
"""Methods of Python's lists, dicts and text. ``str.format`` is none of them: a template can name private attributes."""
_WRITING = frozenset(
    {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "setdefault", "sort", "update"}
)
_BY_EXAMPLE = frozenset(
    {"builtins.abs", "builtins.bool", "builtins.complex", "builtins.float", "builtins.int", "builtins.str"}
)
"""Functions whose result is of the same type for all numbers of the types that they are given."""


def _operators() -> Iterator[tuple[str, Callable[..., Any]]]:
    for room in (operator, math):
        for name, function in vars(room).items():
            # What makes functions (itemgetter) or calls what it is given has no place in a graph.
            # The tables are all that a text can call: what is not in them cannot be reached by any name.
            if callable(function) and name.islower() and name[0] != "_" and name not in _MAKERS:
                yield f"{room.__name__}.{name}", function


_MAKERS = ("attrgetter", "call", "itemgetter", "methodcaller")
# Now, and not when the table is first asked for: while fx traces, `math` has other functions in their places.
_OPERATORS = tuple(_operators())


def _methods_of_python() -> Iterator[tuple[str, Callable[..., Any]]]:
    for cls, names in _METHODS.items():
        for name in names:
            yield f"{cls.__name__}.{name}", getattr(cls, name)


def _rooms() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what each room offers, the prefix of its names first."""
    yield "nn.functional", NN
    yield "wb", {**MAKERS, **FUNCTIONS}
    yield "linalg", LINALG
    yield "special", SPECIAL
    yield "fft", FFT


# When it is first asked for: at import the rooms are not filled yet.
@lru_cache(maxsize=1)
def _table() -> dict[str, NamedFunction]:
    """Return every function but the methods, by name."""
    found: dict[str, NamedFunction] = {}
    for name, call in (*_PYTHON.items(), *_methods_of_python(), *_OPERATORS):
        room, _, short = name.partition(".")
        changes = _CHANGES if room == "operator" else _WRITING if room in ("list", "dict") else ()
        writes = (0,) if short in changes else ()
        # A power of whole numbers is whole or not as their values have it.
        plain = (
            name in _BY_EXAMPLE or room == "math" or (room == "operator" and short not in _CHANGES | {"pow"})
        )
        pure = room == "str" or (room in ("operator", "math", "builtins") and name not in _IMPURE)
        found[name] = NamedFunction(name, call, writes, numbers=plain, pure=pure and not writes)
    for room, functions in _rooms():
        for short, call in functions.items():
            if callable(call):
                found[f"{room}.{short}"] = NamedFunction(f"{room}.{short}", call)
    return found


_methods: dict[str, NamedFunction] = {}


def _method(name: str) -> NamedFunction | None:
    """Return a method of tensors; one whose name ends in ``_`` writes into its tensor."""
    short = name.removeprefix("Tensor.")
    # On demand: methods are many, and properties such as `T` are not called.
    if name not in _methods and short[0] != "_" and callable(getattr(Tensor, short, None)):
        _methods[name] = NamedFunction(name, _calling(short), (0,) if short.endswith("_") else ())
    return _methods.get(name)


def _calling(short: str) -> Callable[..., Any]:
    """Return what calls a method by its name: that of the value's own class, which may be another than `Tensor`."""

    def method(value: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(value, short)(*arguments, **keywords)

    return method


def named(name: str) -> NamedFunction:
    """Return the function of that name; raise `GraphError` where nothing is offered under it.

    >>> named("operator.add").call(1, 2)
    3
    """
    found = _method(name) if name.startswith("Tensor.") and len(name) > 7 else _table().get(name)
    if found is None:
        above = ROOMS_ABOVE.get(name.partition(".")[0])
        found = above(name) if above is not None else None
    if found is None:
        raise GraphError(f"{name!r} is no function that is offered under a name")
    return found


@lru_cache(maxsize=1)
def _by_identity() -> dict[int, NamedFunction]:
    found: dict[int, NamedFunction] = {}
    for one in _table().values():
        found.setdefault(id(one.call), one)
    # A program says `getattr`; what the graph calls is the one that looks at no private attribute.
    return {**found, id(getattr): _table()["builtins.getattr"]}


def named_for(function: Any) -> NamedFunction | None:
    """Return the entry of a function that is offered under a name; None for any other.

    >>> import operator
    >>> named_for(operator.mul)
    <function operator.mul>
    """
    # An op has a name in the table of ops.
    if isinstance(function, Op):
        return None
    return _by_identity().get(id(function)) or _ABOVE.get(id(function))


_ABOVE: dict[int, NamedFunction] = {}
"""Functions of rooms above that have been met, by identity; they are held, and keep theirs."""


def introduce(function: NamedFunction) -> NamedFunction:
    """Let `named_for` find a function of a room above by what it calls, and return it."""
    return _ABOVE.setdefault(id(function.call), function)
