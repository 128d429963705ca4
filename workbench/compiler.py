"""The guards of PyTorch's compiler: nothing is being compiled, and what would be left out of it runs as it is."""

from __future__ import annotations

from typing import Any, TypeVar

from workbench.base.errors import UnavailableError
from workbench.base.public import words

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
]  # fmt: skip

F = TypeVar("F")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the function or module itself, or a decorator that does: it runs as it is written.

    So PyTorch's does with ``disable=True`` or ``TORCH_COMPILE_DISABLE=1``. Nothing gets faster, results are the same,
    and keys of a module's state stay without ``_orig_mod.``. Raises UnavailableError for a `backend` that is a
    function: it would be given a graph. `wb.graph.trace` makes graphs.

    >>> import workbench as wb
    >>> model = wb.nn.Linear(2, 1)
    >>> wb.compile(model) is model
    True
    """
    if callable(backend):
        raise UnavailableError(
            "compile: a backend that is a function would be given a graph of PyTorch's: wb.graph.trace(function, "
            "inputs) makes one of ours"
        )
    return allow_in_graph if model is None else model


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
    """Forget what was compiled: nothing was."""


def set_stance(stance: str = "default", *args: Any, **kwargs: Any) -> None:
    """Say how willing the compiler should be: there is none."""


def list_backends(*args: Any, **kwargs: Any) -> list[str]:
    """Return what code can be compiled by: ``eager`` only, which runs it as it is written."""
    return ["eager"]


__getattr__, __dir__ = words(__name__, __all__)
