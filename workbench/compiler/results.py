"""What a function gives, put together as it gives it: a graph knows tuples, and programs return named ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.graph.blocks import GraphError

__all__ = ["form_of"]

Form = Callable[[Any], Any]


def form_of(result: Any) -> Form | None:
    """Return what makes the result of a graph that of the function, by an example; None where they are the same.

    Raises `GraphError` for a container that is no tuple, list or dict, and cannot be made of its items.

    >>> from collections import namedtuple
    >>> form = form_of([namedtuple("Pair", "a b")(1, 2), 3])
    >>> form([(5, 6), 7])
    [Pair(a=5, b=6), 7]
    """
    kind = type(result)
    if isinstance(result, dict):
        if kind is not dict:
            raise GraphError(f"a result is {kind.__name__}, and a graph gives plain dicts")
        forms = {key: form_of(one) for key, one in result.items()}
        if not any(forms.values()):
            return None
        return lambda given: {key: _formed(forms[key], one) for key, one in given.items()}
    if not isinstance(result, tuple | list):
        return None
    each = [form_of(one) for one in result]
    plain = kind in (tuple, list)
    if plain and not any(each):
        return None
    make = getattr(kind, "_make", None)
    if not plain and make is None:
        raise GraphError(f"a result is {kind.__name__}, and a graph gives plain tuples and lists")
    build: Any = kind if plain else make
    return lambda given: build([_formed(form, one) for form, one in zip(each, given, strict=True)])


def _formed(form: Form | None, value: Any) -> Any:
    return value if form is None else form(value)
