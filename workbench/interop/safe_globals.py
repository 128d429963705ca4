"""Classes of a program's own that files may hold objects of, under PyTorch's words for it.

Nothing of such a class is run when a file is read: an object is made without calling it, and given its attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["add_safe_globals", "allowed", "clear_safe_globals", "get_safe_globals", "safe_globals"]

_allowed: dict[str, Any] = {}


def allowed(name: str) -> Any:
    """Return the class that was allowed under `name`, its module and qualified name; None where none was."""
    return _allowed.get(name)


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let `load` and `save` take objects of these classes: plain ones, dataclasses, named tuples and enumerations.

    Raises TypeError for functions, modules and classes that are made by code of their own; save plain values instead.
    Functions of NumPy's that PyTorch has to be told of are known here, and taken without effect.

    >>> import io, types
    >>> class Settings:
    ...     pass
    >>> with safe_globals([Settings]):
    ...     get_safe_globals()[0].__name__
    'Settings'
    """
    _allowed.update(_named(safe_globals))


def _named(given: Iterable[Any]) -> dict[str, Any]:
    found = {}
    for one in given:
        kind, name = one if isinstance(one, tuple) else (one, None)
        module = str(getattr(kind, "__module__", ""))
        if module.partition(".")[0] in ("numpy", "builtins", "collections", "argparse"):
            continue  # what is read of these is known, and more is not read
        if reason := _refusal(kind):
            raise TypeError(f"add_safe_globals: {reason}")
        found[name or f"{module}.{kind.__qualname__}"] = kind
    return found


def _refusal(kind: Any) -> str:
    """Say why objects of a class are not read; empty where they are."""
    if not isinstance(kind, type):
        return f"{kind!r} is no class, and nothing is called that a file names"
    if issubclass(kind, Module | Tensor):
        return f"{kind.__qualname__} is a module or a tensor: save its state_dict(), or the tensor itself"
    if issubclass(kind, Enum) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return ""
    own = [
        word
        for word in ("__new__", "__setstate__", "__getstate__", "__reduce__", "__reduce_ex__", "__slots__")
        if any(word in vars(one) for one in kind.__mro__[:-1])
    ]
    if own:
        return f"{kind.__qualname__} has {own[0]} of its own, which is not called: save vars(value)"
    return ""


def get_safe_globals() -> list[Any]:
    """Return the classes that were allowed."""
    return list(_allowed.values())


def clear_safe_globals() -> None:
    """Allow none of a program's own classes."""
    _allowed.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[Any]) -> Iterator[None]:
    """Allow these classes during a block."""
    before = dict(_allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed.clear()
        _allowed.update(before)
