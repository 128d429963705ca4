"""Eigenvalues, singular values and the orthogonal factors that go with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import AutogradError
from workbench.core.families import grid
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.ops import lapack_spectra
from workbench.ops.linalg_solve import square
from workbench.ops.matrices import (
    adjoint,
    batch_dims,
    check_floating,
    check_matrix,
    check_square,
    column,
    columns,
    conj,
    diagonal,
    embedded,
    is_complex,
    matrix_op,
    plus,
    row,
    rows,
    shape,
    with_diagonal,
)


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """A = U diag(S) Vh."""

    U: Any
    S: Any
    Vh: Any


class OldSVDResult(NamedTuple):
    """A = U diag(S) Vᴴ."""

    U: Any
    S: Any
    V: Any


def _check_phase(words: str, turned: Any) -> None:
    """Refuse a loss that depends on the phase of vectors which have none of their own.

    Only where there are numbers: a trace has none to look at.
    """
    array = turned._array
    if type(array) is np.ndarray and array.dtype.kind == "c":
        imaginary = np.abs(np.diagonal(array, axis1=-2, axis2=-1).imag)
        if imaginary.size and not (imaginary <= 1e-2).all():
            raise AutogradError(words)


EIGENVECTOR_PHASE = (
    "{}_backward: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. "
    "The specified loss function depends on this quantity, so it is ill-defined."
)
SINGULAR_PHASE = (
    "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
    "The specified loss function depends on this phase term, making it ill-defined."
)


def _differences(values: Any) -> Any:
    """Return E with E_ij = λ_j - λ_i, and ones on the diagonal."""
    return with_diagonal(ops.sub(row(values), column(values)), 1.0)


def _vector_dims(a: Dims) -> Dims:
    """Eigenvectors as columns: rows are called as those of A, columns have no name."""
    return Dims((*a.names[:-1], None), a.sizes)


def _value_dims(a: Dims) -> Dims:
    return Dims((*a.names[:-2], None), a.sizes[:-1])


# ------------------------------------------------------------------------------------ Hermitian eigenvalues


def _eigh_vjp(c: Call, to_values: Any, to_vectors: Any) -> tuple[Any, ...]:
    values, vectors = c.outs
    back = adjoint(vectors)
    if to_vectors is None:
        return (ops.matmul(ops.mul(vectors, row(to_values)), back),)
    middle = ops.matmul(back, to_vectors)
    _check_phase(EIGENVECTOR_PHASE.format("linalg_eigh"), middle)
    # Eigenvectors stay orthonormal: only what turns them counts.
    middle = ops.div(ops.mul(_skew(middle), 0.5), _differences(values))
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
    dims=lambda a, uplo: (_value_dims(a), _vector_dims(a)),
    rule="rows of the eigenvectors are called as those of A, the dim of the eigenvalues has no name",
    forward=lambda a, uplo: lapack_spectra.eigh(a, uplo),
    vjp=_eigh_vjp,
    samples=_hermitian_samples,
)

EIGVALSH: Op = matrix_op(
    "linalg_eigvalsh",
    "Eigenvalues of Hermitian matrices, ascending, of which one triangle is read.",
    "A = Q diag(λ) Qᴴ",
    "r",
    dims=lambda a, uplo: _value_dims(a),
    rule="batch names stay, the dim of the eigenvalues has no name",
    forward=lambda a, uplo: lapack_spectra.eigh(a, uplo, vectors=False)[0],
    vjp=lambda c, g: _eigh_of(c.inputs[0], c.params["uplo"], g),
    saves=Saves(None, output=False),
    samples=_hermitian_samples,
)


def _eigh_of(a: Any, uplo: str, g: Any) -> tuple[Any, ...]:
    vectors = ops.linalg_eigh(a, uplo=uplo)[1]
    return (ops.matmul(ops.mul(vectors, row(g)), adjoint(vectors)),)


def _check_uplo(UPLO: str) -> str:
    letter = str(UPLO).upper()
    if letter not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return letter


def eigh(A: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues (real, ascending) and eigenvectors (columns) of Hermitian matrices: A = Q diag(λ) Qᴴ.

    Only the triangle `UPLO` (L or U) is read. The gradient assumes that A is Hermitian, and is infinite where
    eigenvalues are repeated.

    >>> import workbench as wb
    >>> wb.linalg.eigh(wb.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1.0000, 2.0000])
    """
    check_square(A, "linalg.eigh")
    return EighResult(*ops.linalg_eigh(A, uplo=_check_uplo(UPLO)))


