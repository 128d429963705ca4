"""Fourier transforms of lengths that come apart into small primes: many at once, side by side, or one long one.

`transform` takes complex values along any dims, one after another; `half` and `from_half` those of an even number of
real values along the last dim. See ``fourier.cpp`` for how.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.kernels.loader import native

__all__ = ["from_half", "half", "takes_from_half", "takes_half", "takes_transform", "transform"]

LEAST = 1024
"""Fewer values than this are not worth the call."""
FEW, LONG = 4, 1024
"""Fewer rows than the one leave most lanes idle, and pay only if they are as long as the other."""


@lru_cache(maxsize=256)
def _comes_apart(points: int) -> bool:
    return points > 0 and bool(native.fft_comes_apart(points))


def _pays(rows: int, points: int) -> bool:
    return (rows >= FEW or points >= LONG) and _comes_apart(points)


def _lies_plainly(x: np.ndarray[Any, Any], kinds: str) -> bool:
    return native is not None and x.size >= LEAST and x.dtype.char in kinds and x.flags.c_contiguous


LONGEST_COLUMN = 4096
"""Points of a dim that is not the last one: its columns stand side by side in a block, which has room for so many."""


def takes_transform(x: np.ndarray[Any, Any], dim: tuple[int, ...]) -> bool:
    """Say whether there is a kernel for the transform of complex values over these dims, and it pays."""
    if not _lies_plainly(x, "FD"):
        return False
    last = x.ndim - 1
    for one in dim:
        points = x.shape[one]
        if one == last or x.shape[one + 1 :] == (1,) * (last - one):
            if not _pays(x.size // points, points):
                return False
        elif points > LONGEST_COLUMN or not _pays(math.prod(x.shape[one + 1 :]), points):
            return False
    return True


def takes_half(x: np.ndarray[Any, Any], dim: tuple[int, ...]) -> bool:
    """Say the same of real values: over the last dim, of an even size, and perhaps others."""
    return _lies_plainly(x, "fd") and _halves(x, dim, x.shape[-1])


def takes_from_half(x: np.ndarray[Any, Any], dim: tuple[int, ...], size: int) -> bool:
    """Say the same of half a spectrum that goes back to `size` real values."""
    return _lies_plainly(x, "FD") and _halves(x, dim, size)


def _halves(x: np.ndarray[Any, Any], dim: tuple[int, ...], size: int) -> bool:
    last = x.ndim - 1
    return (
        dim[-1] == last
        and size % 2 == 0
        and _pays(x.size // x.shape[-1], size // 2)
        and all(
            x.shape[one] <= LONGEST_COLUMN
            and _pays(x.shape[-1] * math.prod(x.shape[one + 1 : last]), x.shape[one])
            for one in dim[:-1]
        )
    )


def _scale(points: int, inverse: bool, norm: str) -> float:
    # A norm names the direction that divides by n: the other one is left alone.
    if norm == ("forward" if inverse else "backward"):
        return 1.0
    return points**-0.5 if norm == "ortho" else 1.0 / points


def _along(x: Any, out: Any, dim: tuple[int, ...], inverse: bool, scale: float) -> Any:
    """Transform along one dim after another: the first from `x` to `out`, the others where they lie."""
    for one in dim:
        points, inner = x.shape[one], math.prod(x.shape[one + 1 :])
        native.complex_fft(x, out, x.size // (points * inner), points, inner, inverse=inverse, scale=scale)
        x, scale = out, 1.0
    return out


def transform(
    x: np.ndarray[Any, Any], dim: tuple[int, ...], inverse: bool, norm: str
) -> np.ndarray[Any, Any]:
    """Return the transform of complex values over some dims, or its inverse."""
    scale = _scale(math.prod(x.shape[one] for one in dim), inverse, norm)
    return _along(x, np.empty(x.shape, x.dtype), dim, inverse, scale)  # type: ignore[no-any-return]


def half(x: np.ndarray[Any, Any], dim: tuple[int, ...], norm: str) -> np.ndarray[Any, Any]:
    """Return the half of the spectrum of real values that the rest follows from."""
    points = x.shape[-1]
    scale = _scale(math.prod(x.shape[one] for one in dim), False, norm)
    out = np.empty((*x.shape[:-1], points // 2 + 1), np.complex64 if x.dtype.char == "f" else np.complex128)
    native.real_fft(x, out, x.size // points, points // 2, scale=scale)
    return _along(out, out, dim[:-1], False, 1.0)  # type: ignore[no-any-return]


def from_half(x: np.ndarray[Any, Any], dim: tuple[int, ...], size: int, norm: str) -> np.ndarray[Any, Any]:
    """Return the `size` real values that half a spectrum belongs to."""
    others = dim[:-1]
    scale = _scale(size * math.prod(x.shape[one] for one in others), True, norm)
    if others:
        x = _along(x, np.empty(x.shape, x.dtype), others, True, 1.0)
    out = np.empty((*x.shape[:-1], size), np.float32 if x.dtype.char == "F" else np.float64)
    native.inverse_real_fft(x, out, x.size // x.shape[-1], size // 2, scale=scale)
    return out
