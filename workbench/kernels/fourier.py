"""One long Fourier transform as two sets of short ones, which several threads share and whose values stay in the cache.

With n = a·b points and x[j₁b + j₂], X[k₁ + a·k₂] = Σ_j₂ ω_n^(j₂k₁) (Σ_j₁ x[j₁b + j₂] ω_a^(j₁k₁)) ω_b^(j₂k₂)  (Bailey's
four steps: D. H. Bailey, FFTs in external or hierarchical memory, 1990).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.base.lazy import scipy_fft
from workbench.kernels.loader import native
from workbench.kernels.threads import get_num_threads

__all__ = ["long_fft", "takes_long_fft"]

LEAST, MOST = 1 << 16, 1 << 22
"""Points of the transforms that this pays for; the roots of unity of a longer one would take too much memory."""
SHORTEST = 64
"""The smaller of the two factors is at least this."""


@lru_cache(maxsize=64)
def _factors(n: int) -> tuple[int, int]:
    """Return a·b = n with a ≤ b as near to each other as they come."""
    a = math.isqrt(n)
    while n % a:
        a -= 1
    return a, n // a


@lru_cache(maxsize=2)
def _roots(n: int, inverse: bool, dtype: str) -> np.ndarray[Any, Any]:
    """Return the table exp(∓2πi·k₁·j₂/n) [a, b]."""
    a, b = _factors(n)
    angle = np.outer(np.arange(a), np.arange(b)) * ((2 if inverse else -2) * np.pi / n)
    table: np.ndarray[Any, Any] = np.exp(1j * angle).astype(dtype)
    return table


def takes_long_fft(x: Any, dim: tuple[int, ...]) -> bool:
    """Say whether a transform is one long one of a size that comes apart."""
    return (
        native is not None
        and len(dim) == 1
        and x.dtype.kind == "c"
        and LEAST <= x.size <= MOST
        and x.shape[dim[0]] == x.size
        and x.flags.c_contiguous
        and _factors(x.size)[0] >= SHORTEST
    )


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    # Python's threads, not OpenMP's: those would spin after their part of the work, where SciPy's want to run.
    return ThreadPoolExecutor(max_workers=64, thread_name_prefix="workbench-fft")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not come along


def _by_columns(work: Callable[[int, int], None], columns: int) -> None:
    """Call ``work(begin, end)`` for ranges of columns, on as many threads as there may be."""
    workers = get_num_threads()
    edges = [columns * i // workers for i in range(workers + 1)]
    others = [_pool().submit(work, *edges[i : i + 2]) for i in range(1, workers)]
    work(edges[0], edges[1])
    for other in others:
        other.result()


def long_fft(x: np.ndarray[Any, Any], inverse: bool, norm: str) -> np.ndarray[Any, Any]:
    """Return the transform of the one long dim of `x`."""
    a, b = _factors(x.size)
    transform = scipy_fft.ifft if inverse else scipy_fft.fft
    rows, roots = x.reshape(a, b), _roots(x.size, inverse, x.dtype.char)
    turned = np.empty((b, a), x.dtype)

    def first(begin: int, end: int) -> None:
        part = transform(rows[:, begin:end], axis=0, norm=norm, workers=1)
        native.twiddle_transpose(part, roots, turned, begin)

    def second(begin: int, end: int) -> None:
        part = turned[:, begin:end]
        done = transform(part, axis=0, norm=norm, workers=1, overwrite_x=True)
        if not np.may_share_memory(done, part):
            part[...] = done

    _by_columns(first, b)
    _by_columns(second, a)
    return turned.reshape(x.shape)
