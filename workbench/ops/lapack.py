"""LAPACK and BLAS on batches of matrices: NumPy arrays in and out, in the type that they came in.

SciPy's routines are called one matrix at a time. They take a row-major matrix as its column-major transpose without
a copy, which is what makes them faster here than NumPy's; where many small matrices come together NumPy's loop in C
wins, and is taken.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from workbench.base.lazy import Lazy, scipy_linalg

__all__ = ["LinAlgError"]

scipy_blas = Lazy("scipy.linalg.blas")

SMALL = 16
"""Up to this many rows a batch of matrices goes through NumPy's loop."""

Array = np.ndarray[Any, Any]


class LinAlgError(RuntimeError):
    """A matrix that has no such factorization, inverse or solution."""


@functools.lru_cache(maxsize=256)
def routine(name: str, kind: str) -> Callable[..., Any]:
    """Return a LAPACK routine for a type, given by its character."""
    return scipy_linalg.get_lapack_funcs(name, dtype=np.dtype(kind))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=256)
def _blas(name: str, kind: str) -> Callable[..., Any]:
    return scipy_blas.get_blas_funcs(name, dtype=np.dtype(kind))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1024)
def _workspace(name: str, kind: str, *sizes: Any) -> Any:
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
    trsm = _blas("trsm", a.dtype.char)
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
    lwork = int(_workspace("getri_lwork", a.dtype.char, a.shape[-1]))
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
        sign[at] = 0 if np.any(sizes == 0) else _parity(pivots) * np.prod(phases)
    return sign, logarithm


# ------------------------------------------------------------------------------------- factorizations


def cholesky(a: Array, upper: bool) -> tuple[Array, Array]:
    """Return L with A = L Lᴴ (or U with A = Uᴴ U), and the order of the leading minor that is not positive."""
    info = np.zeros(a.shape[:-2], np.int32)
    if not a.size:
        return a.copy(), info
    if small(a) and not upper:
        try:
            return np.linalg.cholesky(a), info
        except np.linalg.LinAlgError:
            pass  # one of them is not positive-definite: the loop says which
    potrf = routine("potrf", a.dtype.char)
    out = None if a.ndim == 2 else np.empty(a.shape, a.dtype)
    for at in matrices(a):
        # The transpose is the conjugate, and its triangles are exchanged: what comes out is the wanted factor's.
        found, failed = potrf(a[at].T, lower=upper, clean=True)
        info[at] = failed
        if out is None:
            return found.T, info
        out[at] = found.T
    return out, info  # type: ignore[return-value]


def qr(a: Array, mode: str) -> tuple[Array, Array]:
    """Return Q and R; `mode` is reduced, complete or r."""
    *batch, rows, columns = a.shape
    count = min(rows, columns)
    width = rows if mode == "complete" else count
    r = np.zeros((*batch, width, columns), a.dtype)
    if mode == "r":
        q = np.zeros((0,), a.dtype)
    else:
        q = np.zeros((*batch, rows, width), a.dtype)
        q[...] = np.eye(rows, width, dtype=a.dtype)
    if not count or not a.size:
        return q, r
    geqrf, complex_ = routine("geqrf", a.dtype.char), a.dtype.kind == "c"
    orgqr = routine("ungqr" if complex_ else "orgqr", a.dtype.char)
    lwork = int(_workspace("geqrf_lwork", a.dtype.char, rows, columns))
    for at in matrices(a):
        packed, tau, _, _ = geqrf(a[at], lwork=lwork)
        r[at] = np.triu(packed[:width])
        if mode != "r":
            start = packed[:, :count]
            if width > count:
                start = np.zeros((rows, width), a.dtype, order="F")
                start[:, :count] = packed[:, :count]
            q[at] = orgqr(start, tau, lwork=max(1, 64 * width), overwrite_a=1)[0]
    return q, r


