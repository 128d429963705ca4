"""Other words for a function's parameters: NumPy's, which PyTorch takes too, and what a function says itself.

``x.sum(axis=1, keepdims=True)`` is ``x.sum(dim=1, keepdim=True)``: said here once, for every function.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["ALSO", "OPERANDS", "renamed", "taking_words", "words_of"]

OPERANDS = {"x": "input", "a": "input", "x1": "input", "x2": "other"}
ALSO = {"axis": "dim", "keepdims": "keepdim", **OPERANDS}
"""NumPy's words for parameters, and what they are called here."""


def words_of(function: Callable[..., Any], also: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return which other words a function takes for its parameters: those of `ALSO`, and `also`.

    >>> words_of(lambda input, dim: None)
    {'axis': 'dim', 'x': 'input', 'a': 'input', 'x1': 'input'}
    """
    known = _parameters(function)
    # The first operand is called so in PyTorch whatever a textbook calls it.
    first = {"input": next(iter(known))} if known else {}
    asked = {**ALSO, **first, **(also or {})}
    return {word: own for word, own in asked.items() if own in known and word not in known}


def _parameters(function: Callable[..., Any]) -> Mapping[str, Any]:
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    # By the code, and not by `inspect.signature`, which takes long: this is done for every function at the start.
    return dict.fromkeys(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def renamed(keywords: dict[str, Any], words: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return keywords under the names of the parameters; refuse one that is given under two.

    >>> renamed({"axis": 1}, {"axis": "dim"}, "sum")
    {'dim': 1}
    """
    found: dict[str, Any] = {}
    for word, value in keywords.items():
        own = words.get(word, word)
        if own in found:
            raise TypeError(
                f"{name}() got multiple values for argument {own!r}: {word!r} is another word for it"
            )
        found[own] = value
    return found


def taking_words(function: Callable[..., Any], words: Mapping[str, str]) -> Callable[..., Any]:
    """Return a function that takes other words for its parameters; itself where there are none."""
    if not words:
        return function
    return _with_parameters(function, words) if _simple(function, words) else _by_keywords(function, words)


def _simple(function: Any, words: Mapping[str, str]) -> bool:
    """Say whether all parameters have names, and those with other words are optional."""
    if inspect.unwrap(function) is not function:
        return False
    code = function.__code__
    count = code.co_argcount
    required = code.co_varnames[: count - len(function.__defaults__ or ())]
    starred = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return not starred and not set(words.values()) & set(required)


def _by_keywords(function: Callable[..., Any], words: Mapping[str, str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for word in keywords:
            if word in words:
                return function(*arguments, **renamed(keywords, words, function.__name__))
        return function(*arguments, **keywords)

    return call


_NOT_GIVEN: Any = object()


def _with_parameters(function: Any, words: Mapping[str, str]) -> Callable[..., Any]:
    """Return a function with the words as parameters of its own.

    It is written out, as `dataclasses` does, since it stands in each call of ``x.sum()``: to gather arguments and to
    hand them on would take three times as long.
    """
    code = function.__code__
    count = code.co_argcount
    names, only = code.co_varnames[:count], code.co_varnames[count : count + code.co_kwonlyargcount]

    def otherwise(by_place: tuple[Any, ...], kept: tuple[Any, ...], other: tuple[Any, ...]) -> Any:
        defaults = dict(zip(names[::-1], (function.__defaults__ or ())[::-1], strict=False))
        found = {**dict(zip(names, by_place, strict=True)), **dict(zip(only, kept, strict=True))}
        for word, value in zip(words, other, strict=True):
            if value is _NOT_GIVEN:
                continue
            own = words[word]
            missing = defaults.get(own, (function.__kwdefaults__ or {}).get(own, _NOT_GIVEN))
            if found[own] is not missing:
                raise TypeError(
                    f"{function.__name__}() got multiple values for argument {own!r}: {word!r} is another word for it"
                )
            found[own] = value
        operands = [found.pop(one) for one in names]
        return function(*operands, **found)

    written = _written(len(names), only, len(words)).replace(
        co_name=function.__name__, co_qualname=function.__qualname__, co_varnames=(*names, *only, *words)
    )
    # With the name of a room, so that nobody takes its line for one of the user's.
    room = {"_function": function, "_otherwise": otherwise, "_not_given": _NOT_GIVEN, "__name__": __name__}
    call: Any = types.FunctionType(written, room, function.__name__)
    functools.update_wrapper(call, function)
    call.__defaults__ = function.__defaults__
    call.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **dict.fromkeys(words, _NOT_GIVEN)}
    return call  # type: ignore[no-any-return]


@functools.cache
def _written(count: int, only: tuple[str, ...], words: int) -> types.CodeType:
    """Return the code of a function of so many parameters, whose names are put in later.

    Some hundred functions share a few dozen of these: to compile one for each took an eighth of the import.
    """
    names = [f"_p{i}" for i in range(count)]
    others = [f"_w{i}" for i in range(words)]
    given = ", ".join((*names, *(f"{one}={one}" for one in only)))
    asked = " or ".join(f"{one} is not _not_given" for one in others)
    groups = (f"({', '.join(group)}{',' if len(group) == 1 else ''})" for group in (names, only, others))
    lines = (
        f"def _written({', '.join((*names, '*', *only, *others))}):",
        f"    if {asked}:",
        f"        return _otherwise({', '.join(groups)})",
        f"    return _function({given})",
    )
    room: dict[str, Any] = {}
    exec("\n".join(lines), room)
    code: types.CodeType = room["_written"].__code__
    return code
