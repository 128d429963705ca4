"""Constraints on single numbers: whole or real, and between which bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.typing import Tensor
from workbench.distributions.constraints.base import Bound, Constraint

__all__ = [
    "Boolean", "GreaterThan", "GreaterThanEq", "HalfOpenInterval", "IntegerGreaterThan", "IntegerInterval",
    "IntegerLessThan", "Interval", "LessThan", "Real",
]  # fmt: skip


class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


def _whole(value: Tensor, inside: Tensor) -> Tensor:
    """Return where values are whole and inside; those of a type of whole numbers are."""
    return (value % 1 == 0) & inside if value.is_floating_point() else inside


class IntegerInterval(Constraint):
    """Whole numbers from one bound to another, both included."""

    is_discrete = True

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, (value >= self.lower_bound) & (value <= self.upper_bound))

    def _holds_of(self, array: Any) -> bool | None:
        low, high = self.lower_bound, self.upper_bound
        if array.dtype != np.int64 or type(low) is not int or type(high) is not int:
            return None
        return bool((array >= low).all() and (array <= high).all())


class IntegerLessThan(Constraint):
    """Whole numbers up to a bound, which is included."""

    is_discrete = True

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, value <= self.upper_bound)


class IntegerGreaterThan(Constraint):
    """Whole numbers from a bound on, which is included."""

    is_discrete = True

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, value >= self.lower_bound)


class Real(Constraint):
    """All numbers; NaN is none."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class GreaterThan(Constraint):
    """Numbers above a bound."""

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class GreaterThanEq(GreaterThan):
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class LessThan(Constraint):
    """Numbers below a bound."""

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class Interval(Constraint):
    """Numbers from one bound to another, both included."""

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class HalfOpenInterval(Interval):
    """Numbers from one bound to before another."""

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)
