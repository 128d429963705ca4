"""Between which numbers a size lies, as far as that follows from its parts."""

from __future__ import annotations

import math
from collections.abc import Callable

from workbench.base.size_expressions import Atom, Expression, Size, Symbol

__all__ = ["Bounds", "bounds_of"]

Bounds = tuple[float, float]
"""The least and the largest value that is possible, infinite where there is none."""


def bounds_of(size: Size, known: Callable[[Size], Bounds]) -> Bounds:
    """Return between which numbers `size` lies, where `known` says it of atoms and of sums without a constant."""
    if not isinstance(size, Expression):
        return size, size
    low: float = 0
    high: float = 0
    for monomial, coefficient in size.terms:
        ends: Bounds = (coefficient, coefficient)
        for atom, power in monomial:
            for _ in range(power):
                ends = _times(ends, _atom_bounds(atom, known))
        low, high = low + ends[0], high + ends[1]
    told = known(size - size.constant)
    return max(low, told[0] + size.constant), min(high, told[1] + size.constant)


def _atom_bounds(atom: Atom, known: Callable[[Size], Bounds]) -> Bounds:
    if isinstance(atom, Symbol):
        low, high = known(Expression.of(atom))
        # No size is below 0.
        return max(low, 0), high
    low, high = bounds_of(atom.numerator, known)
    least, most = bounds_of(atom.divisor, known)
    # What may be divided by 0 or by less can lie anywhere.
    if least < 1:
        return -math.inf, math.inf
    return _floor(low, most if low >= 0 else least), _floor(high, least if high >= 0 else most)


def _floor(a: float, b: float) -> float:
    if math.isinf(a):
        return a
    return a // b if not math.isinf(b) else (0 if a >= 0 else -1)


def _times(a: Bounds, b: Bounds) -> Bounds:
    # Infinity times 0 would be NaN.
    products = [0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(products), max(products)
