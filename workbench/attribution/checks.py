"""What methods and metrics are given, checked: models that can be called, and settings that are numbers."""

from __future__ import annotations

import math

import numpy as np

from workbench.base.foreign import mending_module

__all__ = ["check_count", "check_model", "check_number"]


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


def check_model(method: str, model: object) -> None:
    """Raise TypeError where a model cannot be called, or is a module of another library, which does not run here."""
    if not callable(model):
        raise TypeError(
            f"{method}: forward is a module or a function, a {type(model).__name__} cannot be called"
        )
    if mending := mending_module(model):
        raise TypeError(f"{method}: the model, a {type(model).__name__}, does not run here; {mending}")


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
