"""Products, transforms and what LAPACK computes, in JAX's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.interop.xla.libraries import jnp, lax, linalg

__all__ = ["KERNELS"]


# XLA may compute products of float32 in fewer digits on devices that have faster units for that.
_DIGITS = "highest"


def _matmul(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision=_DIGITS)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    y = jnp.matmul(x, weight.T, precision=_DIGITS)
    return y if bias is None else y + bias


def _info(found: Any) -> Any:
    """Return 0 for each matrix that gave numbers, else 1: in which row it failed is not told on a device."""
    return (~jnp.isfinite(found).all((-1, -2))).astype(np.int32)


def _cholesky(a: Any, upper: bool, check: bool) -> Any:
    factor = jnp.linalg.cholesky(a, upper=False, symmetrize_input=False)
    if upper:
        # What was given counts above the diagonal.
        below = a.swapaxes(-1, -2).conj()
        factor = jnp.linalg.cholesky(below, symmetrize_input=False).swapaxes(-1, -2).conj()
    return factor, _info(factor)


def _inverse(a: Any, check: bool) -> Any:
    found = jnp.linalg.inv(a)
    return found, _info(found)


def _solve(a: Any, b: Any, check: bool) -> Any:
    found = jnp.linalg.solve(a, b)
    # A matrix that has no inverse gives no numbers whatever stands on the right.
    return found, jnp.broadcast_to(_info(jnp.linalg.inv(a)), found.shape[:-2])


def _triangular(a: Any, b: Any, upper: bool, unitriangular: bool) -> Any:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = jnp.broadcast_to(a, (*batch, *a.shape[-2:])), jnp.broadcast_to(b, (*batch, *b.shape[-2:]))
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=not upper, unit_diagonal=unitriangular)


def _cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    back = factor.conj().swapaxes(-1, -2)
    first, second = (back, factor) if upper else (factor, back)
    return _triangular(second, _triangular(first, b, False, False), True, False)


def _cholesky_inverse(factor: Any, upper: bool) -> Any:
    return _cholesky_solve(
        jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape), factor, upper
    )


def _spectrum(a: Any, uplo: str) -> Any:
    values, vectors = jnp.linalg.eigh(a, uplo, symmetrize_input=False)
    return values, vectors


def _qr(a: Any, mode: str) -> Any:
    if mode == "r":
        r = jnp.linalg.qr(a, mode="r")
        return jnp.zeros((0,), a.dtype), r
    return tuple(jnp.linalg.qr(a, mode=mode))


def _pinv(a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    u, values, vh = jnp.linalg.svd(a, full_matrices=False)
    limit = jnp.maximum(jnp.asarray(atol), jnp.asarray(rtol) * values.max(-1))
    kept = values > limit[..., None]
    inverse = jnp.where(kept, 1 / jnp.where(kept, values, 1), 0).astype(values.dtype)
    v, u = vh.swapaxes(-1, -2).conj(), u.swapaxes(-1, -2).conj()
    return jnp.matmul(v * inverse[..., None, :], u, precision=_DIGITS)


def _matrix_exp(a: Any) -> Any:
    wide = jnp.promote_types(a.dtype, np.float64)
    return linalg.expm(a.astype(wide)).astype(a.dtype)


def _distances(x1: Any, x2: Any, p: float, product: bool) -> Any:
    size = jnp.abs(x1[..., :, None, :] - x2[..., None, :, :])
    if p == 0:
        return (size != 0).sum(-1).astype(x1.dtype)
    if np.isinf(p):
        return size.max(-1, initial=0)
    return jnp.sqrt((size * size).sum(-1)) if p == 2 else (size**p).sum(-1) ** (1 / p)


def _from_half(x: Any, dim: tuple[int, ...], size: int, norm: str) -> Any:
    sizes = [*(x.shape[one] for one in dim[:-1]), size]
    return jnp.fft.irfftn(x, s=sizes, axes=dim, norm=norm)


def _full(x: Any, dim: tuple[int, ...], inverse: bool, norm: str) -> Any:
    if not dim:
        return x.astype(jnp.result_type(x.dtype, jnp.complex64))
    for one in dim:  # XLA transforms three dims at once at most
        x = (jnp.fft.ifft if inverse else jnp.fft.fft)(x, axis=one, norm=norm)
    return x


def _half(x: Any, dim: tuple[int, ...], norm: str) -> Any:
    x = jnp.fft.rfft(x, axis=dim[-1], norm=norm)
    return _full(x, dim[:-1], False, norm) if len(dim) > 1 else x


KERNELS: dict[str, Callable[..., Any]] = {
    "fft_c2c": _full,
    "fft_c2r": _from_half,
    "fft_r2c": _half,
    "linalg_cholesky": _cholesky,
    "linalg_cholesky_inverse": _cholesky_inverse,
    "linalg_cholesky_solve": _cholesky_solve,
    "linalg_det": lambda a: jnp.linalg.det(a),
    "linalg_eigvalsh": lambda a, uplo: jnp.linalg.eigvalsh(a, uplo, symmetrize_input=False),
    "cdist": _distances,
    "linalg_eigh": _spectrum,
    "linalg_inv": _inverse,
    "linalg_matrix_exp": _matrix_exp,
    "linalg_pinv": _pinv,
    "linalg_qr": _qr,
    "linalg_slogdet": lambda a: tuple(jnp.linalg.slogdet(a)),
    "linalg_solve": _solve,
    "linalg_solve_triangular": _triangular,
    "linalg_svd": lambda a, full_matrices: tuple(jnp.linalg.svd(a, full_matrices=full_matrices)),
    "linalg_svdvals": lambda a: jnp.linalg.svd(a, compute_uv=False),
    "linear": _linear,
    "matmul": _matmul,
}
