"""Settings that are numbers, checked: whole ones from a least on, and ones that are not negative."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["check_count", "check_number"]


def check_count(method: str, name: str, value: object, least: int = 1) -> int:
    """Return a whole number that is not less than `least`.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is less.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{method}: {name} is a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{method}: {name} is {least} or more, got {value}")
    return int(value)


def check_number(method: str, name: str, value: object, negative: str = "") -> float:
    """Return a finite number of 0 or more; `negative` says in the error what else would do what a negative one might.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{method}: {name} is a number, got {type(value).__name__}")
    if not (value >= 0 and math.isfinite(value)):
        hint = f"; {negative}" if negative and value < 0 else ""
        raise ValueError(f"{method}: {name} is a finite number of 0 or more, got {value!r}{hint}")
    return float(value)