def geqrf(a: Array) -> tuple[Array, Array]:
    """Return R with the reflectors below it, and their factors."""
    *batch, rows, columns = a.shape
    out, factors = np.empty(a.shape, a.dtype), np.zeros((*batch, min(rows, columns)), a.dtype)
    if a.size:
        lwork = int(_workspace("geqrf_lwork", a.dtype.char, rows, columns))
        for at in matrices(a):
            out[at], factors[at], _, _ = routine("geqrf", a.dtype.char)(a[at], lwork=lwork)
    return out, factors


def ldl_factor(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """Return L and D in one matrix (lower triangle), pivots counted from 1 (negative: blocks of two), and failures."""
    name = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
    out, pivots, info = (
        np.empty(a.shape, a.dtype),
        np.zeros(a.shape[:-1], np.int32),
        np.zeros(a.shape[:-2], np.int32),
    )
    if a.size:
        lwork = int(_workspace(f"{name}_lwork", a.dtype.char, a.shape[-1], 1))
        for at in matrices(a):
            out[at], order, info[at] = routine(name, a.dtype.char)(a[at], lower=1, lwork=lwork)
            out[at] = np.tril(out[at])
            pivots[at] = order
    return out, pivots, info


def ldl_solve(factors: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """Solve A X = B given what `ldl_factor` made of A."""
    name = "hetrs" if hermitian and b.dtype.kind == "c" else "sytrs"
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    out = np.zeros((*batch, *b.shape[-2:]), b.dtype)
    factors, b = wide(factors, batch), wide(b, batch)
    pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    if out.size:
        for at in matrices(out):
            out[at] = routine(name, b.dtype.char)(factors[at], pivots[at], b[at], lower=1)[0]
    return out


# ------------------------------------------------------------------------------------------------ spectra


def svd(a: Array, full_matrices: bool, op: str = "linalg.svd") -> tuple[Array, Array, Array]:
    """Return U, S, Vh by divide and conquer."""
    *batch, rows, columns = a.shape
    count = min(rows, columns)
    kind = np.zeros((), a.dtype).real.dtype
    left, right = (rows, columns) if full_matrices else (count, count)
    if not a.size:
        u, vh = np.zeros((*batch, rows, left), a.dtype), np.zeros((*batch, right, columns), a.dtype)
        u[...], vh[...] = np.eye(rows, left), np.eye(right, columns)
        return u, np.zeros((*batch, count), kind), vh
    if small(a) and np.isfinite(a).all():
        u, s, vh = np.linalg.svd(a, full_matrices)
        return u, s, vh
    lwork = int(_workspace("gesdd_lwork", a.dtype.char, columns, rows, True, full_matrices))
    gesdd = routine("gesdd", a.dtype.char)
    u, vh = np.empty((*batch, rows, left), a.dtype), np.empty((*batch, right, columns), a.dtype)
    s = np.empty((*batch, count), kind)
    for at in matrices(a):
        v, s[at], w, info = gesdd(a[at].T, full_matrices=full_matrices, lwork=lwork)
        if info:
            raise _not_converged(op, a[at], where(at, tuple(batch)), info, "singular values")
        if not batch:
            return w.T, s, v.T
        u[at], vh[at] = w.T, v.T
    return u, s, vh


def svdvals(a: Array) -> Array:
    """Return singular values."""
    *batch, rows, columns = a.shape
    out = np.empty((*batch, min(rows, columns)), np.zeros((), a.dtype).real.dtype)
    if not a.size:
        return out
    if small(a) and np.isfinite(a).all():
        return np.asarray(np.linalg.svd(a, compute_uv=False))
    lwork = int(_workspace("gesdd_lwork", a.dtype.char, columns, rows, False, False))
    for at in matrices(a):
        _, out[at], _, info = routine("gesdd", a.dtype.char)(
            a[at].T, compute_uv=0, full_matrices=0, lwork=lwork
        )
        if info:
            raise _not_converged("linalg.svd", a[at], where(at, tuple(batch)), info, "singular values")
    return out


def _not_converged(op: str, a: Array, at: str, info: int, what: str) -> LinAlgError:
    if not np.isfinite(a).all() and what == "singular values":
        return LinAlgError(
            f"{op}: {at}The algorithm failed to converge because the input matrix contained non-finite values."
        )
    return LinAlgError(
        f"{op}: {at}The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        f"repeated {what} (error code: {abs(info)})."
    )


def eigh(a: Array, uplo: Literal["L", "U"], vectors: bool = True) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    batch, size = a.shape[:-2], a.shape[-1]
    kind = np.zeros((), a.dtype).real.dtype
    if not a.size:
        return np.zeros((*batch, size), kind), a.copy()
    if small(a) and np.isfinite(a).all():
        if not vectors:
            return np.linalg.eigvalsh(a, uplo), a
        values, out = np.linalg.eigh(a, uplo)
        return values, out
    complex_ = a.dtype.kind == "c"
    name = "heevd" if complex_ else "syevd"
    work = _workspace(f"{name}_lwork", a.dtype.char, size)
    keys = ("lwork", "liwork", "lrwork") if complex_ else ("lwork", "liwork")
    sizes = dict(zip(keys, (int(one) for one in work), strict=True)) if vectors else {}
    values = np.empty((*batch, size), kind)
    out = np.empty(a.shape, a.dtype)
    for at in matrices(a):
        # A real matrix goes in as its transpose, with the triangles exchanged; the conjugate would not do.
        one, below = (a[at], uplo == "L") if complex_ else (a[at].T, uplo == "U")
        values[at], found, info = routine(name, a.dtype.char)(one, compute_v=vectors, lower=below, **sizes)
        if info or not np.isfinite(values[at]).all():
            raise _not_converged("linalg.eigh", a[at], where(at, tuple(batch)), info or 1, "eigenvalues")
        if not batch:
            return values, found
        out[at] = found
    return values, out


def eig(a: Array, vectors: bool = True) -> tuple[Array, Array]:
    """Return eigenvalues and unit eigenvectors of general matrices, complex."""
    kind = np.result_type(a.dtype, np.complex64)
    if not np.isfinite(a).all():
        raise LinAlgError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, out = np.empty(a.shape[:-1], kind), np.empty(a.shape, kind)
    if a.size:
        for at in matrices(a):
            if vectors:
                values[at], out[at] = scipy_linalg.eig(a[at], check_finite=False)
            else:
                values[at] = scipy_linalg.eigvals(a[at], check_finite=False)
    return values, out


# ------------------------------------------------------------------------------------------ least squares


def lstsq(a: Array, b: Array, rcond: float, driver: str) -> tuple[Array, Array, Array]:
    """Return least squares solutions, ranks and singular values (the last two where the driver knows them)."""
    *batch, rows, columns = a.shape
    kind = np.zeros((), a.dtype).real.dtype
    out = np.zeros((*batch, columns, b.shape[-1]), a.dtype)
    ranks = np.zeros(tuple(batch), np.int64)
    values = np.zeros((*batch, min(rows, columns)), kind)
    if a.size and b.size:
        for at in matrices(a):
            if driver == "gels":
                gels = routine("gels", a.dtype.char)
                tall = np.zeros((max(rows, columns), b.shape[-1]), a.dtype, order="F")
                tall[:rows] = b[at]
                lwork = int(_workspace("gels_lwork", a.dtype.char, rows, columns, b.shape[-1]))
                _, found, info = gels(a[at], tall, lwork=lwork)
                if info > 0:
                    raise LinAlgError(
                        f"torch.linalg.lstsq: {where(at, tuple(batch))}The least squares solution could not be "
                        f"computed because the input matrix does not have full rank (error code: {info})."
                    )
                out[at], ranks[at] = found[:columns], min(rows, columns)
            else:
                found, _, ranks[at], singular = scipy_linalg.lstsq(
                    a[at], b[at], cond=rcond, lapack_driver=driver, check_finite=False
                )
                out[at] = found
                if singular is not None:
                    values[at] = singular
    return out, ranks, values


def matrix_exp(a: Array) -> Array:
    """Return the exponentials of matrices, computed in double precision: squaring doubles every error."""
    if not a.size:
        return a.copy()
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return np.asarray(scipy_linalg.expm(a.astype(wide, copy=False))).astype(a.dtype, copy=False)
