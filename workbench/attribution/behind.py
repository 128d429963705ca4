"""The modules that a forward function runs, found by reading what its code names; nothing of it is run."""

from __future__ import annotations

import functools
import inspect
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from workbench.attribution.self_contained import (
    Names,
    holds_nothing,
    is_ours,
    is_self_contained,
    names_of,
    reached_by,
)
from workbench.graph import Graph
from workbench.nn import Module
from workbench.nn.traversal import parts

__all__ = ["graph_of", "models_behind", "modules_behind", "parts_behind"]

MOST = 2000
"""After how many objects the search ends: what a function runs is named near it."""

MOST_ENTRIES = 100
"""How many entries of a list are looked at."""

Step = tuple[Any, Names]
"""An object, and the names by which the code that reached it asks for what it has."""


def modules_behind(forward: Callable[..., Any]) -> list[Module]:
    """Return the modules that a forward function runs, as far as its code names them, the nearest first.

    These are the module that it is, or is a method of; and what it, or a function that it calls, names in a closure,
    as a global, a default, an argument of a `functools.partial`, an entry of a list or dict, or an attribute of an
    object of any kind. A part of a module that was found is not named again.

    >>> import workbench as wb
    >>> model = wb.nn.Linear(2, 1)
    >>> parts = {"model": model}
    >>> modules_behind(lambda x: parts["model"](x).exp()) == [model]
    True
    """
    return [one for one in models_behind(forward) if isinstance(one, Module)]


def models_behind(forward: Callable[..., Any]) -> list[Any]:
    """Return what `modules_behind` does, and the functions that run a graph (`graph_of`)."""
    return (
        [forward] if isinstance(forward, Module) and is_self_contained(parts(forward)) else _searched(forward)
    )


def parts_behind(forward: Callable[..., Any]) -> list[Module]:
    """Return the modules that `modules_behind` does with all below them, each once, in no order."""
    if isinstance(forward, Module) and is_self_contained(found := parts(forward)):
        return found
    roots = [one for one in _searched(forward) if isinstance(one, Module)]
    return list({id(part): part for one in roots for part in parts(one)}.values())


def _searched(forward: Callable[..., Any]) -> list[Any]:
    found: list[Any] = []
    known: set[int] = set()
    seen: dict[tuple[int, Names], Any] = {}  # keeps them alive, so that identities stay theirs
    waiting: deque[Step] = deque([(forward, frozenset())])
    while waiting and len(seen) < MOST:
        one, names = waiting.popleft()
        if (id(one), names) in seen or holds_nothing(one) or (id(one) in known and _is_bare(one, names)):
            continue
        seen[id(one), names] = one
        graph = graph_of(one)
        if id(one) not in known and (graph is not None or isinstance(one, Module)):
            found.append(one)
            below = _parts(one)
            known |= set(map(id, below))
            waiting.extend(_in_parts(below))
        # A graph names all that it runs.
        waiting.extend(_named_in(one, names) if graph is None else ())
    if len(found) < 2:
        return found
    # What was found first may be a part of what was found later.
    inside = {id(part) for one in found for part in _parts(one) if part is not one}
    return [one for one in found if id(one) not in inside]


def _is_bare(one: Any, names: Names) -> bool:
    """Say whether a part is a layer of the house that has nothing by these names."""
    return isinstance(one, Module) and names.isdisjoint(vars(one)) and is_ours(type(one).forward)


def graph_of(model: Any) -> Graph | None:
    """Return the graph that a call of a model runs: of one that was traced, scripted or read; None for any other.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(wb.relu, wb.ones(2))
    >>> graph_of(graph) is graph, graph_of(wb.nn.ReLU())
    (True, None)
    """
    if isinstance(model, Graph):
        return model
    asked = next((kind.__dict__["graph"] for kind in type(model).__mro__ if "graph" in kind.__dict__), None)
    # A property of the user's is not run.
    if (
        not isinstance(asked, property)
        or not isinstance(asked.fget, types.FunctionType)
        or not is_ours(asked.fget)
    ):
        return None
    found = model.graph
    return found if isinstance(found, Graph) else None


def _parts(model: Any) -> list[Any]:
    return parts(model) if isinstance(model, Module) else [model]


def _named_in(one: Any, names: Names) -> Iterator[Step]:
    """Yield what an object holds that `names`, or its own code, asks for."""
    if isinstance(one, types.FunctionType):
        yield from _of_function(one)
    elif isinstance(one, types.MethodType):
        asked = names_of(one.__func__)
        yield one.__func__, names
        yield one.__self__, asked
    elif isinstance(one, functools.partial):
        yield from ((each, names) for each in (one.func, *one.args, *one.keywords.values()))
    elif isinstance(one, dict):
        chosen = [value for key, value in one.items() if isinstance(key, str) and key in names]
        yield from ((each, names) for each in (chosen or list(one.values()))[:MOST_ENTRIES])
    elif isinstance(one, list | tuple | set | frozenset):
        yield from ((each, names) for each in list(one)[:MOST_ENTRIES])
    else:
        yield from _attributes(one, names)


def _of_function(function: types.FunctionType) -> Iterator[Step]:
    names = names_of(function)
    yield from ((one, names) for one in reached_by(function))
    if hasattr(function, "__wrapped__"):
        yield function.__wrapped__, names


def _attributes(one: Any, names: Names) -> Iterator[Step]:
    """Yield the attributes of an object that are asked for, and what runs when it is called; runs no code of it."""
    if isinstance(one, types.ModuleType):
        yield from ((vars(one)[name], names) for name in sorted(names & vars(one).keys()))
        return
    if not isinstance(one, Module | type):
        call = inspect.getattr_static(type(one), "__call__", None)
        if isinstance(call, types.FunctionType):
            yield types.MethodType(call, one), names
    if not names and isinstance(one, Module) and "__wrapped__" not in vars(one):
        return
    for value in _held(one, names | {"__wrapped__"}):
        if isinstance(value, types.MemberDescriptorType) and not isinstance(one, type):  # a slot
            try:
                yield value.__get__(one), names
            except AttributeError:  # it is empty
                continue
        elif isinstance(value, staticmethod):
            yield value.__func__, names
        else:
            code = _code_of(value)
            yield (value if code is None or isinstance(one, type) else types.MethodType(code, one)), names


def _held(one: Any, names: Names) -> list[Any]:
    """Return what an object, or its class, holds by some names, as it lies there: `inspect` takes a hundred times as
    long to look for each of them.
    """
    kind = one if isinstance(one, type) else type(one)
    places = [each.__dict__ for each in kind.__mro__ if each is not object]
    if kind is not one:
        with suppress(AttributeError):  # it may have slots alone
            places.insert(0, object.__getattribute__(one, "__dict__"))
    found: dict[str, Any] = {}
    for place in places:
        for name in names & place.keys():
            found.setdefault(name, place[name])
    return [found[name] for name in sorted(found)]


def _code_of(value: Any) -> types.FunctionType | None:
    """Return the function that an attribute of a class runs with the object; None where it is no such attribute."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, functools.cached_property):
        value = value.func
    elif isinstance(value, classmethod):
        value = value.__func__
    return value if isinstance(value, types.FunctionType) else None


def _in_parts(below: list[Any]) -> Iterator[Step]:
    """Yield what runs when a module's parts are called, as far as it is the user's: they may run what is no part."""
    for part in below:
        code = getattr(type(part), "forward", None)  # a graph has none
        if isinstance(code, types.FunctionType) and not is_ours(code):
            yield types.MethodType(code, part), frozenset()
