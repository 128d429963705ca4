"""LAPACK and BLAS on batches of matrices: NumPy arrays in and out, in the type that they came in.

SciPy's routines are called one matrix at a time. They take a row-major matrix as its column-major transpose without
a copy, which is what makes them faster here than NumPy's; where many small matrices come together NumPy's loop in C
wins, and is taken.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench.base.lazy import scipy_blas, scipy_linalg
from workbench.ops.offer import offered

__all__ = ["LinAlgError"]

SMALL = 16
"""Up to this many rows a batch of matrices goes through NumPy's loop."""

Array = np.ndarray[Any, Any]


@offered("linalg")
class LinAlgError(RuntimeError):
    """A matrix that has no such factorization, inverse or solution."""


@functools.lru_cache(maxsize=256)
def routine(name: str, kind: str) -> Callable[..., Any]:
    """Return a LAPACK routine for a type, given by its character."""
    return scipy_linalg.get_lapack_funcs(name, dtype=np.dtype(kind))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=256)
def blas(name: str, kind: str) -> Callable[..., Any]:
    return scipy_blas.get_blas_funcs(name, dtype=np.dtype(kind))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1024)
def workspace(name: str, kind: str, *sizes: Any) -> Any:
    """Return the best size(s) of the workspace of a routine."""
    return scipy_linalg.lapack._compute_lwork(routine(name, kind), *sizes)


def small(a: Array) -> bool:
    """Say whether NumPy's loop over a batch is faster than one call a matrix."""
    return a.ndim > 2 and a.shape[-1] <= SMALL and a.shape[-2] <= SMALL and a.size > a.shape[-1] * a.shape[-2]


def matrices(a: Array) -> Iterator[tuple[int, ...]]:
    """Iterate over the positions of the matrices of a batch."""
    return iter(np.ndindex(a.shape[:-2]))


def wide(a: Array, batch: tuple[int, ...]) -> Array:
    """Stretch the batch dims of `a`."""
    return a if a.shape[:-2] == batch else np.broadcast_to(a, (*batch, *a.shape[-2:]))


def where(position: tuple[int, ...], batch: tuple[int, ...]) -> str:
    """Return how a message names a matrix of a batch."""
    return f"(Batch element {int(np.ravel_multi_index(position, batch))}): " if batch else ""


def refuse_first(info: Array, words: Callable[[str, int], str]) -> None:
    """Raise for the first matrix of which `info` tells a failure."""
    if np.any(info):
        position = tuple(int(i) for i in np.argwhere(info)[0])
        raise LinAlgError(words(where(position, info.shape), int(info[position])))


# ------------------------------------------------------------------------------------------- LU, solving


def factor_transposed(a: Array) -> tuple[Array, Array, int]:
    """Factor the transpose of one row-major matrix, which needs no other layout."""
    return routine("getrf", a.dtype.char)(a.T)  # type: ignore[no-any-return]


def solve(a: Array, b: Array) -> tuple[Array, Array]:
    """Solve A X = B; second comes which matrices are singular (the number of the zero on the diagonal)."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    info = np.zeros(batch, np.int32)
    if not a.shape[-1] or not b.size or not info.size:
        return np.zeros((*batch, *b.shape[-2:]), b.dtype), info
    if small(a) and a.shape[:-2] == batch:
        try:
            return np.linalg.solve(a, b), info
        except np.linalg.LinAlgError:
            pass  # one of them is singular: the loop says which
    if not batch:
        return _solve_one(a, b, info, ())
    a, b = wide(a, batch), wide(b, batch)
    out = np.empty(b.shape, b.dtype)
    for at in matrices(b):
        out[at] = _solve_one(a[at], b[at], info, at)[0]
    return out, info


def _solve_one(a: Array, b: Array, info: Array, at: tuple[int, ...]) -> tuple[Array, Array]:
    lu, pivots, failed = factor_transposed(a)
    info[at] = failed
    if failed:
        # The substitution itself answers with infinities, which the routine below refuses to make.
        return _substitute(lu, pivots, b), info
    return routine("getrs", a.dtype.char)(lu, pivots, b, trans=1)[0], info


def _substitute(lu: Array, pivots: Array, b: Array) -> Array:
    half = triangular(lu.T, b, upper=False, unitriangular=False)
    out = triangular(lu.T, half, upper=True, unitriangular=True)
    order = permutation(pivots + 1, len(lu))
    back = np.empty_like(out)
    back[order] = out
    return back


def triangular(a: Array, b: Array, upper: bool, unitriangular: bool) -> Array:
    """Solve A X = B where A is triangular; the other triangle is not read."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not batch and b.size:
        return _triangular_one(a, b, upper, unitriangular)
    out = np.empty((*batch, *b.shape[-2:]), b.dtype)
    if out.size:
        a, b = wide(a, batch), wide(b, batch)
        for at in matrices(out):
            out[at] = _triangular_one(a[at], b[at], upper, unitriangular)
    return out


