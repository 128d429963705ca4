"""Singular values, eigenvalues, least squares, exponentials of batches of matrices; see `linalg.lapack` beside it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from workbench.base.lazy import scipy_linalg
from workbench.ops.linalg.lapack import SMALL, Array, LinAlgError, matrices, routine, where, workspace


def _little(a: Array) -> bool:
    """Say whether NumPy decomposes `a` in no more time: it works in double precision, which gradients are glad of."""
    return bool(max(a.shape[-2:]) <= SMALL)


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
    # For values that are not finite NumPy refuses the batch: below the matrix is named.
    if _little(a) and np.isfinite(a).all():
        u, s, vh = np.linalg.svd(a, full_matrices)
        return u, s, vh
    lwork = int(workspace("gesdd_lwork", a.dtype.char, columns, rows, True, full_matrices))
    gesdd = routine("gesdd", a.dtype.char)
    u, vh = np.empty((*batch, rows, left), a.dtype), np.empty((*batch, right, columns), a.dtype)
    s = np.empty((*batch, count), kind)
    for at in matrices(a):
        # Of the transpose, which is column-major: U and V change places.
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
    if _little(a) and np.isfinite(a).all():
        return np.asarray(np.linalg.svd(a, compute_uv=False))
    lwork = int(workspace("gesdd_lwork", a.dtype.char, columns, rows, False, False))
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
    if _little(a) and np.isfinite(a).all():
        if not vectors:
            return np.linalg.eigvalsh(a, uplo), a
        values, out = np.linalg.eigh(a, uplo)
        return values, out
    complex_ = a.dtype.kind == "c"
    name = "heevd" if complex_ else "syevd"
    work = workspace(f"{name}_lwork", a.dtype.char, size)
    keys = ("lwork", "liwork", "lrwork") if complex_ else ("lwork", "liwork")
    sizes = dict(zip(keys, (int(one) for one in work), strict=True)) if vectors else {}
    values = np.empty((*batch, size), kind)
    out = np.empty(a.shape, a.dtype)
    for at in matrices(a):
        # A real matrix goes in as its transpose, with the triangles exchanged; the conjugate would not do.
        one, below = (a[at], uplo == "L") if complex_ else (a[at].T, uplo == "U")
        values[at], found, info = routine(name, a.dtype.char)(one, compute_v=vectors, lower=below, **sizes)
        # LAPACK may return NaN and call it a success.
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
                # The right sides go in and the solutions come out in one array, as long as the longer of the two.
                tall = np.zeros((max(rows, columns), b.shape[-1]), a.dtype, order="F")
                tall[:rows] = b[at]
                lwork = int(workspace("gels_lwork", a.dtype.char, rows, columns, b.shape[-1]))
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
