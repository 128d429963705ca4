"""What a call is given: the tensors in it, and all else, which a compiled function is made for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.tensor import Tensor

__all__ = ["NotPlain", "taken_apart"]

_PLAIN = (int, float, bool, str, bytes, complex, type(None))


class NotPlain(TypeError):
    """An argument that is neither a tensor nor plain: nobody can say whether it is the same in another call."""


Rebuild = Callable[[list[Any]], Any]


def taken_apart(arguments: Any, tensors: list[Tensor]) -> tuple[Any, Rebuild]:
    """Put the tensors among `arguments` into a list; return a key for all else, and how to put them back.

    >>> import workbench as wb
    >>> found = []
    >>> key, rebuild = taken_apart((wb.ones(2), {"scale": 2}), found)
    >>> rebuild(["x"])
    ('x', {'scale': 2})
    """
    if isinstance(arguments, Tensor):
        place = len(tensors)
        tensors.append(arguments)
        return "tensor", lambda given: given[place]
    if isinstance(arguments, tuple | list):
        made = [taken_apart(one, tensors) for one in arguments]
        kind = type(arguments)
        make: Callable[..., Any] = getattr(kind, "_make", kind)  # named tuples take their fields one by one
        return (kind, *(key for key, _ in made)), lambda given: make([one(given) for _, one in made])
    if isinstance(arguments, dict):
        parts = {name: taken_apart(one, tensors) for name, one in arguments.items()}
        key = (dict, *((name, key) for name, (key, _) in parts.items()))
        return key, lambda given: {name: one(given) for name, (_, one) in parts.items()}
    if isinstance(arguments, _PLAIN):
        # The type is part of it: 1, 1.0 and True are equal to Python.
        return (type(arguments), arguments), lambda given: arguments
    raise NotPlain(f"an argument is {type(arguments).__name__}, which is neither a tensor nor a plain value")
