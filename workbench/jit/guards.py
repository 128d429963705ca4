"""The guards of TorchScript: what programs say to its compiler, which changes nothing where code runs as Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from workbench.core.dispatch import find
from workbench.graph.tracing import Tracer

__all__ = [
    "Attribute", "Final", "annotate", "export", "fork", "ignore", "interface", "is_scripting", "is_tracing",
    "isinstance", "script_if_tracing", "script_method", "unused", "wait",
]  # fmt: skip

F = TypeVar("F")

MODIFIER = "_torchscript_modifier"
"""The attribute of a function that says what a compiler is to do with it: export, ignore or unused."""
_INTERFACE = "__torch_script_interface__"
_overloaded: dict[str, list[Any]] = {}


def is_scripting() -> bool:
    """Say whether this is being compiled: no, it runs.

    >>> is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Say whether a graph is being made of what runs, by `trace` or by `wb.graph.trace`.

    >>> is_tracing()
    False
    """
    return find(Tracer) is not None


def script_if_tracing(fn: F) -> F:
    """Return the function: it would be compiled where TorchScript records."""
    return fn


def _marked(fn: F, word: str) -> F:
    # A property, or another's callable, may take no attribute; to Python it is the same.
    if hasattr(fn, "__dict__"):
        setattr(fn, MODIFIER, word)
    return fn


def unused(fn: F) -> F:
    """Return the function: a compiler leaves it out, and a script that calls it raises RuntimeError."""
    return _marked(fn, "unused")


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function, or a decorator that does: a compiler leaves it to Python; with ``drop=True``, out."""
    if callable(drop):
        return _marked(drop, "ignore")
    return lambda fn: _marked(fn, "unused" if drop else "ignore")


def export(fn: F) -> F:
    """Return the method: a compiler compiles it, too, whether anything calls it or not."""
    return _marked(fn, "export")


def interface(obj: F) -> F:
    """Return the class: a compiler takes it for an interface."""
    setattr(obj, _INTERFACE, True)
    return obj


def is_interface(thing: Any) -> bool:
    """Say whether a class is marked by `interface`."""
    return _INTERFACE in getattr(thing, "__dict__", {})


class Attribute(NamedTuple):
    """A value of a module with its type, for a compiler: ``self.items = Attribute([], list[int])``."""

    value: Any
    type: Any


def script_method(fn: F) -> F:
    """Say that a method of a class made from `ScriptModule` is compiled, when an object of it has been made."""
    setattr(fn, MODIFIER, "script_method")
    return fn


def _overload(fn: F) -> F:
    """Return the function, of which a compiler reads the types; what Python runs is the last of that name."""
    _overloaded.setdefault(_full_name(fn), []).append(fn)
    return fn


_overload_method = _overload


def _full_name(fn: Any) -> str:
    return f"{fn.__module__}.{fn.__qualname__}"


def overloads_of(fn: Any) -> list[Any]:
    """Return the declarations by `_overload` of a function."""
    return [one for one in _overloaded.get(_full_name(fn), []) if one is not fn]


def annotate(the_type: Any, the_value: F) -> F:
    """Return the value, which a compiler would take to be of that type."""
    return the_value


_isinstance = isinstance


def isinstance(obj: Any, target_type: Any) -> bool:
    """Say whether an object is of a type, as Python's own `isinstance` does."""
    return _isinstance(obj, target_type)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with `message` unless `condition`: PyTorch's ``torch._assert``, which its tracer records."""
    assert condition, message


def switched_off() -> bool:
    """Say whether the environment asks that all runs as Python."""
    return os.environ.get("PYTORCH_JIT", "1") == "0"


class Future:
    """What `fork` gives: a result, or an error that `wait` raises."""

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        self._result: Any = None
        self._error: Exception | None = None
        try:
            self._result = function(*arguments, **keywords)
        except Exception as error:  # whatever the function raises is raised where somebody waits for it
            self._error = error

    def done(self) -> bool:
        """Say whether there is a result: always."""
        return True

    def wait(self) -> Any:
        """Return the result, or raise what the function raised."""
        if self._error is not None:
            raise self._error
        return self._result

    value = wait


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Return the result of a call, to be waited for. As in PyTorch outside compiled code, it is made at once.

    >>> wait(fork(max, 1, 2))
    2
    """
    return Future(func, args, kwargs)


def wait(future: Future) -> Any:
    """Return the result of what `fork` has begun, or raise what it raised."""
    return future.wait()
