"""Factors of batches of matrices from LAPACK: Cholesky, QR, LDL; see `workbench.ops.linalg.lapack`."""

from __future__ import annotations

import numpy as np

from workbench.base.errors import DimensionIndexError
from workbench.ops.linalg.lapack import Array, matrices, routine, small, wide, workspace


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
    lwork = int(workspace("geqrf_lwork", a.dtype.char, rows, columns))
    for at in matrices(a):
        packed, tau, _, _ = geqrf(a[at], lwork=lwork)
        r[at] = np.triu(packed[:width])
        if mode != "r":
            start = packed[:, :count]
            # The routine makes as many columns as it is given: behind the reflectors there has to be room.
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
        lwork = int(workspace("geqrf_lwork", a.dtype.char, rows, columns))
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
        lwork = int(workspace(f"{name}_lwork", a.dtype.char, a.shape[-1], 1))
        for at in matrices(a):
            out[at], order, info[at] = routine(name, a.dtype.char)(a[at], lower=1, lwork=lwork)
            # The routine leaves in the other triangle what was there.
            out[at] = np.tril(out[at])
            pivots[at] = order
    return out, pivots, info


def _check_pivots(pivots: Array, size: int) -> None:
    """Refuse pivots that no factoring gives: LAPACK exchanges the rows that they say, wherever that is in memory."""
    wrong = pivots[(pivots == 0) | (pivots > size) | (pivots < -size)]
    if wrong.size:
        raise DimensionIndexError(
            f"Pivots given must all be between 1 and the number of rows, {size}, or between -{size} and -1, but one is "
            f"{int(wrong.flat[0])}. Are they the pivots that linalg.ldl_factor returned?"
        )
    for row in pivots.reshape(-1, size)[(pivots < 0).reshape(-1, size).any(-1)]:
        ends = np.flatnonzero(np.diff(np.concatenate(([0], row < 0, [0]))))
        if ((ends[1::2] - ends[::2]) % 2).any():
            raise DimensionIndexError(
                f"Pivots below 0 stand in pairs, one for each row of a block of two, and not as in {row.tolist()}. Are "
                "they the pivots that linalg.ldl_factor returned?"
            )


def ldl_solve(factors: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """Solve A X = B given what `ldl_factor` made of A."""
    name = "hetrs" if hermitian and b.dtype.kind == "c" else "sytrs"
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    out = np.zeros((*batch, *b.shape[-2:]), b.dtype)
    factors, b = wide(factors, batch), wide(b, batch)
    pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    if out.size:
        _check_pivots(pivots, factors.shape[-1])
        for at in matrices(out):
            out[at] = routine(name, b.dtype.char)(factors[at], pivots[at], b[at], lower=1)[0]
    return out
