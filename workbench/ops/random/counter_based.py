"""Chance by place: a number for each place of an array, which a seed decides and which can be drawn again.

The number of a place is a hash of the place and the seed: Wellons' lowbias32, with half of the seed between its rounds,
as in `extensions/kernels/source/leaves/chance.inl`. So what is dropped need not be kept for the gradient, and does not
depend on how many threads draw it, in which order values lie in memory, or whether there is a compiler.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.random import Generator, default_generator
from workbench.core.stack import tell_drawn

__all__ = ["drawn", "kept", "least", "seed_from", "shares"]

Array = Any

_SPREAD = 0x9E3779B9
_WHOLE = 2**32


def seed_from(generator: Generator | None = None) -> int:
    """Draw a seed of 53 bits; nothing else is drawn, whatever the size of what it is for.

    A trace is told, and the graph draws a seed of its own at every run.
    """
    source = generator or default_generator
    # All the bits that a draw from [0, 1) has.
    seed = int(source.numpy.random() * 2**53)
    tell_drawn(seed, source)
    return seed


def drawn(sizes: tuple[int, ...], seed: int) -> Array:
    """Return whole numbers below 2³² for the places of an array, in row-major order."""
    key = np.uint32((seed >> 32) * _SPREAD % _WHOLE)
    # In 32 bits, which wrap around: the same in C++ and here.
    h = np.arange(math.prod(sizes)).astype(np.uint32) * np.uint32(_SPREAD) + np.uint32(seed % _WHOLE)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x7FEB352D) ^ key
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x846CA68B)
    return (h ^ (h >> np.uint32(16))).reshape(sizes)


def least(p: float) -> int:
    """Return the least number of `drawn` that is not among the share `p` of the lowest."""
    return int(min(max(p, 0.0), 1.0) * _WHOLE)


def kept(sizes: tuple[int, ...], p: float, seed: int) -> Array:
    """Return an array that is False with probability `p`."""
    return drawn(sizes, seed) >= least(p)


def shares(sizes: tuple[int, ...], seed: int, dtype: Any) -> Array:
    """Return numbers from [0, 1), evenly drawn, with 24 bits."""
    return (drawn(sizes, seed) >> np.uint32(8)).astype(dtype) * np.asarray(2.0**-24, dtype)
