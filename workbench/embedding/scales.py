"""Numbers so large or so small that their squares are none: brought to about one, by powers of two, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["balanced", "exponent_of", "fits_floats", "lengths_of"]

Array = np.ndarray[Any, Any]

FAR = 300
"""Powers of two from 1 up to which squares of float64, and sums of many, keep their digits."""
LEAST, MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
"""Sizes of what a picture holds, besides 0."""


def exponent_of(values: Array) -> int:
    """Return the power of two that the largest of finite `values` is next to; 0 where all are 0.

    >>> exponent_of(np.array([0.0, -6.0])), exponent_of(np.zeros(2))
    (3, 0)
    """
    if not values.size:
        return 0
    largest = max(float(values.max()), -float(values.min()))
    return int(np.frexp(largest)[1]) if np.isfinite(largest) else 0


def balanced(values: Array, far: int = FAR) -> tuple[Array, int]:
    """Return `values` divided by a power of two, and its exponent: 0, and no copy, unless it is more than `far` from 0.

    No digit is lost, for mantissas stay as they are.

    >>> small, exponent = balanced(np.array([1e200, 3e200]))
    >>> bool(np.all(np.ldexp(small, exponent) == [1e200, 3e200])), balanced(np.ones(2))[1]
    (True, 0)
    """
    exponent = exponent_of(values)
    if abs(exponent) <= far:
        return values, 0
    return np.ldexp(values, -exponent), exponent


def lengths_of(rows: Array) -> Array:
    """Return the length of each row [N, features], also of rows whose squares are no numbers.

    >>> lengths_of(np.array([[0.0, 4e200], [4e-200, 0.0], [0.0, 0.0]])).tolist()
    [4e+200, 4e-200, 0.0]
    """
    limits = np.finfo(rows.dtype)
    # Of NaN and infinite values there is no length; it is NaN.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.einsum("nf,nf->n", rows, rows)
        lengths: Array = np.sqrt(squares)
        lost = np.flatnonzero(~(squares < np.inf) | (squares < limits.tiny / limits.eps**2))
        if len(lost):
            part = rows[lost]
            largest = np.abs(part).max(axis=1)
            part = part / np.where(largest > 0, largest, 1)[:, None]
            lengths[lost] = largest * np.sqrt(np.einsum("nf,nf->n", part, part))
    return lengths


def fits_floats(values: Array, what: str) -> Array:
    """Return `values` as float32 where that holds them, NaN among them; ValueError where all or some would be lost.

    >>> fits_floats(np.array([1e200]), "PCA")
    Traceback (most recent call last):
        ...
    ValueError: PCA: positions reach 1e+200, and a picture holds numbers up to 3.4e+38: divide by 1e+200 first
    """
    if values.dtype == np.float32 or not values.size:
        return np.ascontiguousarray(values, np.float32)
    sizes = np.abs(values[np.isfinite(values)])
    largest = float(sizes.max()) if sizes.size else 0.0
    told = ""
    if largest > MOST:
        told = f"positions reach {largest:.3g}, and a picture holds numbers up to {MOST:.2g}"
    elif 0 < largest < LEAST:
        told = f"positions are at most {largest:.3g}, and a picture holds numbers from {LEAST:.2g}"
    if told:
        raise ValueError(f"{what}: {told}: divide by {largest:.0g} first")
    # The smallest of usual ones become 0, as they are beside the largest.
    with np.errstate(under="ignore"):
        return np.ascontiguousarray(values, np.float32)
