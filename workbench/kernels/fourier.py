"""One long Fourier transform as two sets of short ones, which several threads share and whose values stay in the cache.

With n = a·b points and x[j₁b + j₂], X[k₁ + a·k₂] = Σ_j₂ ω_n^(j₂k₁) (Σ_j₁ x[j₁b + j₂] ω_a^(j₁k₁)) ω_b^(j₂k₂)  (Bailey's
four steps: D. H. Bailey, FFTs in external or hierarchical memory, 1990). Both sets go in radices of 2 to 8.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from workbench.kernels.loader import native

__all__ = ["long_fft", "takes_long_fft"]

LEAST, MOST = 1 << 16, 1 << 22
"""Points of the transforms that this pays for: below, one core's cache holds it; above, short ones outgrow theirs."""
SHORTEST = 64
"""The smaller of the two factors is at least this."""
# The larger powers of 2 first: fewer passes.
RADICES = (8, 4, 2, 7, 5, 3)


@lru_cache(maxsize=64)
def _factors(n: int) -> tuple[int, int]:
    """Return a·b = n with a ≤ b as near to each other as they come."""
    # Downwards from the root, so that the first divisor is the nearest.
    a = math.isqrt(n)
    while n % a:
        a -= 1
    return a, n // a


@lru_cache(maxsize=64)
def _radices(n: int) -> tuple[int, ...] | None:
    """Return factors of `n` that there is a butterfly for; None if another prime is left."""
    found = []
    for radix in RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else None


class _Plan(NamedTuple):
    """What the kernel is told besides the values; see ``fourier.cpp``."""

    high: list[int]
    wide: list[int]
    high_roots: np.ndarray[Any, Any]
    wide_roots: np.ndarray[Any, Any]
    coarse: np.ndarray[Any, Any]
    fine: np.ndarray[Any, Any]


# Few: `coarse` alone has a value for each `lanes` of the n points.
@lru_cache(maxsize=4)
def _plan(n: int, dtype: str) -> _Plan:
    a, b = _factors(n)
    lanes = native.fourier_lanes(dtype == "D")

    def roots(powers: np.ndarray[Any, Any], points: int) -> np.ndarray[Any, Any]:
        # In double precision, of angles within one turn, and rounded once.
        return np.exp((-2j * np.pi / points) * (powers % points)).astype(dtype)

    by_lane = roots(np.outer(np.arange(a), np.arange(lanes)), n)
    return _Plan(
        list(_radices(a) or ()),
        list(_radices(b) or ()),
        roots(np.arange(a), a),
        roots(np.arange(b), b),
        roots(np.outer(np.arange(0, b, lanes), np.arange(a)), n),
        np.stack([by_lane.real, by_lane.imag], axis=1).reshape(a, -1).view(dtype),
    )


def takes_long_fft(x: Any, dim: tuple[int, ...]) -> bool:
    """Say whether a transform is one long one of a size that comes apart."""
    return (
        native is not None
        and len(dim) == 1
        and x.dtype.char in "FD"
        and LEAST <= x.size <= MOST
        and x.shape[dim[0]] == x.size
        and x.flags.c_contiguous
        # A prime, or nearly one, comes apart into nothing worth while.
        and _factors(x.size)[0] >= SHORTEST
        and _radices(x.size) is not None
    )


def long_fft(x: np.ndarray[Any, Any], inverse: bool, norm: str) -> np.ndarray[Any, Any]:
    """Return the transform of the one long dim of `x`."""
    n = x.size
    # A norm names the direction that divides by n: the other one is left alone.
    scale = 1.0 if norm == ("forward" if inverse else "backward") else n**-0.5 if norm == "ortho" else 1.0 / n
    out = np.empty(x.shape, x.dtype)
    native.long_fft(x, out, *_plan(n, x.dtype.char), inverse=inverse, scale=scale)
    return out
