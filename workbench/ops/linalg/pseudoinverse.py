"""Pseudoinverses and least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.batch_rules import all_whole
from workbench.core.families import grid
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import zeros
from workbench.ops.linalg import lapack_spectra
from workbench.ops.linalg.matrices import (
    adjoint,
    batch_dims,
    check_floating,
    check_matrix,
    check_square,
    column,
    distinct,
    matrix_op,
    real,
    shape,
    together,
)
from workbench.ops.linalg.solve import square
from workbench.ops.offer import offered


class LstsqResult(NamedTuple):
    """What `linalg.lstsq` returns; what a driver does not tell is empty."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


# -------------------------------------------------------------------------------------------- pseudoinverse


def _limits(values: Any, atol: Any, rtol: Any) -> Any:
    largest = np.max(values, axis=-1, initial=0)
    return np.maximum(np.real(atol), largest * np.real(rtol))[..., None].astype(values.dtype)


def _pinv(a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if not a.size:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:
        values, u = lapack_spectra.eigh(a, "L")
        sizes, v = np.abs(values), u
    else:
        u, values, vh = lapack_spectra.svd(a, False)
        sizes, v = values, np.conjugate(vh.swapaxes(-1, -2))
    kept = sizes > _limits(sizes, atol, rtol)
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(values.dtype)
    return np.matmul(v * inverse[..., None, :], np.conjugate(u.swapaxes(-1, -2)))


def _pinv_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    """Golub and Pereyra, The differentiation of pseudo-inverses, for matrices of constant rank."""
    a, y = c.inputs[0], c.out
    return _pinv_gradient(a, y, g), None, None


def _pinv_gradient(a: Any, y: Any, g: Any) -> Any:
    m, n = shape(a)[-2:]
    back, gradient = adjoint(y), adjoint(g)
    # Two forms of one sum: in each the matrices in the middle are the small ones.
    if m <= n:
        k = ops.matmul(gradient, y)
        kb = ops.matmul(k, back)
        parts = ops.sub(kb, adjoint(ops.matmul(y, k)))
        parts = ops.sub(parts, ops.matmul(ops.matmul(a, y), kb))
        return ops.add(parts, ops.matmul(ops.matmul(back, y), ops.sub(gradient, ops.matmul(k, a))))
    k = ops.matmul(y, gradient)
    bk = ops.matmul(back, k)
    parts = ops.sub(bk, adjoint(ops.matmul(k, y)))
    parts = ops.add(parts, ops.matmul(ops.matmul(ops.sub(gradient, ops.matmul(a, k)), y), back))
    return ops.sub(parts, ops.matmul(ops.matmul(bk, y), a))


PINV: Op = matrix_op(
    "linalg_pinv",
    "Pseudoinverses: singular values up to max(atol, σ₁·rtol) are taken for zeros.",
    "Y = V diag(1/σ) Uᴴ",
    dims=lambda a, atol, rtol, hermitian: Dims(
        (*a.names[:-2], a.names[-1], a.names[-2]), (*a.sizes[:-2], a.sizes[-1], a.sizes[-2])
    ),
    rule="the names of the two matrix dims change places",
    forward=_pinv,
    vjp=_pinv_vjp,
    samples=lambda: [
        Sample((square(3), 0.0, 1e-15), {"hermitian": False}, names=(("M", "N"), None, None)),
        Sample((grid(2, 4, 2), 0.0, 1e-15), {"hermitian": False}, names=(("B", "M", "N"), None, None)),
        Sample((grid(2, 3), 0.0, 1e-15), {"hermitian": False}),
        Sample((grid(1, 1, low=1), 0.0, 1e-15), {"hermitian": True}),
    ],
    tolerance=1e-5,
)


@offered("linalg", out=True)
def pinv(
    A: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """Pseudoinverse (Moore, Penrose) of matrices: singular values up to max(atol, σ₁·rtol) are taken for zeros.

    rtol (also called `rcond`) is max(M, N)·ε where neither is given. With `hermitian` the lower triangle is read.
    Shapes: A [..., M, N]; the result is [..., N, M].

    >>> import workbench as wb
    >>> wb.linalg.pinv(wb.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    dims = dims_of(A)
    if len(dims.sizes) < 2 or A.payload.dtype.kind not in "fc" or A.payload.dtype.itemsize == 2:
        raise DimensionError(
            f"linalg.pinv({A.dtype.name}{list(dims.sizes)}): expected a tensor with 2 or more dimensions of float, "
            f"double, cfloat or cdouble types: try {as_numbers('A', A.payload.dtype)}",
            operands=(dims.operand("A"),),
        )
    if hermitian:
        check_square(A, "linalg.pinv")
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        default = max(dims.sizes[-2:]) * float(np.finfo(A.payload.dtype).eps)
        if hasattr(atol, "payload"):
            rtol = ops.where(ops.gt(atol, 0.0), zeros(atol), default)
        else:
            rtol = 0.0 if atol else default
    return ops.linalg_pinv(A, 0.0 if atol is None else atol, rtol, hermitian=bool(hermitian))


@offered()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Pseudoinverse of matrices; see `linalg.pinv`.

    >>> import workbench as wb
    >>> wb.pinverse(wb.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return pinv(input, rcond=rcond)


# ------------------------------------------------------------------------------------------- least squares


def _lstsq_dims(a: Dims, b: Dims, rcond: float, driver: str) -> tuple[Dims, Dims, Dims]:
    batch = together("linalg.lstsq", batch_dims(a), batch_dims(b))
    solution = Dims(distinct(batch.names, a.names[-1], b.names[-1]), (*batch.sizes, a.sizes[-1], b.sizes[-1]))
    return solution, batch, Dims((*batch.names, None), (*batch.sizes, min(a.sizes[-2:])))


def _lstsq_vjp(c: Call, g: Any, rank: Any, values: Any) -> tuple[Any, ...]:
    if g is None:
        return None, None
    a, b = c.inputs
    inverse = ops.linalg_pinv(
        a, 0.0, float(max(shape(a)[-2:]) * np.finfo(a.payload.dtype).eps), hermitian=False
    )
    to_a = _pinv_gradient(a, inverse, ops.matmul(g, adjoint(b))) if c.needs[0] else None
    return to_a, (ops.matmul(adjoint(inverse), g) if c.needs[1] else None)


LSTSQ: Op = matrix_op(
    "linalg_lstsq",
    "Solutions of least squares problems, the rank of the matrix and its singular values as the driver finds them.",
    "X = argmin ‖A X - B‖",
    "vlr",
    reference="LAPACK 3, gels gelsy gelss gelsd",
    dims=_lstsq_dims,
    rule="batch dims unify; rows are called as A's columns, columns as B's",
    forward=lapack_spectra.lstsq,
    vjp=_lstsq_vjp,
    saves=Saves(None, output=False),
    samples=lambda: [
        Sample((grid(4, 2), grid(4, 3)), {"rcond": 1e-15, "driver": "gelsy"}, names=(("M", "N"), ("M", "K"))),
        Sample((grid(2, 2, 3), grid(2, 2, 1)), {"rcond": 1e-15, "driver": "gels"}),
        Sample((square(3), grid(3, 2)), {"rcond": 1e-15, "driver": "gelsy"}),
    ],
    tolerance=1e-5,
    batch=all_whole,
)


@offered("linalg")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LstsqResult:
    """Least squares solution X = argmin ‖A X - B‖, the one of least norm where there are many.

    `driver` is gels (A has full rank), gelsy, gelss or gelsd. Residuals Σ|A X - B|² are given where M > N, A has full
    rank and the driver is not gelsy, ranks by all but gels, singular values by gelss and gelsd.
    Shapes: A [..., M, N], B [..., M, K] or [..., M]; X is [..., N, K] or [..., N].

    >>> import workbench as wb
    >>> wb.linalg.lstsq(wb.tensor([[1.0], [1.0]]), wb.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
    op = "torch.linalg.lstsq"
    check_matrix(A, op, "input")
    check_floating(A, op)
    own, other = dims_of(A), dims_of(B)
    if A.payload.dtype != B.payload.dtype:
        raise DTypeError(
            f"{op}: Expected input and other to have the same dtype, but got input's dtype {A.dtype.name} and other's "
            f"dtype {B.dtype.name}"
        )
    if driver is not None and driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{op}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    driver = driver or "gelsy"
    vector = len(own.sizes) - 1 == len(other.sizes) and other.sizes == own.sizes[:-1]
    matrix = column(B) if vector else B
    if len(shape(matrix)) < 2 or shape(matrix)[-2] != own.sizes[-2]:
        raise DimensionError(
            f"{op}: input.size(-2) should match other.size(-{1 if vector else 2})",
            operands=(own.operand("input", [len(own.sizes) - 2]), other.operand("other")),
        )
    if shape(matrix)[:-2] != own.sizes[:-2]:
        sizes = together(op, batch_dims(own), batch_dims(dims_of(matrix))).sizes
        A = ops.expand(A, sizes=(*sizes, *own.sizes[-2:]))
        matrix = ops.expand(matrix, sizes=(*sizes, *shape(matrix)[-2:]))
    m, n = own.sizes[-2:]
    limit = max(m, n) * float(np.finfo(A.payload.dtype).eps) if rcond is None else rcond
    solution, rank, values = ops.linalg_lstsq(A, matrix, rcond=limit, driver=driver)
    residuals = _residuals(A, matrix, solution, rank, driver)
    flat = ops.reshape(real(ops.rename(solution, names=None)), sizes=(-1,))
    empty = ops.index(flat, key=(slice(0, 0),))
    if vector:
        solution = ops.squeeze(solution, dim=(len(shape(solution)) - 1,))
    return LstsqResult(
        solution,
        empty if residuals is None else residuals,
        ops.to(ops.detach(empty), dtype=np.dtype(np.int64)) if driver == "gels" else ops.detach(rank),
        ops.detach(values) if driver in ("gelss", "gelsd") else ops.detach(empty),
    )


def _residuals(A: Any, B: Any, solution: Any, rank: Any, driver: str) -> Any:
    """Return Σ|A X - B|² over the rows, or None where they are not given."""
    m, n = shape(A)[-2:]
    if m <= n or driver == "gelsy":
        return None
    ranks = rank.payload
    if type(ranks) is np.ndarray and not (ranks == n).all():
        return None
    rest = ops.sub(
        ops.matmul(ops.rename(A, names=None), ops.rename(solution, names=None)), ops.rename(B, names=None)
    )
    squares = real(ops.mul(rest, ops.conj(rest)))
    return ops.sum(squares, dim=(len(shape(squares)) - 2,), keepdim=False)
