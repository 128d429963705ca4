"""Nests of tuples, lists and dicts: taking them apart to their leaves, and putting leaves back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.tensor import Tensor

__all__ = ["Rebuild", "flatten", "map_tensors", "structure"]

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """Return the leaves of a nest, and the function that makes the same nest of other leaves.

    >>> leaves, rebuild = flatten({"a": 1, "b": (2, [3])})
    >>> leaves, rebuild([10, 20, 30])
    ([1, 2, 3], {'a': 10, 'b': (20, [30])})
    """
    leaves: list[Any] = []
    _collect(tree, leaves)

    def rebuild(values: Sequence[Any]) -> Any:
        return _build(tree, iter(values))

    return leaves, rebuild


def _collect(tree: Any, leaves: list[Any]) -> None:
    if isinstance(tree, tuple | list):
        for one in tree:
            _collect(one, leaves)
    elif isinstance(tree, dict):
        for one in tree.values():
            _collect(one, leaves)
    else:
        leaves.append(tree)


def _build(tree: Any, values: Any) -> Any:
    # A namedtuple takes its fields one by one, where other tuples take an iterable.
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_build(one, values) for one in tree])
    if isinstance(tree, tuple | list):
        return type(tree)(_build(one, values) for one in tree)
    if isinstance(tree, dict):
        return {key: _build(one, values) for key, one in tree.items()}
    return next(values)


def structure(tree: Any) -> str:
    """Return a nest in words, with ``*`` for each leaf.

    >>> structure((1, {"a": [2, 3]}))
    "(*, {'a': [*, *]})"
    """
    if isinstance(tree, tuple):
        inner = ", ".join(structure(one) for one in tree)
        return f"({inner},)" if len(tree) == 1 else f"({inner})"
    if isinstance(tree, list):
        return f"[{', '.join(structure(one) for one in tree)}]"
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {structure(one)}" for key, one in tree.items()) + "}"
    return "*"


def map_tensors(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """Return the nest with `function` applied to each tensor; other leaves stay."""
    leaves, rebuild = flatten(tree)
    return rebuild([function(one) if isinstance(one, Tensor) else one for one in leaves])
