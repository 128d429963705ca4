"""Eigenvalues and eigenvectors, Hermitian and general, with gradients that refuse what has no answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import AutogradError
from workbench.core.families import grid
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.ops.elementwise.complex import conjugate
from workbench.ops.linalg import lapack_spectra
from workbench.ops.linalg.matrices import (
    adjoint,
    check_square,
    column,
    diagonal,
    matrix_op,
    row,
    with_diagonal,
)
from workbench.ops.linalg.solve import square
from workbench.ops.offer import offered


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def check_phase(words: str, turned: Any) -> None:
    """Refuse a loss that depends on the phase of vectors which have none of their own.

    Only where there are numbers: a trace has none to look at.
    """
    array = turned.payload
    if type(array) is np.ndarray and array.dtype.kind == "c":
        imaginary = np.abs(np.diagonal(array, axis1=-2, axis2=-1).imag)
        if imaginary.size and not (imaginary <= 1e-2).all():
            raise AutogradError(words)


EIGENVECTOR_PHASE = (
    "{}_backward: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. "
    "The specified loss function depends on this quantity, so it is ill-defined."
)


def differences(values: Any) -> Any:
    """Return E with E_ij = λ_j - λ_i, and ones on the diagonal."""
    return with_diagonal(ops.sub(row(values), column(values)), 1.0)


def skew(x: Any) -> Any:
    return ops.sub(x, adjoint(x))


def vector_dims(a: Dims) -> Dims:
    """Eigenvectors as columns: rows are called as those of A, columns have no name."""
    return Dims((*a.names[:-1], None), a.sizes)


def value_dims(a: Dims) -> Dims:
    return Dims((*a.names[:-2], None), a.sizes[:-1])


# ------------------------------------------------------------------------------------ Hermitian eigenvalues


def _eigh_vjp(c: Call, to_values: Any, to_vectors: Any) -> tuple[Any, ...]:
    values, vectors = c.outs
    back = adjoint(vectors)
    if to_vectors is None:
        return (ops.matmul(ops.mul(vectors, row(to_values)), back),)
    middle = ops.matmul(back, to_vectors)
    check_phase(EIGENVECTOR_PHASE.format("linalg_eigh"), middle)
    # Eigenvectors stay orthonormal: only what turns them counts.
    middle = ops.div(ops.mul(skew(middle), 0.5), differences(values))
    # On the diagonal it was divided by ones: there belongs the gradient of the eigenvalues.
    middle = with_diagonal(middle, 0.0 if to_values is None else to_values)
    return (ops.matmul(vectors, ops.matmul(middle, back)),)


# The gradient is that of a matrix which stays Hermitian; one entry cannot be moved alone but in a 1 x 1 matrix.
def _hermitian_samples() -> list[Sample]:
    return [
        Sample((grid(1, 1),), {"uplo": "L"}, names=(("N", None),)),
        Sample((grid(3, 1, 1),), {"uplo": "U"}, names=(("B", "N", None),)),
        Sample((np.zeros((2, 0, 0)),), {"uplo": "L"}),
    ]


EIGH: Op = matrix_op(
    "linalg_eigh",
    "Eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which one triangle is read.",
    "A = Q diag(λ) Qᴴ",
    "rv",
    dims=lambda a, uplo: (value_dims(a), vector_dims(a)),
    rule="rows of the eigenvectors are called as those of A, the dim of the eigenvalues has no name",
    forward=lambda a, uplo: lapack_spectra.eigh(a, uplo),
    vjp=_eigh_vjp,
    properties=frozenset({"unsettled"}),
    samples=_hermitian_samples,
)

EIGVALSH: Op = matrix_op(
    "linalg_eigvalsh",
    "Eigenvalues of Hermitian matrices, ascending, of which one triangle is read.",
    "A = Q diag(λ) Qᴴ",
    "r",
    dims=lambda a, uplo: value_dims(a),
    rule="batch names stay, the dim of the eigenvalues has no name",
    forward=lambda a, uplo: lapack_spectra.eigh(a, uplo, vectors=False)[0],
    vjp=lambda c, g: _eigh_of(c.inputs[0], c.params["uplo"], g),
    saves=Saves(None, output=False),
    samples=_hermitian_samples,
)


def _eigh_of(a: Any, uplo: str, g: Any) -> tuple[Any, ...]:
    # Computed now, where a gradient is asked for: values alone cost less.
    vectors = ops.linalg_eigh(a, uplo=uplo)[1]
    return (ops.matmul(ops.mul(vectors, row(g)), adjoint(vectors)),)


def _check_uplo(UPLO: str) -> str:
    letter = str(UPLO).upper()
    if letter not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return letter


@offered("linalg", out="exact")
def eigh(A: Tensor, UPLO: str = "L") -> EighResult:
    """Eigenvalues (real, ascending) and eigenvectors (columns) of Hermitian matrices: A = Q diag(λ) Qᴴ.

    Only the triangle `UPLO` (L or U) is read. The gradient assumes that A is Hermitian, and is infinite where
    eigenvalues are repeated.

    >>> import workbench as wb
    >>> wb.linalg.eigh(wb.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    check_square(A, "linalg.eigh")
    return EighResult(*ops.linalg_eigh(A, uplo=_check_uplo(UPLO)))


@offered("linalg", out="exact")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices, real and ascending; see `linalg.eigh`.

    >>> import workbench as wb
    >>> wb.linalg.eigvalsh(wb.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    check_square(A, "linalg.eigvalsh")
    return ops.linalg_eigvalsh(A, uplo=_check_uplo(UPLO))


# -------------------------------------------------------------------------------------- general eigenvalues


def _eig_vjp(c: Call, to_values: Any, to_vectors: Any) -> tuple[Any, ...]:
    values, vectors = c.outs
    back = adjoint(vectors)
    if to_vectors is None:
        return (ops.linalg_solve(back, ops.mul(column(to_values), back), check=False)[0],)
    middle = ops.matmul(back, to_vectors)
    check_phase(EIGENVECTOR_PHASE.format("linalg_eig"), middle)
    # Eigenvectors are of length one: what would make them longer does not count.
    stretch = ops.mul(vectors, row(ops.real(diagonal(middle))))
    middle = ops.sub(middle, ops.matmul(back, stretch))
    middle = ops.div(middle, conjugate(differences(values)))
    middle = with_diagonal(middle, 0.0 if to_values is None else to_values)
    return (ops.linalg_solve(back, ops.matmul(middle, back), check=False)[0],)


EIG: Op = matrix_op(
    "linalg_eig",
    "Eigenvalues and eigenvectors of general matrices, complex.",
    "A = V diag(λ) V⁻¹",
    "cc",
    dims=lambda a: (value_dims(a), vector_dims(a)),
    rule="rows of the eigenvectors are called as those of A, the dim of the eigenvalues has no name",
    forward=lambda a: lapack_spectra.eig(a),
    vjp=_eig_vjp,
    properties=frozenset({"unsettled"}),
    samples=lambda: [
        Sample((square(3) + 0.3j * grid(3, 3),), names=(("N", None),)),
        Sample((np.zeros((2, 0, 0), complex),)),
    ],
)

EIGVALS: Op = matrix_op(
    "linalg_eigvals",
    "Eigenvalues of general matrices, complex, without their eigenvectors.",
    "A = V diag(λ) V⁻¹",
    "c",
    dims=value_dims,
    rule="batch names stay, the dim of the eigenvalues has no name",
    forward=lambda a: lapack_spectra.eig(a, vectors=False)[0],
    vjp=Absent("the gradient needs the eigenvectors in the order of these values, which linalg.eig gives"),
    properties=frozenset({"unsettled"}),
    samples=lambda: [Sample((np.zeros((2, 0, 0)),)), Sample((grid(2, 3, 3),), names=(("B", "N", None),))],
)


@offered("linalg", out=True)
def eig(A: Tensor) -> EigResult:
    """Eigenvalues and eigenvectors (columns of length one) of square matrices, complex: A = V diag(λ) V⁻¹.

    The order is arbitrary, and so is the phase of each eigenvector: a gradient through either is refused.

    >>> import workbench as wb
    >>> wb.linalg.eig(wb.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.abs()
    tensor([1., 1.])
    """
    check_square(A, "linalg.eig")
    return EigResult(*ops.linalg_eig(A))


@offered("linalg", out=True)
def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices, complex, in arbitrary order.

    >>> import workbench as wb
    >>> wb.linalg.eigvals(wb.eye(2)).real
    tensor([1., 1.])
    """
    check_square(A, "linalg.eigvals")
    if type(A.payload) is np.ndarray and not A._requires_grad:
        return ops.linalg_eigvals(A)
    return ops.linalg_eig(A)[0]  # a gradient needs the vectors, in the order of these values
