"""Cholesky factors, and what is solved with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.families import grid
from workbench.core.op import Op, Sample, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.linalg import lapack, lapack_factors
from workbench.ops.linalg.matrices import (
    adjoint,
    batch_dims,
    check_matrix,
    check_square,
    distinct,
    fixed,
    lower,
    matrix_op,
    shape,
    together,
)
from workbench.ops.offer import offered


class CholeskyWithInfo(NamedTuple):
    """A Cholesky factor, and 0 for each that exists."""

    L: Tensor
    info: Tensor


# ------------------------------------------------------------------------------------------------- Cholesky


def _cholesky_dims(a: Dims, upper: bool, check: bool) -> tuple[Dims, Dims]:
    names = (*a.names[:-2], None, a.names[-1]) if upper else (*a.names[:-1], None)
    return Dims(names, a.sizes), batch_dims(a)


def _cholesky(a: Any, upper: bool, check: bool) -> tuple[Any, Any]:
    out, info = lapack_factors.cholesky(a, upper)
    if check:
        lapack.refuse_first(
            info,
            lambda at, i: (
                f"linalg.cholesky: {at}The factorization could not be completed because the input is not "
                f"positive-definite (the leading minor of order {i} is not positive-definite)."
            ),
        )
    return out, info


def _cholesky_vjp(c: Call, g: Any, info: Any) -> tuple[Any, ...]:
    """Murray, Differentiation of the Cholesky decomposition: A̅ = L⁻ᴴ Φ(Lᴴ L̅) L⁻¹, its triangle mirrored."""
    if g is None:
        return (None,)
    factor = c.outs[0]
    if c.params["upper"]:
        factor, g = adjoint(factor), adjoint(g)
    # The lower triangle with half of its diagonal: mirrored, the diagonal would count twice.
    middle = lower(ops.matmul(adjoint(factor), g))
    middle = ops.add(middle, adjoint(lower(middle, -1)))
    middle = ops.mul(middle, 0.5)
    left = ops.linalg_solve_triangular(adjoint(factor), middle, upper=True, unitriangular=False)
    both = ops.linalg_solve_triangular(adjoint(factor), adjoint(left), upper=True, unitriangular=False)
    return (adjoint(both),)


CHOLESKY: Op = matrix_op(
    "linalg_cholesky",
    "Triangular square roots of Hermitian positive-definite matrices, of which one triangle is read.",
    "A = L Lᴴ",
    "vi",
    dims=_cholesky_dims,
    rule="the rows of L are called as those of A (the columns of U as those of A), the other dim has no name",
    forward=_cholesky,
    vjp=_cholesky_vjp,
    # The gradient is that of a matrix which stays Hermitian; one entry cannot be moved alone but in a 1 x 1 matrix.
    samples=lambda: [
        Sample((grid(1, 1, low=1),), {"upper": False, "check": True}, names=(("N", None),)),
        Sample((grid(3, 1, 1, low=1),), {"upper": True, "check": True}, names=(("B", None, "N"),)),
        Sample((np.zeros((2, 0, 0)),), {"upper": False, "check": False}),
    ],
)


@offered("linalg", out="exact")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """Triangular square root of Hermitian positive-definite matrices: A = L Lᴴ, or with `upper` A = Uᴴ U.

    One triangle of A is read. Raises `LinAlgError` where A is not positive-definite.

    >>> import workbench as wb
    >>> wb.linalg.cholesky(wb.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_square(A, "linalg.cholesky")
    return ops.linalg_cholesky(A, upper=upper, check=True)[0]


@offered("linalg", out="exact")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyWithInfo:
    """Cholesky factors, and for each the order of the leading minor that is not positive-definite, or 0.

    >>> import workbench as wb
    >>> int(wb.linalg.cholesky_ex(-wb.eye(2)).info)
    1
    """
    check_square(A, "linalg.cholesky")
    factor, info = ops.linalg_cholesky(A, upper=upper, check=check_errors)
    return CholeskyWithInfo(factor, fixed(info))


@offered(name="cholesky", out=True)
def cholesky_method(input: Tensor, upper: bool = False) -> Tensor:
    """Triangular square root of Hermitian positive-definite matrices; see `linalg.cholesky`.

    >>> import workbench as wb
    >>> wb.cholesky(wb.tensor([[4.0]]))
    tensor([[2.]])
    """
    check_square(input, "cholesky")
    return ops.linalg_cholesky(input, upper=upper, check=True)[0]


def _cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    back = factor.conj().swapaxes(-1, -2)
    first, second = (back, factor) if upper else (factor, back)
    half = lapack.triangular(first, b, upper=False, unitriangular=False)
    return lapack.triangular(second, half, upper=True, unitriangular=False)


def _cholesky_solve_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    b, factor = c.inputs
    above = c.params["upper"]
    back = ops.linalg_cholesky_solve(g, factor, upper=above)
    to_factor = None
    if c.needs[1]:
        both = ops.matmul(back, adjoint(c.out))
        both = ops.add(both, adjoint(both))
        to_factor = ops.neg(ops.matmul(factor, both) if above else ops.matmul(both, factor))
        to_factor = ops.sum_to(to_factor, sizes=shape(factor))
    return (ops.sum_to(back, sizes=shape(b)) if c.needs[0] else None), to_factor


CHOLESKY_SOLVE: Op = matrix_op(
    "linalg_cholesky_solve",
    "Solutions of Hermitian systems whose matrix is given by its Cholesky factor.",
    "L Lᴴ X = B",
    dims=lambda b, factor, upper: Dims(
        distinct(together("cholesky_solve", batch_dims(factor), batch_dims(b)).names, *b.names[-2:]),
        (*together("cholesky_solve", batch_dims(factor), batch_dims(b)).sizes, *b.sizes[-2:]),
    ),
    rule="batch dims unify, the matrix dims are called as B's",
    forward=_cholesky_solve,
    vjp=_cholesky_solve_vjp,
    # The gradient is not restricted to the triangle that is read, which shows in matrices larger than 1 x 1.
    samples=lambda: [
        Sample((grid(1, 2), grid(1, 1, low=1)), {"upper": False}, names=(("N", "K"), ("N", None))),
        Sample((grid(3, 1, 2), grid(1, 1, low=1)), {"upper": True}, names=(("B", "N", "K"), None)),
    ],
)


@offered(out=True)
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """Solution X of A X = B given the Cholesky factor of A: A = L Lᴴ, or with `upper` A = Uᴴ U.

    >>> import workbench as wb
    >>> wb.cholesky_solve(wb.tensor([[8.0]]), wb.tensor([[2.0]]))
    tensor([[2.]])
    """
    check_square(L, "cholesky_solve")
    check_matrix(input, "cholesky_solve", "b")
    own, other = dims_of(L), dims_of(input)
    if own.sizes[-1] != other.sizes[-2]:
        raise DimensionError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {own.sizes[-1]} by {own.sizes[-1]} but "
            f"each b matrix is {other.sizes[-2]} by {other.sizes[-1]}",
            operands=(other.operand("b", [len(other.sizes) - 2]), own.operand("A")),
        )
    return ops.linalg_cholesky_solve(input, L, upper=upper)