def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices, real and ascending; see `linalg.eigh`.

    >>> import workbench as wb
    >>> wb.linalg.eigvalsh(wb.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1.0000, 2.0000])
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
    _check_phase(EIGENVECTOR_PHASE.format("linalg_eig"), middle)
    # Eigenvectors are of length one: what would make them longer does not count.
    stretch = ops.mul(vectors, row(ops.real(diagonal(middle))))
    middle = ops.sub(middle, ops.matmul(back, stretch))
    middle = ops.div(middle, conj(_differences(values)))
    middle = with_diagonal(middle, 0.0 if to_values is None else to_values)
    return (ops.linalg_solve(back, ops.matmul(middle, back), check=False)[0],)


EIG: Op = matrix_op(
    "linalg_eig",
    "Eigenvalues and eigenvectors of general matrices, complex.",
    "A = V diag(λ) V⁻¹",
    "cc",
    dims=lambda a: (_value_dims(a), _vector_dims(a)),
    rule="rows of the eigenvectors are called as those of A, the dim of the eigenvalues has no name",
    forward=lambda a: lapack_spectra.eig(a),
    vjp=_eig_vjp,
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
    dims=_value_dims,
    rule="batch names stay, the dim of the eigenvalues has no name",
    forward=lambda a: lapack_spectra.eig(a, vectors=False)[0],
    vjp=Absent("the gradient needs the eigenvectors in the order of these values, which linalg.eig gives"),
    samples=lambda: [Sample((np.zeros((2, 0, 0)),)), Sample((grid(2, 3, 3),), names=(("B", "N", None),))],
)


def eig(A: Any) -> EigResult:
    """Eigenvalues and eigenvectors (columns of length one) of square matrices, complex: A = V diag(λ) V⁻¹.

    The order is arbitrary, and so is the phase of each eigenvector: a gradient through either is refused.

    >>> import workbench as wb
    >>> wb.linalg.eig(wb.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.abs()
    tensor([1.0000, 1.0000])
    """
    check_square(A, "linalg.eig")
    return EigResult(*ops.linalg_eig(A))


def eigvals(A: Any) -> Any:
    """Eigenvalues of square matrices, complex, in arbitrary order.

    >>> import workbench as wb
    >>> wb.linalg.eigvals(wb.eye(2)).real
    tensor([1.0000, 1.0000])
    """
    check_square(A, "linalg.eigvals")
    if type(A._array) is np.ndarray and not A._requires_grad:
        return ops.linalg_eigvals(A)
    return ops.linalg_eig(A)[0]  # a gradient needs the vectors, in the order of these values


# ---------------------------------------------------------------------------------- singular values


def _svd_dims(a: Dims, full_matrices: bool) -> tuple[Dims, Dims, Dims]:
    batch = batch_dims(a)
    m, n = a.sizes[-2:]
    k = min(m, n)
    return (
        Dims((*a.names[:-1], None), (*batch.sizes, m, m if full_matrices else k)),
        Dims((*batch.names, None), (*batch.sizes, k)),
        Dims((*batch.names, None, a.names[-1]), (*batch.sizes, n if full_matrices else k, n)),
    )


def _skew(x: Any) -> Any:
    return ops.sub(x, adjoint(x))


def _svd_vjp(c: Call, to_u: Any, to_s: Any, to_vh: Any) -> tuple[Any, ...]:
    u, s, vh = c.outs
    m, n, k = shape(u)[-2], shape(vh)[-1], shape(s)[-1]
    u, vh = columns(u, 0, k), rows(vh, 0, k)
    if to_u is None and to_vh is None:
        return (None if to_s is None else ops.matmul(ops.mul(u, row(to_s)), vh),)
    # Of the full bases only the part that belongs to singular values is determined.
    to_u = None if to_u is None else columns(to_u, 0, k)
    to_vh = None if to_vh is None else rows(to_vh, 0, k)
    left = None if to_u is None else _skew(ops.matmul(adjoint(u), to_u))
    right = None if to_vh is None else _skew(ops.matmul(vh, adjoint(to_vh)))
    turned = plus(left, right)
    if is_complex(u):
        _check_phase(SINGULAR_PHASE, turned)
    squares = _differences(ops.mul(s, s))
    middle = plus(
        None if left is None else ops.mul(left, row(s)), None if right is None else ops.mul(column(s), right)
    )
    middle = ops.div(middle, squares)
    on_diagonal = to_s
    if is_complex(u) and left is not None and right is not None:
        on_diagonal = plus(on_diagonal, ops.div(diagonal(left), ops.mul(s, 2.0)))
    if on_diagonal is not None:
        middle = ops.add(middle, embedded(on_diagonal))
    back = ops.matmul(u, middle)
    if to_u is not None and m > k:
        scaled = ops.div(to_u, row(s))
        back = ops.add(back, ops.sub(scaled, ops.matmul(u, ops.matmul(adjoint(u), scaled))))
    back = ops.matmul(back, vh)
    if to_vh is not None and n > k:
        scaled = ops.div(to_vh, column(s))
        beyond = ops.sub(scaled, ops.matmul(ops.matmul(scaled, adjoint(vh)), vh))
        back = ops.add(back, ops.matmul(u, beyond))
    return (back,)


