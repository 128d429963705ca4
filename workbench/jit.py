"""The guards of TorchScript: what programs say to its compiler is taken, and changes nothing where code runs as Python.

Compiling itself is not here yet: `script` and `trace` are refused when they are called. As in PyTorch, the
environment's ``PYTORCH_JIT=0`` has them hand back what they are given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

from workbench.base.absent import refusing
from workbench.base.errors import UnavailableError
from workbench.base.public import words

__all__ = [
    "Final", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "freeze", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "save", "script",
    "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

F = TypeVar("F")

_REASON = (
    "the workbench compiles no TorchScript yet. The environment's PYTORCH_JIT=0 runs what would be compiled as it is "
    "written; wb.graph.trace makes a graph of a function or module"
)


class ScriptModule:
    """Modules that were compiled: there are none."""


class ScriptFunction:
    """Functions that were compiled: there are none."""


def is_scripting() -> bool:
    """Say whether this is being compiled: no, it runs.

    >>> is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Say whether TorchScript is recording: no. A trace of `wb.graph` follows the sizes that code asks for."""
    return False


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
    return _given("script", obj)


def trace(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Record a function or module. Raises UnavailableError, unless ``PYTORCH_JIT=0`` asks for what is given."""
    return _given("trace", func)


def trace_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """Record methods of a module. Raises UnavailableError, unless ``PYTORCH_JIT=0`` asks for what is given."""
    return _given("trace_module", mod)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with `message` unless `condition`: PyTorch's ``torch._assert``, which its tracer records."""
    assert condition, message


def _given(word: str, thing: Any) -> Any:
    if os.environ.get("PYTORCH_JIT", "1") == "0":
        return thing
    raise UnavailableError(f"jit.{word}: {_REASON}")


freeze: Callable[..., Any] = refusing("jit.freeze", _REASON)
fork: Callable[..., Any] = refusing("jit.fork", _REASON)
wait: Callable[..., Any] = refusing("jit.wait", _REASON)
optimize_for_inference: Callable[..., Any] = refusing("jit.optimize_for_inference", _REASON)
load: Callable[..., Any] = refusing("jit.load", "TorchScript's archives are not read yet")
save: Callable[..., Any] = refusing("jit.save", "TorchScript's archives are not written yet")

__getattr__, __dir__ = words(__name__, __all__)
