"""What ``raise`` is in a graph."""

from __future__ import annotations

import builtins
from functools import lru_cache
from typing import Any

from workbench.graph.blocks import GraphError

__all__ = ["Error", "throw"]


class Error(Exception):
    """What a graph raises because its program says so; it is the exception of Python's that is named, too.

    >>> try:
    ...     throw("ValueError", "a size below 1")
    ... except Error as error:
    ...     isinstance(error, ValueError), str(error)
    (True, 'a size below 1')
    """


def throw(kind: str, message: str = "") -> None:
    """Raise one of Python's own exceptions, by its name: what ``raise`` is in a graph.

    >>> throw("ValueError", "a size below 1")
    Traceback (most recent call last):
    ...
    ValueError: a size below 1
    """
    found = _both(kind)
    raise found(message) if message else found


@lru_cache(maxsize=128)
def _both(kind: str) -> Any:
    """Return the class of what is raised as an exception of Python's: printed as that, and copied to one."""
    found = getattr(builtins, kind, None)
    # By name among the exceptions only: a text of a graph calls nothing else.
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise GraphError(f"{kind!r} is none of Python's exceptions")
    bases = (Error,) if issubclass(Error, found) else (found, Error)
    return type(kind, bases, {"__module__": found.__module__, "__reduce__": lambda self: (found, self.args)})
