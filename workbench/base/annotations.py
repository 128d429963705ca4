"""Annotations as they stand, whichever Python evaluates them when."""

from __future__ import annotations

import inspect
import sys
from typing import Any

if sys.version_info >= (3, 14):
    import annotationlib

__all__ = ["annotations_of"]


def annotations_of(thing: Any) -> dict[str, Any]:
    """Return the annotations of a function or class; text where they are written as text, or name what is not there.

    >>> class Point:
    ...     x: "float"
    >>> list(annotations_of(Point))
    ['x']
    """
    if sys.version_info >= (3, 14):
        # They are evaluated when asked for (PEP 649), and a name that only type checkers know would be a NameError.
        found = inspect.get_annotations(thing, format=annotationlib.Format.FORWARDREF)
        return {
            name: hint.__forward_arg__ if isinstance(hint, annotationlib.ForwardRef) else hint
            for name, hint in found.items()
        }
    return inspect.get_annotations(thing)
