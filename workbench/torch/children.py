"""Processes that `multiprocessing` starts anew: they import the program's modules, where ``torch`` must mean the same.

A forked process has all of its parent. One that is started by ``spawn`` or ``forkserver`` first unpickles what its
parent says of itself, and that is where it is told: one entry more, whose unpickling calls a function.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import spawn
from typing import Any

__all__ = ["tell"]

_ENTRY = "workbench.torch"
_own = spawn.get_preparation_data


class _Told:
    """Calls a function where it is unpickled."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, ()


def tell(function: Callable[[], None] | None) -> None:
    """Have processes that are started from now on call `function` first; None: nothing."""
    if function is None:
        spawn.get_preparation_data = _own
        return
    told = _Told(function)

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {_ENTRY: told, **_own(name)}

    spawn.get_preparation_data = get_preparation_data
