"""What programs say to PyTorch's compiler beside ``compile``: it is taken, and nothing needs to be told."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
]  # fmt: skip

F = TypeVar("F")


def is_compiling() -> bool:
    """Say whether this is being compiled: no, it runs.

    >>> is_compiling()
    False
    """
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function, or a decorator that does: it would not be compiled."""
    return allow_in_graph if fn is None else fn


def allow_in_graph(fn: F) -> F:
    """Return the function: it would be one node of a graph."""
    return fn


assume_constant_result = allow_in_graph


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins: nobody repeats them."""


def reset() -> None:
    """Forget what was compiled: each compiled function does so by itself, where what it was made from changes."""


def set_stance(stance: str = "default", *args: Any, **kwargs: Any) -> None:
    """Say how willing the compiler should be: it compiles what it can, and runs all else as it is written."""


def list_backends(*args: Any, **kwargs: Any) -> list[str]:
    """Return what code can be compiled by: ``inductor``, as PyTorch calls its own and we ours, and ``eager``."""
    return ["eager", "inductor"]
