"""Weights and places of the rules that integrate along a path from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["METHODS", "quadrature"]

Array = np.ndarray[Any, Any]
Rule = tuple[Array, Array]

MOST_STEPS = 10_000
"""More steps than this are a mistake."""

MOST_GAUSS = 2_000
"""Most steps of the Gauss–Legendre rule, whose weights come from the eigenvalues of a matrix of n by n."""


def _gausslegendre(n: int) -> Rule:
    places, weights = np.polynomial.legendre.leggauss(n)
    # leggauss integrates over [-1, 1], the path runs from 0 to 1.
    return weights / 2, (places + 1) / 2


def _left(n: int) -> Rule:
    return np.full(n, 1 / n), np.arange(n) / n


def _right(n: int) -> Rule:
    return np.full(n, 1 / n), np.arange(1, n + 1) / n


def _middle(n: int) -> Rule:
    return np.full(n, 1 / n), (np.arange(n) + 0.5) / n


def _trapezoid(n: int) -> Rule:
    weights = np.full(n, 1 / n)
    weights[[0, -1]] /= 2
    return weights, np.linspace(0, 1, n)


METHODS: dict[str, Callable[[int], Rule]] = {
    "gausslegendre": _gausslegendre,
    "riemann_left": _left,
    "riemann_middle": _middle,
    "riemann_right": _right,
    "riemann_trapezoid": _trapezoid,
}
"""The rules by name. The weights of ``riemann_trapezoid`` are 1/n, halved at both ends: they sum to (n − 1) / n,
as in Captum, so that rule underestimates and is here for comparison."""


@lru_cache(maxsize=None, typed=True)  # 2.0 is no 2
def quadrature(method: str, n_steps: int) -> Rule:
    """Return weights and places, float64 [n_steps] each, places in [0, 1].

    Raises:
        ValueError: there is no such method, or it cannot be done in so many steps.

    >>> weights, places = quadrature("riemann_middle", 4)
    >>> weights.tolist(), places.tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.125, 0.375, 0.625, 0.875])
    """
    if method not in METHODS:
        raise ValueError(f"there is no integration method {method!r}; there are {', '.join(METHODS)}")
    if isinstance(n_steps, bool) or not isinstance(n_steps, int):
        raise TypeError(f"n_steps is a whole number, got {n_steps!r}")
    least, most = (1, MOST_GAUSS) if method == "gausslegendre" else (2, MOST_STEPS)
    if not least <= n_steps <= most:
        raise ValueError(f"n_steps is {n_steps}; {method} takes {least} to {most:,} steps")
    return METHODS[method](n_steps)
