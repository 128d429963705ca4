"""The source of what is scripted, as a syntax tree. Nothing of it is run."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from workbench.jit.scripting.errors import ScriptError, Source

__all__ = ["class_tree", "function_tree", "names_around"]


def _parsed(thing: Any, what: str) -> tuple[ast.stmt, Source]:
    try:
        lines, first = inspect.getsourcelines(thing)
        file = inspect.getsourcefile(thing) or "<unknown>"
    except (OSError, TypeError) as error:
        raise ScriptError(
            f"the source of {what} cannot be read ({error}): jit.script reads it from the file, or the cell, in which "
            "it is written. Write it in a file, or use jit.trace"
        ) from None
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    source = Source(file, first, tuple(text.splitlines()), indent)
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        # A lambda in the middle of a call, as a rule.
        raise ScriptError(
            f"the source of {what} is no statement of its own ({error.msg}): jit.script takes functions that are "
            f'written with def\n  File "{file}", line {first}'
        ) from None
    return body[0], source


def function_tree(function: Any) -> tuple[ast.FunctionDef, Source]:
    """Return the syntax tree of a function that is written with ``def``, and its source.

    Raises `ScriptError` where there is no source, and for a lambda.
    """
    name = getattr(function, "__qualname__", repr(function))
    tree, source = _parsed(inspect.unwrap(function), name)
    if not isinstance(tree, ast.FunctionDef):
        raise source.error(
            tree,
            f"{name} is no function that is written with def",
            "A lambda cannot be scripted: write it with def",
        )
    return tree, source


def class_tree(cls: type) -> tuple[ast.ClassDef, Source]:
    """Return the syntax tree of a class, and its source."""
    tree, source = _parsed(cls, cls.__qualname__)
    assert isinstance(tree, ast.ClassDef)
    return tree, source


def names_around(function: Any) -> dict[str, Any]:
    """Return what a function's names mean around it: globals, and what it closes over."""
    plain = inspect.unwrap(getattr(function, "__func__", function))
    found = dict(plain.__globals__)
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # Not filled yet: the function that is being decorated, which calls itself.
            continue
    return found
