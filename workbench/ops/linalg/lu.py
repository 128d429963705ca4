"""LU factors: triangles with exchanged rows, and what is solved with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionIndexError, DTypeError
from workbench.core.batch_rules import all_whole
from workbench.core.families import NOT_DIFFERENTIABLE, grid
from workbench.core.op import DTypeRule, Op, Sample, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.linalg import lapack
from workbench.ops.linalg.matrices import (
    adjoint,
    batch_dims,
    check_floating,
    check_matrix,
    check_square,
    columns,
    distinct,
    fixed,
    lower,
    matrix_op,
    rows,
    shape,
    swap,
    together,
    upper,
    with_diagonal,
)
from workbench.ops.linalg.solve import square, triangular_system
from workbench.ops.offer import offered


class LUFactors(NamedTuple):
    """L and U in one matrix, and the pivots."""

    LU: Tensor
    pivots: Tensor


class LUFactorsWithInfo(NamedTuple):
    """L and U in one matrix, the pivots, and 0 for each U without a zero on its diagonal."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class PLU(NamedTuple):
    """The three factors of A = P L U."""

    P: Tensor
    L: Tensor
    U: Tensor


def _lu_dims(a: Dims, check: bool) -> tuple[Dims, Dims, Dims]:
    batch = batch_dims(a)
    count = min(a.sizes[-2:])
    return (
        Dims((*batch.names, None, a.names[-1]), a.sizes),
        Dims((*batch.names, None), (*batch.sizes, count)),
        batch,
    )


def _lu(a: Any, check: bool) -> tuple[Any, Any, Any]:
    factors, pivots, info = lapack.lu_factor(a)
    if check:
        lapack.refuse_first(
            info,
            lambda at, i: (
                f"torch.linalg.lu_factor: {at}U[{i},{i}] is zero and using it on lu_solve would result in a "
                "division by zero. If you still want to perform the factorization, consider calling "
                "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
            ),
        )
    return factors, pivots, info


def _lu_vjp(c: Call, g: Any, pivots: Any, info: Any) -> tuple[Any, ...]:
    if g is None:
        return (None,)
    factors, order = c.outs[0], c.outs[1]
    *_, m, n = shape(factors)
    k = min(m, n)
    P = ops.permutation_matrix(order, factors, rows=m)
    left, right = _left(columns(factors, 0, k)), upper(rows(columns(factors, 0, k), 0, k))
    square_left = rows(left, 0, k)
    # The ones on the diagonal of L are not stored: the diagonal of the gradient belongs to U.
    to_left, to_right = lower(columns(rows(g, 0, k), 0, k), -1), upper(columns(rows(g, 0, k), 0, k))
    rest = None
    if n > k:  # the further columns are L⁻¹ P⁻¹ A
        beyond = columns(factors, k, n)
        rest = triangular_system(adjoint(square_left), columns(g, k, n), upper=True, unitriangular=True)
        to_left = ops.sub(to_left, ops.matmul(rest, adjoint(beyond)))
    elif m > k:  # the further rows are P⁻¹ A U⁻¹
        beyond = rows(factors, k, m)
        rest = triangular_system(adjoint(right), rows(g, k, m), upper=False, left=False)
        to_right = ops.sub(to_right, ops.matmul(adjoint(beyond), rest))
    middle = ops.add(
        lower(ops.matmul(adjoint(square_left), to_left), -1), upper(ops.matmul(to_right, adjoint(right)))
    )
    # L⁻ᴴ (…) U⁻ᴴ by two triangular systems: no inverse is formed.
    middle = triangular_system(adjoint(square_left), middle, upper=True, unitriangular=True)
    middle = triangular_system(adjoint(right), middle, upper=False, left=False)
    if rest is not None:
        middle = ops.cat(middle, rest, dim=len(shape(middle)) - (1 if n > k else 2))
    return (ops.matmul(P, middle),)


def _left(x: Any) -> Any:
    """Return the unit lower triangle of matrices with at least as many rows as columns."""
    size = shape(x)[-1]
    square_part = with_diagonal(lower(rows(x, 0, size), -1), 1.0)
    if shape(x)[-2] == size:
        return square_part
    return ops.cat(square_part, rows(x, size, shape(x)[-2]), dim=len(shape(x)) - 2)


