"""Constraints on vectors: shares of a whole, one of several, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.typing import Tensor
from workbench.distributions.constraints.base import Bound, Constraint

__all__ = ["Multinomial", "OneHot", "Simplex"]


class Simplex(Constraint):
    """Vectors of non-negative numbers whose sum is 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)

    def _holds_of(self, array: Any) -> bool | None:
        if array.dtype.char not in "fd":
            return None
        if not (array >= 0).all():
            return False
        with np.errstate(over="ignore"):
            return bool((np.abs(np.add.reduce(array, -1) - 1) < 1e-6).all())


class OneHot(Constraint):
    """Vectors of a single 1 among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class Multinomial(Constraint):
    """Vectors of counts whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)
