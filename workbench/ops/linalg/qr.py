"""Orthonormal factors: QR, and products of Householder's reflectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import AutogradError, DimensionError
from workbench.core.batch_rules import matrices
from workbench.core.families import grid
from workbench.core.op import Absent, Op, Sample, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of, new
from workbench.ops.elementwise.complex import zeros
from workbench.ops.linalg import lapack_factors
from workbench.ops.linalg.matrices import (
    adjoint,
    batch_dims,
    check_floating,
    check_matrix,
    column,
    columns,
    diagonal,
    embedded,
    identity,
    matrix_op,
    plus,
    real,
    shape,
    together,
    upper,
    with_diagonal,
)
from workbench.ops.linalg.solve import square, triangular_system
from workbench.ops.offer import offered


class QRResult(NamedTuple):
    """A = Q R."""

    Q: Tensor
    R: Tensor


# ------------------------------------------------------------------------------------------------------- QR


def _qr_dims(a: Dims, mode: str) -> tuple[Dims, Dims]:
    batch = batch_dims(a)
    m, n = a.sizes[-2:]
    k = m if mode == "complete" else min(m, n)
    q = Dims((None,), (0,)) if mode == "r" else Dims((*a.names[:-1], None), (*batch.sizes, m, k))
    return q, Dims((*batch.names, None, a.names[-1]), (*batch.sizes, k, n))


def _qr_vjp(c: Call, to_q: Any, to_r: Any) -> tuple[Any, ...]:
    q, r = c.outs
    if c.params["mode"] == "r":
        raise AutogradError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    m, (k, n) = shape(q)[-2], shape(r)[-2:]
    if c.params["mode"] == "complete" and m > n:
        raise AutogradError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    to_beyond = None
    if n > k:  # the further columns of R are Qᴴ A
        beyond = columns(r, k, n)
        if to_r is not None:
            rest = columns(to_r, k, n)
            to_beyond = ops.matmul(q, rest)
            to_q = plus(to_q, ops.matmul(q, ops.matmul(beyond, adjoint(rest))))
            to_r = columns(to_r, 0, k)
        r = columns(r, 0, k)
    middle = None
    if to_r is not None:
        middle = ops.matmul(to_r, adjoint(r))
    if to_q is not None:
        middle = plus(middle, ops.neg(ops.matmul(adjoint(q), to_q)))
    middle = upper(middle)
    middle = with_diagonal(ops.add(middle, adjoint(middle)), real(diagonal(middle)))
    back = plus(to_q, ops.matmul(q, middle))
    back = triangular_system(adjoint(r), back, upper=False, left=False)
    if to_beyond is not None:
        back = ops.cat(back, to_beyond, dim=len(shape(back)) - 1)
    elif n > k:
        # No gradient came to the further columns.
        back = ops.cat(back, zeros(ops.matmul(q, ops.detach(beyond))), dim=len(shape(back)) - 1)
    return (back,)


QR: Op = matrix_op(
    "linalg_qr",
    "An orthonormal and an upper triangular factor.",
    "A = Q R",
    "vv",
    dims=_qr_dims,
    rule="rows of Q are called as those of A, columns of R as those of A",
    forward=lambda a, mode: lapack_factors.qr(a, mode),
    vjp=_qr_vjp,
    samples=lambda: [
        Sample((square(3),), {"mode": "reduced"}, names=(("M", "N"),)),
        Sample((grid(2, 4, 2),), {"mode": "reduced"}, names=(("B", "M", "N"),)),
        Sample((grid(2, 4),), {"mode": "complete"}),
        Sample((np.zeros((2, 3, 0)),), {"mode": "reduced"}),
    ],
    tolerance=1e-5,
)


@offered("linalg", out="exact")
def qr(A: Tensor, mode: str = "reduced") -> QRResult:
    """Orthonormal and upper triangular factor: A = Q R; `mode` is reduced, complete, or r (Q is empty).

    Shapes: A [..., M, N]; Q [..., M, K], R [..., K, N] with K = min(M, N), or M if complete.

    >>> import workbench as wb
    >>> wb.linalg.qr(wb.ones(3, 2)).Q.shape
    (3, 2)
    """
    check_matrix(A, "linalg.qr")
    check_floating(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return QRResult(*ops.linalg_qr(A, mode=mode))


@offered(name="qr", out="exact")
def old_qr(input: Tensor, some: bool = True) -> QRResult:
    """Orthonormal and upper triangular factor, reduced or (without `some`) complete; see `linalg.qr`.

    >>> import workbench as wb
    >>> wb.qr(wb.ones(3, 2), some=False).Q.shape
    (3, 3)
    """
    return qr(input, "reduced" if some else "complete")


# ----------------------------------------------------------------------------------- products of reflectors


class Reflectors(NamedTuple):
    """R with the reflectors of Q below it, and their factors."""

    a: Tensor
    tau: Tensor


GEQRF: Op = matrix_op(
    "geqrf",
    "R with the reflectors of Q below it, and their factors.",
    "A = H₁ … H_k R",
    "vv",
    dims=lambda a: (
        Dims((*a.names[:-2], None, a.names[-1]), a.sizes),
        Dims((*a.names[:-2], None), (*a.sizes[:-2], min(a.sizes[-2:]))),
    ),
    rule="columns keep their name",
    forward=lapack_factors.geqrf,
    vjp=Absent("PyTorch defines none; linalg.qr has one"),
    samples=lambda: [Sample((grid(2, 3, 2),), names=(("B", "M", "N"),))],
    batch=matrices,
)


@offered(out=True)
def geqrf(input: Tensor) -> Reflectors:
    """R with the reflectors of Q below it, and their factors, as `linalg.householder_product` takes them.

    >>> import workbench as wb
    >>> wb.geqrf(wb.ones(3, 2)).tau.shape
    (2,)
    """
    check_matrix(input, "torch.geqrf", "input")
    check_floating(input, "torch.geqrf")
    return Reflectors(*ops.geqrf(input))


def _check_reflectors(op: str, A: Any, tau: Any) -> None:
    check_matrix(A, op, "A")
    check_floating(A, op)
    own, factors = dims_of(A), dims_of(tau)
    if len(factors.sizes) != len(own.sizes) - 1 or factors.sizes[:-1] != own.sizes[:-2]:
        raise DimensionError(
            f"{op}: Expected tau to have one dimension less than the input, and the same batch dimensions.",
            operands=(own.operand("input"), factors.operand("tau")),
        )
    if factors.sizes[-1] > own.sizes[-1]:
        raise DimensionError(
            f"{op}: input.shape[-1] must be greater than or equal to tau.shape[-1]",
            operands=(own.operand("input", [len(own.sizes) - 1]), factors.operand("tau")),
        )


def _reflections(A: Any, tau: Any) -> tuple[Any, Any]:
    """Return V and T with H₁ … H_k = I - V T Vᴴ: T = (I + D S)⁻¹ D, where S is what is above VᴴV's diagonal."""
    k = shape(tau)[-1]
    A, tau = ops.rename(A, names=None), ops.rename(tau, names=None)
    V = columns(A, 0, k)
    size = shape(V)[-2]
    below = ops.where(new(np.tri(size, k, -1, dtype=bool)), V, 0.0)
    V = ops.add(below, identity(size, V, k))
    S = upper(ops.matmul(adjoint(V), V), 1)
    T = triangular_system(ops.mul(column(tau), S), embedded(tau), upper=True, unitriangular=True)
    return V, T