LU_FACTOR: Op = matrix_op(
    "linalg_lu_factor",
    "Lower and upper triangular factors in one matrix, the row exchanges, and where U has a zero on its diagonal.",
    "A = P L U",
    "vii",
    dims=_lu_dims,
    rule="the columns keep their name, exchanged rows have none",
    forward=_lu,
    vjp=_lu_vjp,
    samples=lambda: [
        Sample((square(3),), {"check": True}, names=(("M", "N"),)),
        Sample((grid(2, 3, 5),), {"check": True}, names=(("B", "M", "N"),)),
        Sample((grid(4, 2),), {"check": False}),
    ],
)


def _permutations(pivots: Any, like: Any, rows: int) -> Any:
    # They come from the user, and would exchange rows outside the matrix.
    wrong = pivots[(pivots < 1) | (pivots > rows)]
    if wrong.size:
        raise DimensionIndexError(
            f"Pivots given must all be between 1 and the number of rows, {rows}, but one is {int(wrong.flat[0])}. Are "
            "they the pivots that linalg.lu_factor returned?"
        )
    return lapack.permutation_matrices(pivots, rows, like.dtype)


PERMUTATION: Op = matrix_op(
    "permutation_matrix",
    "Matrices that exchange rows as pivots say: each is the row that row i is exchanged with, counted from 1.",
    "A = P L U",
    dims=lambda pivots, like, rows: Dims((*pivots.names[:-1], None, None), (*pivots.sizes[:-1], rows, rows)),
    rule="batch names stay, the matrix dims have none",
    dtype=DTypeRule("as the second input", None, lambda dtype, params: dtype, skip=1),
    forward=_permutations,
    vjp=NOT_DIFFERENTIABLE,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((np.array([3, 3, 3], np.int32), grid(3)), {"rows": 3}),
        Sample((np.array([[1, 2], [2, 2]], np.int32), grid(3)), {"rows": 4}, names=(("B", None), None)),
    ],
    batch=all_whole,
)