def _cholesky_inverse(factor: Any, upper: bool) -> Any:
    return _cholesky_solve(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


def _cholesky_inverse_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    factor = c.inputs[0]
    both = ops.matmul(c.out, ops.matmul(ops.add(g, adjoint(g)), c.out))
    return (ops.neg(ops.matmul(factor, both) if c.params["upper"] else ops.matmul(both, factor)),)


CHOLESKY_INVERSE: Op = matrix_op(
    "linalg_cholesky_inverse",
    "Inverses of Hermitian matrices given by their Cholesky factors.",
    "Y = (L Lᴴ)⁻¹",
    dims=lambda factor, upper: Dims(
        (*factor.names[:-2], factor.names[-1] if upper else factor.names[-2], None), factor.sizes
    ),
    rule="rows are called as those of the matrix that was factored, columns have no name",
    forward=_cholesky_inverse,
    vjp=_cholesky_inverse_vjp,
    samples=lambda: [
        Sample((grid(1, 1, low=1),), {"upper": False}, names=(("N", None),)),
        Sample((grid(3, 1, 1, low=1),), {"upper": True}, names=(("B", None, "N"),)),
    ],
)


@offered(out=True)
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """Inverse of A given its Cholesky factor: A = L Lᴴ, or with `upper` A = Uᴴ U.

    >>> import workbench as wb
    >>> wb.cholesky_inverse(wb.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    check_square(L, "cholesky_inverse")
    return ops.linalg_cholesky_inverse(L, upper=upper)
