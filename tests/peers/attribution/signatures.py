"""What Captum offers people, read from it: names, and the parameters of what can be called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any

Signature = tuple[tuple[str, Any, bool], ...]
"""Name, default, and whether it can be given by its place, of each parameter."""

OWN = ("__init__", "__call__")
ROOT = re.compile(r"(captum|workbench\.attribution)\b")


def offered(module: ModuleType) -> dict[str, Any]:
    """Return the public names of a module: those of its `__all__`, or of what was written in it."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, one in vars(module).items()
            if not name.startswith("_") and getattr(one, "__module__", "") == module.__name__
        ]
    return {name: getattr(module, name) for name in names}


def callables(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield what of a public thing can be called, by its dotted name."""
    if not inspect.isclass(thing):
        if inspect.isroutine(thing):
            yield name, thing
        return
    if issubclass(thing, Enum | tuple):
        return
    for method in sorted(dir(thing)):
        found = getattr(thing, method)
        # What Python, or a library's module, gives every class says nothing of this one.
        own = getattr(found, "__module__", "") or ""
        if (method in OWN or not method.startswith("_")) and inspect.isroutine(found) and ROOT.match(own):
            yield f"{name}.{method}", found


def signature(function: Any) -> Signature:
    """Return the parameters of a function, without ``self``."""
    parameters = list(inspect.signature(function).parameters.values())
    return tuple(
        (one.name, one.default, one.kind is not inspect.Parameter.KEYWORD_ONLY)
        for one in parameters
        if one.name not in ("self", "cls")
        and one.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    )


def open_ended(function: Any) -> bool:
    """Say whether a function takes keywords that it does not name."""
    return any(
        one.kind is inspect.Parameter.VAR_KEYWORD for one in inspect.signature(function).parameters.values()
    )


def difference(theirs: Any, ours: Any) -> str:
    """Return in words how a call written for `theirs` fails with `ours`; empty if none does.

    Each parameter must be there by its name, at the same place, and with the same default where that is plain.
    """
    wanted, found = signature(theirs), signature(ours)
    known = {name: (place, default) for place, (name, default, _) in enumerate(found)}
    for place, (name, default, by_place) in enumerate(wanted):
        if name not in known:
            if open_ended(ours) and not by_place:
                continue
            return f"{name} is missing"
        if by_place and known[name][0] != place:
            return f"{name} has place {known[name][0]}, not {place}"
        if plain(default) and plain(known[name][1]) and known[name][1] != default:
            return f"{name} is {known[name][1]!r} by default, not {default!r}"
        if default is not inspect.Parameter.empty and known[name][1] is inspect.Parameter.empty:
            return f"{name} must be given"
    needed = [name for name, default, _ in found if default is inspect.Parameter.empty]
    for name in needed:
        if name not in {one for one, _, _ in wanted}:
            return f"{name} must be given"
    return ""


def plain(default: Any) -> bool:
    """Say whether a default is a value whose equality says something."""
    return default is None or isinstance(default, bool | int | float | str)