SVD: Op = matrix_op(
    "linalg_svd",
    "Singular values, descending, and singular vectors.",
    "A = U diag(S) Vh",
    "vrv",
    dims=_svd_dims,
    rule="rows of U are called as those of A, columns of Vh as those of A, singular values have no name",
    forward=lambda a, full_matrices: lapack_spectra.svd(a, full_matrices),
    vjp=_svd_vjp,
    samples=lambda: [
        Sample((grid(3, 3),), {"full_matrices": False}, names=(("M", "N"),)),
        Sample((grid(2, 4, 2),), {"full_matrices": False}, names=(("B", "M", "N"),)),
        Sample((grid(2, 3),), {"full_matrices": False}),
        Sample((np.zeros((2, 0, 3)),), {"full_matrices": True}),
    ],
    tolerance=1e-5,
)

SVDVALS: Op = matrix_op(
    "linalg_svdvals",
    "Singular values, descending.",
    "A = U diag(S) Vh",
    "r",
    dims=lambda a: Dims((*a.names[:-2], None), (*a.sizes[:-2], min(a.sizes[-2:]))),
    rule="batch names stay, the dim of the singular values has no name",
    forward=lapack_spectra.svdvals,
    vjp=lambda c, g: _svd_of(c.inputs[0], g),
    saves=Saves(None, output=False),
    samples=lambda: [
        Sample((grid(3, 3),), names=(("M", "N"),)),
        Sample((grid(2, 4, 2),), names=(("B", "M", "N"),)),
    ],
)


def _svd_of(a: Any, g: Any) -> tuple[Any, ...]:
    u, _, vh = ops.linalg_svd(a, full_matrices=False)
    return (ops.matmul(ops.mul(u, row(g)), vh),)


def _check_driver(op: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            f"{op}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> SVDResult:
    """Singular value decomposition: A = U diag(S) Vh, singular values descending.

    Shapes: A [..., M, N]; U [..., M, M], S [..., K], Vh [..., N, N] with K = min(M, N); without `full_matrices`
    U [..., M, K], Vh [..., K, N]. The gradient is infinite where singular values are repeated.

    >>> import workbench as wb
    >>> wb.linalg.svd(wb.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4.0000, 3.0000])
    """
    check_matrix(A, "linalg.svd")
    check_floating(A, "linalg.svd")
    _check_driver("torch.linalg.svd", driver)
    return SVDResult(*ops.linalg_svd(A, full_matrices=bool(full_matrices)))


def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """Singular values, descending.

    >>> import workbench as wb
    >>> wb.linalg.svdvals(wb.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4.0000, 3.0000])
    """
    check_matrix(A, "linalg.svdvals")
    check_floating(A, "linalg.svdvals")
    _check_driver("torch.linalg.svdvals", driver)
    return ops.linalg_svdvals(A)


def old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> OldSVDResult:
    """Singular value decomposition A = U diag(S) Vᴴ with V itself; see `linalg.svd`.

    Without `compute_uv` U and V are zeros of the full sizes.

    >>> import workbench as wb
    >>> wb.svd(wb.ones(2, 3)).V.shape
    (3, 2)
    """
    check_matrix(input, "linalg.svd")
    check_floating(input, "linalg.svd")
    if not compute_uv:
        *batch, m, n = shape(input)
        values = ops.linalg_svdvals(input)
        nothing = ops.detach(
            ops.mul(ops.reshape(ops.index(values, key=(Ellipsis, slice(0, 0))), sizes=(-1,)), 0.0)
        )
        zero = ops.to(ops.sum(nothing, dim=(0,), keepdim=False), dtype=input._array.dtype)
        return OldSVDResult(
            ops.expand(zero, sizes=(*batch, m, m)), values, ops.expand(zero, sizes=(*batch, n, n))
        )
    u, s, vh = ops.linalg_svd(input, full_matrices=not some)
    return OldSVDResult(u, s, adjoint(vh))


FUNCTIONS: dict[str, Any] = {"svd": old_svd}

OUT = ("eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals")

LINALG: dict[str, Any] = {
    "eig": eig,
    "eigh": eigh,
    "eigvals": eigvals,
    "eigvalsh": eigvalsh,
    "svd": svd,
    "svdvals": svdvals,
}
