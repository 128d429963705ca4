"""Programs that are run as Python and as scripts: both give the same, or raise the same."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable
from typing import Any

import workbench as wb
from workbench import Tensor

__all__ = ["compiled", "same", "same_value"]


def compiled(text: str, name: str, file: str, **around: Any) -> Any:
    """Return the function `name` of a program; its source is where `inspect` looks for it."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "a_written_program", **around}
    exec(compile(text, file, "exec"), names)
    return names[name]


def same(function: Callable[..., Any], *inputs: Any) -> Any:
    """Hold a function's script against the function itself: its result, its exception and what it did to its inputs."""
    scripted = wb.jit.script(function)
    ours, theirs = copy.deepcopy(inputs), copy.deepcopy(inputs)
    expected, raised = _outcome(function, theirs)
    found, refused = _outcome(scripted, ours)
    assert _plain(refused) is _plain(raised), (refused, raised, found, expected)
    assert same_value(found, expected), (found, expected)
    assert same_value(ours, theirs), "the inputs differ afterwards"
    return found


def _plain(error: Exception | None) -> type | None:
    """Return what an exception is of Python's: what a script raises is `jit.Error` as well."""
    return (
        None
        if error is None
        else next(one for one in type(error).__mro__ if not issubclass(one, wb.jit.Error))
    )


def _outcome(function: Callable[..., Any], inputs: Any) -> tuple[Any, Exception | None]:
    try:
        return function(*inputs), None
    except Exception as error:  # whatever Python raises, the script raises
        return None, error


def same_value(one: Any, other: Any) -> bool:
    """Say whether two results are the same, type for type."""
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
            return False
        return one.shape == other.shape and one.dtype == other.dtype and bool((one == other).all())
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, float) and one != one:
        return isinstance(other, float) and other != other
    return type(one) is type(other) and bool(one == other)
