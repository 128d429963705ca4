"""The guards of TorchScript: what programs say to its compiler is taken, and changes nothing where code runs as Python.

Compiling what is written is not here yet: `script` is refused when it is called. As in PyTorch, the environment's
``PYTORCH_JIT=0`` has it hand back what it is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

from workbench.base.errors import UnavailableError
from workbench.core.dispatch import find
from workbench.graph.tracing import Tracer

__all__ = [
    "Final", "annotate", "export", "fork", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "script",
    "script_if_tracing", "script_method", "unused", "wait",
]  # fmt: skip

F = TypeVar("F")

_REASON = (
    "the workbench compiles no TorchScript yet. The environment's PYTORCH_JIT=0 runs what would be compiled as it is "
    "written; jit.trace makes a graph of a function or module by running it once"
)


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


def unused(fn: F) -> F:
    """Return the function: a compiler would leave it out."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function, or a decorator that does: a compiler would leave it to Python."""
    return drop if callable(drop) else export


def export(fn: F) -> F:
    """Return the function: a compiler would compile it, too."""
    return fn


def interface(obj: F) -> F:
    """Return the class: a compiler would take it for an interface."""
    return obj


def script_method(fn: F) -> F:
    """Return the method of a `ScriptModule`."""
    return fn


_overload = _overload_method = export
"""A compiler would read the types of these: what Python runs is the last of them."""


def annotate(the_type: Any, the_value: F) -> F:
    """Return the value, which a compiler would take to be of that type."""
    return the_value


_isinstance = isinstance


def isinstance(obj: Any, target_type: Any) -> bool:
    """Say whether an object is of a type, as Python's own `isinstance` does."""
    return _isinstance(obj, target_type)


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Compile a function, class or module. Raises UnavailableError, unless ``PYTORCH_JIT=0`` asks for what is given."""
    return compiled("script", obj)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with `message` unless `condition`: PyTorch's ``torch._assert``, which its tracer records."""
    assert condition, message


def compiled(word: str, thing: Any) -> Any:
    """Return `thing` where ``PYTORCH_JIT=0`` asks for Python; else raise UnavailableError."""
    if switched_off():
        return thing
    raise UnavailableError(f"jit.{word}: {_REASON}")


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
