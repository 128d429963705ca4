"""Random numbers from the operating system's secure source, in the words of NumPy's generator.

Uniform bits come from `os.urandom`; every distribution is made of them by its inverse, or by rejection, so that nothing
of what was drawn tells anything of what will be.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from workbench.base.lazy import scipy_special

__all__ = ["SecureStream"]

Size = int | tuple[int, ...] | None


def _count(size: Size) -> int:
    return 1 if size is None else int(np.prod(size, dtype=np.int64))


def _shaped(values: np.ndarray[Any, Any], size: Size) -> Any:
    return values[0] if size is None else values.reshape(size)


class SecureStream:
    """Draws that nobody can predict or repeat.

    >>> stream = SecureStream()
    >>> bool(0 <= stream.random() < 1), stream.integers(0, 6, (2, 3)).shape
    (True, (2, 3))
    """

    def _bits(self, count: int) -> np.ndarray[Any, Any]:
        # An array around bytes could not be written to.
        return np.frombuffer(bytearray(os.urandom(8 * count)), np.uint64)

    def random(self, size: Size = None, dtype: Any = np.float64) -> Any:
        """Draw evenly from [0, 1), with 53 bits (24 for float32)."""
        keep = 24 if np.dtype(dtype) == np.float32 else 53
        values = (self._bits(_count(size)) >> np.uint64(64 - keep)).astype(dtype) * np.asarray(
            2.0**-keep, dtype
        )
        return _shaped(values, size)

    def _open(self, size: Size) -> np.ndarray[Any, Any]:
        """Draw evenly from (0, 1), both ends left out."""
        # The middles of 2**52 intervals: neither end can come, nor be rounded to.
        return ((self._bits(_count(size)) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def standard_normal(self, size: Size = None, dtype: Any = np.float64) -> Any:
        """Draw from the standard normal: Φ⁻¹ of a uniform number."""
        return _shaped(scipy_special.ndtri(self._open(size)).astype(dtype), size)

    def standard_exponential(self, size: Size = None) -> Any:
        """Draw from the exponential distribution of mean 1: -ln of a uniform number."""
        return _shaped(-np.log(self._open(size)), size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None) -> Any:
        """Draw evenly from [low, high)."""
        return low + (high - low) * self.random(size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Any:
        """Draw from the normal distribution."""
        return loc + scale * self.standard_normal(size)

    def gumbel(self, loc: float = 0.0, scale: float = 1.0, size: Size = None) -> Any:
        """Draw from the Gumbel distribution: -ln(-ln u)."""
        return loc - scale * np.log(self.standard_exponential(size))

    def poisson(self, lam: Any, size: Size = None) -> Any:
        """Draw counts of mean `lam`, by the inverse of the cumulative distribution."""
        shape = np.shape(lam) if size is None else size
        found = np.ceil(scipy_special.pdtrik(self._open(shape).reshape(shape), np.broadcast_to(lam, shape)))
        return np.where(np.asarray(lam) == 0, 0, np.maximum(np.nan_to_num(found), 0)).astype(np.int64)

    def integers(self, low: int, high: int | None = None, size: Size = None) -> Any:
        """Draw evenly from low, …, high - 1. Draws beyond the last whole multiple of the span are rejected."""
        first, last = (0, low) if high is None else (low, high)
        span = last - first
        if span <= 0:
            raise ValueError("low >= high")
        if span > 2**64:
            raise ValueError("a span of more than 2**64 whole numbers cannot be drawn from")
        limit = (2**64 // span) * span
        drawn = self._bits(_count(size)).copy()
        while limit < 2**64 and (wrong := np.flatnonzero(drawn >= np.uint64(limit))).size:
            drawn[wrong] = self._bits(wrong.size)
        remainder = drawn % np.uint64(span) if span < 2**64 else drawn
        values = (
            (remainder + np.uint64(first % 2**64)).astype(np.int64)
            if first >= 0
            else remainder.astype(np.int64) + first
        )
        return _shaped(values, size)

    def permutation(self, n: int) -> np.ndarray[Any, Any]:
        """Return 0 … n-1 in random order: sorted by random keys, drawn again should two be equal."""
        while True:
            keys = self._bits(n)
            order = np.argsort(keys, kind="stable")
            if n < 2 or (np.diff(keys[order]) != 0).all():
                return order
