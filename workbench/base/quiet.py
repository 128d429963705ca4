"""Computing without NumPy's warnings: infinities and NaN are values like others.

What `np.errstate` sets is a context variable: setting that costs a tenth of entering a context manager. It has no
public name, but it is what differs inside.
"""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np

__all__ = ["QUIET", "WARNINGS"]


def _found() -> tuple[ContextVar[Any], Any]:
    outside = copy_context()
    with np.errstate(all="ignore"):
        inside = copy_context()
    ((variable, value),) = [
        (one, now) for one, now in inside.items() if one not in outside or outside[one] is not now
    ]
    return variable, value


WARNINGS, QUIET = _found()
"""NumPy's context variable of what to do about invalid numbers, and its value for nothing."""
