"""Singular values and vectors, with gradients that refuse what depends on the vectors' phase."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.core.families import grid
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.ops.elementwise.complex import is_complex_value
from workbench.ops.linalg import lapack_spectra
from workbench.ops.linalg.eigen import check_phase, differences, skew
from workbench.ops.linalg.matrices import (
    adjoint,
    batch_dims,
    check_floating,
    check_matrix,
    column,
    columns,
    diagonal,
    embedded,
    matrix_op,
    plus,
    row,
    rows,
    shape,
)
from workbench.ops.offer import offered


class SVDResult(NamedTuple):
    """A = U diag(S) Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class OldSVDResult(NamedTuple):
    """A = U diag(S) Vᴴ."""

    U: Tensor
    S: Tensor
    V: Tensor


SINGULAR_PHASE = (
    "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
    "The specified loss function depends on this phase term, making it ill-defined."
)


def _svd_dims(a: Dims, full_matrices: bool) -> tuple[Dims, Dims, Dims]:
    batch = batch_dims(a)
    m, n = a.sizes[-2:]
    k = min(m, n)
    return (
        Dims((*a.names[:-1], None), (*batch.sizes, m, m if full_matrices else k)),
        Dims((*batch.names, None), (*batch.sizes, k)),
        Dims((*batch.names, None, a.names[-1]), (*batch.sizes, n if full_matrices else k, n)),
    )


def _svd_vjp(c: Call, to_u: Any, to_s: Any, to_vh: Any) -> tuple[Any, ...]:
    u, s, vh = c.outs
    m, n, k = shape(u)[-2], shape(vh)[-1], shape(s)[-1]
    u, vh = columns(u, 0, k), rows(vh, 0, k)
    # Only the values count: their gradient needs no differences of squares, which are 0 where two are equal.
    if to_u is None and to_vh is None:
        return (None if to_s is None else ops.matmul(ops.mul(u, row(to_s)), vh),)
    # Of the full bases only the part that belongs to singular values is determined.
    to_u = None if to_u is None else columns(to_u, 0, k)
    to_vh = None if to_vh is None else rows(to_vh, 0, k)
    left = None if to_u is None else skew(ops.matmul(adjoint(u), to_u))
    right = None if to_vh is None else skew(ops.matmul(vh, adjoint(to_vh)))
    turned = plus(left, right)
    if is_complex_value(u):
        check_phase(SINGULAR_PHASE, turned)
    squares = differences(ops.mul(s, s))
    middle = plus(
        None if left is None else ops.mul(left, row(s)), None if right is None else ops.mul(column(s), right)
    )
    middle = ops.div(middle, squares)
    on_diagonal = to_s
    # Complex singular vectors share a phase, left and right, which counts on the diagonal.
    if is_complex_value(u) and left is not None and right is not None:
        on_diagonal = plus(on_diagonal, ops.div(diagonal(left), ops.mul(s, 2.0)))
    if on_diagonal is not None:
        middle = ops.add(middle, embedded(on_diagonal))
    back = ops.matmul(u, middle)
    # What is at right angles to the columns of U; the middle lies in their span.
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
    properties=frozenset({"unsettled"}),
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


@offered("linalg", out="exact")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> SVDResult:
    """Singular value decomposition: A = U diag(S) Vh, singular values descending.

    Shapes: A [..., M, N]; U [..., M, M], S [..., K], Vh [..., N, N] with K = min(M, N); without `full_matrices`
    U [..., M, K], Vh [..., K, N]. The gradient is infinite where singular values are repeated.

    >>> import workbench as wb
    >>> wb.linalg.svd(wb.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    check_matrix(A, "linalg.svd")
    check_floating(A, "linalg.svd")
    _check_driver("torch.linalg.svd", driver)
    return SVDResult(*ops.linalg_svd(A, full_matrices=bool(full_matrices)))


@offered("linalg", out="exact")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values, descending.

    >>> import workbench as wb
    >>> wb.linalg.svdvals(wb.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    check_matrix(A, "linalg.svdvals")
    check_floating(A, "linalg.svdvals")
    _check_driver("torch.linalg.svdvals", driver)
    return ops.linalg_svdvals(A)


@offered(name="svd", out="exact")
def old_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> OldSVDResult:
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
        zero = ops.to(ops.sum(nothing, dim=(0,), keepdim=False), dtype=input.payload.dtype)
        return OldSVDResult(
            ops.expand(zero, sizes=(*batch, m, m)), values, ops.expand(zero, sizes=(*batch, n, n))
        )
    u, s, vh = ops.linalg_svd(input, full_matrices=not some)
    return OldSVDResult(u, s, adjoint(vh))