def _triangular_one(a: Array, b: Array, upper: bool, unitriangular: bool) -> Array:
    # Row-major: Xᵀ Aᵀ = Bᵀ, where the transposes are column-major without a copy.
    trsm = blas("trsm", a.dtype.char)
    # A transpose is column-major itself: the routine is told, and nothing is copied.
    if a.flags.f_contiguous and not a.flags.c_contiguous:
        out = trsm(1.0, a, b.T, side=1, lower=not upper, trans_a=1, diag=unitriangular)
    else:
        out = trsm(1.0, a.T, b.T, side=1, lower=upper, diag=unitriangular)
    return out.T  # type: ignore[no-any-return]


def invert(a: Array) -> tuple[Array, Array]:
    """Return inverses, and which matrices have none (the number of the zero on the diagonal)."""
    info = np.zeros(a.shape[:-2], np.int32)
    if not a.size:
        return a.copy(), info
    if small(a):
        try:
            return np.linalg.inv(a), info
        except np.linalg.LinAlgError:
            pass  # one of them is singular: the loop says which
    out = np.empty(a.shape, a.dtype)
    getri = routine("getri", a.dtype.char)
    lwork = int(workspace("getri_lwork", a.dtype.char, a.shape[-1]))
    for at in matrices(a):
        lu, pivots, failed = factor_transposed(a[at])
        info[at] = failed
        if failed:
            out[at] = _substitute(lu, pivots, np.eye(a.shape[-1], dtype=a.dtype))
        else:
            found = getri(lu, pivots, lwork=lwork, overwrite_lu=1)[0].T
            if a.ndim == 2:
                return found, info
            out[at] = found
    return out, info


def lu_factor(a: Array) -> tuple[Array, Array, Array]:
    """Return L and U in one matrix, pivots (counted from 1) and where U has a zero on the diagonal."""
    batch, count = a.shape[:-2], min(a.shape[-2:])
    out, pivots, info = (
        np.empty(a.shape, a.dtype),
        np.zeros((*batch, count), np.int32),
        np.zeros(batch, np.int32),
    )
    if count:
        getrf = routine("getrf", a.dtype.char)
        for at in matrices(a):
            out[at], order, info[at] = getrf(a[at])
            pivots[at] = order + 1
    return out, pivots, info


def permutation(pivots: Array, rows: int) -> Array:
    """Return the order of the rows that exchanging them one after the other (counted from 1) makes."""
    order = list(range(rows))
    for i, other in enumerate(pivots.tolist()):
        order[i], order[other - 1] = order[other - 1], order[i]
    return np.asarray(order, dtype=np.intp)


def permutation_matrices(pivots: Array, rows: int, dtype: Any) -> Array:
    """Return matrices P with P[order[i], i] = 1, so that A = P L U."""
    out = np.zeros((*pivots.shape[:-1], rows, rows), dtype)
    for at in np.ndindex(pivots.shape[:-1]):
        out[at][permutation(pivots[at], rows), np.arange(rows)] = 1
    return out


def determinant(a: Array) -> Array:
    """Return determinants."""
    if not a.shape[-1] or small(a) or not a.size:
        return np.asarray(np.linalg.det(a)).astype(a.dtype, copy=False)
    out = np.empty(a.shape[:-2], a.dtype)
    for at in matrices(a):
        lu, pivots, _ = factor_transposed(a[at])
        with np.errstate(over="ignore"):
            out[at] = _parity(pivots) * np.prod(np.diagonal(lu))
    return out


def _parity(pivots: Array) -> int:
    return 1 - 2 * (int(np.count_nonzero(pivots != np.arange(len(pivots)))) % 2)


def sign_and_logarithm(a: Array) -> tuple[Array, Array]:
    """Return signs (or phases) of determinants, and the logarithms of their moduli."""
    kind = np.zeros((), a.dtype).real.dtype
    if not a.shape[-1] or small(a) or not a.size:
        sign, logarithm = np.linalg.slogdet(a)
        return np.asarray(sign).astype(a.dtype, copy=False), np.asarray(logarithm).astype(kind, copy=False)
    sign, logarithm = np.empty(a.shape[:-2], a.dtype), np.empty(a.shape[:-2], kind)
    for at in matrices(a):
        lu, pivots, _ = factor_transposed(a[at])
        values = np.diagonal(lu)
        sizes = np.abs(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm[at] = np.sum(np.log(sizes))
            phases = values / sizes
        # Where U has a zero a phase would be 0/0.
        sign[at] = 0 if np.any(sizes == 0) else _parity(pivots) * np.prod(phases)
    return sign, logarithm