@offered(name="orgqr", out=True)
@offered("linalg", out=True)
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflectors: H₁ H₂ … H_k with H_i = I - τ_i v_i v_iᴴ.

    v_i is what stands below the diagonal in column i of A, under a one. Shapes: A [..., M, N], tau [..., K], K ≤ N ≤ M.

    >>> import workbench as wb
    >>> wb.linalg.householder_product(*wb.geqrf(wb.ones(3, 2))).shape
    (3, 2)
    """
    _check_reflectors("torch.linalg.householder_product", A, tau)
    own = dims_of(A)
    m, n = own.sizes[-2:]
    if m < n:
        raise DimensionError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]",
            operands=(own.operand("A", [len(own.sizes) - 2, len(own.sizes) - 1]),),
        )
    V, T = _reflections(A, tau)
    start = columns(adjoint(V), 0, n)
    out = ops.sub(identity(m, V, n), ops.matmul(V, ops.matmul(T, start)))
    return ops.rename(out, names=(*own.names[:-1], None)) if any(own.names[:-1]) else out


@offered(out="exact")
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Product of the whole Q that reflectors make with another matrix: Q C, or C Q; with `transpose` Qᴴ for Q.

    >>> import workbench as wb
    >>> reflectors, tau = wb.geqrf(wb.ones(3, 2))
    >>> wb.ormqr(reflectors, tau, wb.ones(3, 4)).shape
    (3, 4)
    """
    _check_reflectors("torch.ormqr", input, tau)
    check_matrix(other, "torch.ormqr", "other")
    own, factor = dims_of(other), dims_of(input)
    meets = -2 if left else -1
    if own.sizes[meets] != factor.sizes[-2]:
        raise DimensionError(
            f"torch.ormqr: other.shape[{meets}] must be equal to input.shape[-2]",
            operands=(factor.operand("input", [len(factor.sizes) - 2]), own.operand("other")),
        )
    V, T = _reflections(input, tau)
    if transpose:
        T = adjoint(T)
    C = ops.rename(other, names=None)
    if left:
        out = ops.sub(C, ops.matmul(V, ops.matmul(T, ops.matmul(adjoint(V), C))))
    else:
        out = ops.sub(C, ops.matmul(ops.matmul(ops.matmul(C, V), T), adjoint(V)))
    names = (*together("ormqr", batch_dims(factor), batch_dims(own)).names, *own.names[-2:])
    return ops.rename(out, names=names) if any(names) else out