def _check_pivoting(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@offered("linalg", out="exact")
def lu_factor(A: Tensor, *, pivot: bool = True) -> LUFactors:
    """Triangular factors of A = P L U in one matrix, and the row exchanges, counted from 1.

    Raises `LinAlgError` where U has a zero on its diagonal, with which nothing can be solved.

    >>> import workbench as wb
    >>> wb.linalg.lu_factor(wb.tensor([[0.0, 1.0], [2.0, 0.0]])).pivots
    tensor([2, 2], dtype=workbench.int32)
    """
    _check_pivoting(pivot)
    check_matrix(A, "torch.linalg.lu_factor")
    check_floating(A, "torch.linalg.lu_factor")
    factors, pivots, _ = ops.linalg_lu_factor(A, check=True)
    return LUFactors(factors, fixed(pivots))


@offered("linalg", out="exact")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LUFactorsWithInfo:
    """Triangular factors in one matrix, the row exchanges, and the position of the first zero on U's diagonal, or 0.

    >>> import workbench as wb
    >>> int(wb.linalg.lu_factor_ex(wb.zeros(2, 2)).info)
    1
    """
    _check_pivoting(pivot)
    check_matrix(A, "torch.linalg.lu_factor_ex")
    check_floating(A, "torch.linalg.lu_factor_ex")
    factors, pivots, info = ops.linalg_lu_factor(A, check=check_errors)
    return LUFactorsWithInfo(factors, fixed(pivots), fixed(info))


@offered("linalg")
def lu(A: Tensor, *, pivot: bool = True) -> PLU:
    """The factors of A = P L U: a permutation, a unit lower and an upper triangular matrix.

    Shapes: A [..., M, N]; P [..., M, M], L [..., M, K], U [..., K, N] with K = min(M, N).

    >>> import workbench as wb
    >>> wb.linalg.lu(wb.tensor([[0.0, 1.0], [2.0, 0.0]])).U
    tensor([[2., 0.],
            [0., 1.]])
    """
    _check_pivoting(pivot)
    check_matrix(A, "linalg.lu")
    check_floating(A, "linalg.lu")
    # A singular matrix has these factors all the same: only solving needs a U without zeros.
    factors, pivots, _ = ops.linalg_lu_factor(A, check=False)
    P, left, right = lu_unpack(factors, fixed(pivots))
    names = dims_of(A).names
    if names[-2] is not None:
        P = ops.rename(P, names=(*names[:-1], None))
    return PLU(P, left, right)


@offered(name="lu")
def lu_of(input: Tensor, pivot: bool = True, get_infos: bool = False) -> LUFactors | LUFactorsWithInfo:
    """Triangular factors in one matrix, and the row exchanges; see `linalg.lu_factor`.

    >>> import workbench as wb
    >>> wb.lu(wb.eye(2)).pivots
    tensor([1, 2], dtype=workbench.int32)
    """
    return lu_factor_ex(input, pivot=pivot) if get_infos else lu_factor(input, pivot=pivot)


@offered("workbench", out="exact")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> PLU:
    """The factors of A = P L U from what `linalg.lu_factor` returned; what is not unpacked is empty.

    >>> import workbench as wb
    >>> wb.lu_unpack(*wb.linalg.lu_factor(wb.eye(2))).L
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_matrix(LU_data, "torch.lu_unpack", "LU_data")
    if LU_pivots.payload.dtype != np.int32:
        raise DTypeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    m, n = shape(LU_data)[-2:]
    k = min(m, n)
    # As PyTorch: what was not asked for is an empty tensor of the type of the factors.
    empty = ops.index(
        ops.reshape(ops.detach(ops.rename(LU_data, names=None)), sizes=(-1,)), key=(slice(0, 0),)
    )
    P = ops.permutation_matrix(LU_pivots, LU_data, rows=m) if unpack_pivots else empty
    if not unpack_data:
        return PLU(P, empty, empty)
    names = dims_of(LU_data).names
    left = _left(columns(LU_data, 0, k))
    right = upper(rows(LU_data, 0, k))
    if names[-1] is not None:
        left = ops.rename(left, names=(*names[:-1], None))
    return PLU(P, left, right)


@offered("linalg", out="exact")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Solution X of A X = B given what `linalg.lu_factor` made of A.

    With ``left=False`` of X A = B, with `adjoint` of Aᴴ X = B (X Aᴴ = B).

    >>> import workbench as wb
    >>> LU, pivots = wb.linalg.lu_factor(wb.tensor([[0.0, 1.0], [2.0, 0.0]]))
    >>> wb.linalg.lu_solve(LU, pivots, wb.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [1.]])
    """
    check_square(LU, "torch.linalg.lu_solve", "LU")
    check_matrix(B, "torch.linalg.lu_solve", "B")
    own, other = dims_of(LU), dims_of(B)
    meets = -2 if left else -1
    if own.sizes[-1] != other.sizes[meets]:
        raise DimensionError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({own.sizes[-2]}x{own.sizes[-1]} and {other.sizes[-2]}x{other.sizes[-1]})",
            operands=(own.operand("LU"), other.operand("B", [len(other.sizes) + meets])),
        )
    if pivots.payload.dtype != np.int32:
        raise DTypeError("torch.linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if dims_of(pivots).sizes != own.sizes[:-1]:
        raise DimensionError(
            f"linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but LU has "
            f"{list(own.sizes[:-1])} and pivots has shape {list(dims_of(pivots).sizes)}",
            operands=(own.operand("LU"), dims_of(pivots).operand("pivots")),
        )
    batch = together("linalg.lu_solve", batch_dims(own), batch_dims(other)).names
    row_name, column_name = (own.names[-1], other.names[-1]) if left else (other.names[-2], own.names[-1])
    # On the way dims meet that are called alike and are not: the names are put on at the end.
    out = _lu_solved(
        ops.rename(LU, names=None), ops.rename(pivots, names=None), ops.rename(B, names=None), left, adjoint
    )
    names = distinct(batch, row_name, column_name)
    return ops.rename(out, names=names) if any(names) else out


def _lu_solved(factors: Any, pivots: Any, b: Any, left: bool, adjointed: bool) -> Any:
    if not left:
        # X A = B is Aᴴ Xᴴ = Bᴴ.
        return adjoint(_lu_solved(factors, pivots, adjoint(b), True, not adjointed))
    P = ops.permutation_matrix(pivots, factors, rows=shape(factors)[-1])
    if adjointed:
        # Both triangles lie in `factors`; each call reads its own.
        half = triangular_system(adjoint(factors), b, upper=False)
        half = triangular_system(adjoint(factors), half, upper=True, unitriangular=True)
        return ops.matmul(P, half)
    half = triangular_system(factors, ops.matmul(swap(P), b), upper=False, unitriangular=True)
    return triangular_system(factors, half, upper=True)


@offered(name="lu_solve", out="exact")
def lu_solve_of(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solution X of A X = `input` given what `linalg.lu_factor` made of A; see `linalg.lu_solve`.

    >>> import workbench as wb
    >>> wb.lu_solve(wb.ones(2, 1), *wb.linalg.lu_factor(wb.eye(2))).shape
    (2, 1)
    """
    return lu_solve(LU_data, LU_pivots, input)
