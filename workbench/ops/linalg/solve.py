"""Systems of linear equations: solving, inverting, triangular systems, and tensors taken as matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims, dim_index
from workbench.base.errors import DimensionError
from workbench.core.families import grid
from workbench.core.op import Op, Sample, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.contract.products import named
from workbench.ops.linalg import lapack
from workbench.ops.linalg.matrices import (
    adjoint,
    batch_dims,
    check_floating,
    check_matrix,
    check_square,
    column,
    distinct,
    fixed,
    lower,
    matrix_op,
    shape,
    swap,
    together,
    upper,
)
from workbench.ops.offer import offered


class InverseWithInfo(NamedTuple):
    """Inverses, and 0 for each that exists."""

    inverse: Tensor
    info: Tensor


class SolutionWithInfo(NamedTuple):
    """Solutions, and 0 for each that exists."""

    result: Tensor
    info: Tensor


class TriangularSolution(NamedTuple):
    """What `triangular_solve` returns."""

    solution: Tensor
    cloned_coefficient: Tensor


def square(n: int, *batch: int, seed: int = 0) -> Any:
    """Return well conditioned matrices for the tests."""
    return grid(*batch, n, n, seed=seed) + 3.0 * np.eye(n)


def _solved_dims(a: Dims, b: Dims, **params: Any) -> Dims:
    """Rows of the solution are called as the columns of A, columns as those of B."""
    batch = together("linalg.solve", batch_dims(a), batch_dims(b))
    names = distinct(batch.names, a.names[-1], b.names[-1])
    return Dims(names, (*batch.sizes, a.sizes[-1], b.sizes[-1]))


def _fit(gradient: Any, value: Any) -> Any:
    return ops.sum_to(gradient, sizes=shape(value)) if shape(gradient) != shape(value) else gradient


# -------------------------------------------------------------------------------------------------- inverse


def _inverse_dims(a: Dims, check: bool = True) -> tuple[Dims, Dims]:
    # A maps columns to rows, its inverse back.
    inverse = Dims((*a.names[:-2], a.names[-1], a.names[-2]), a.sizes)
    return inverse, batch_dims(a)


def _inverse(a: Any, check: bool) -> tuple[Any, Any]:
    out, info = lapack.invert(a)
    if check:
        lapack.refuse_first(
            info,
            lambda at, i: (
                f"linalg.inv: {at}The diagonal element {i} is zero, the inversion could not be completed "
                "because the input matrix is singular."
            ),
        )
    return out, info


def _inverse_vjp(c: Call, g: Any, info: Any) -> tuple[Any, ...]:
    if g is None:
        return (None,)
    back = adjoint(c.outs[0])
    return (ops.neg(ops.matmul(back, ops.matmul(g, back))),)


INVERSE: Op = matrix_op(
    "linalg_inv",
    "Inverses of square matrices; with `check`, one that has none is refused.",
    "Y = A⁻¹",
    "vi",
    dims=_inverse_dims,
    rule="the names of the two matrix dims change places",
    forward=_inverse,
    vjp=_inverse_vjp,
    samples=lambda: [
        Sample((square(3),), {"check": True}, names=(("out", "in"),)),
        Sample((square(2, 3),), {"check": True}, names=(("N", None, None),)),
        Sample((np.zeros((2, 0, 0)),), {"check": False}),
    ],
)


@offered(name="inverse", out="exact")
@offered("linalg")
def inv(A: Tensor) -> Tensor:
    """Inverses of square matrices: Y = A⁻¹. Raises `LinAlgError` for a singular one.

    Shapes: A [..., M, N] with M = N; the result is [..., N, M].

    >>> import workbench as wb
    >>> wb.linalg.inv(wb.tensor([[2.0, 1.0], [0.0, 4.0]], names=("out", "in")))
    tensor([[ 0.5000, -0.1250],
            [-0.0000,  0.2500]], names=('in', 'out'))
    """
    check_square(A, "linalg.inv")
    return ops.linalg_inv(A, check=True)[0]


@offered("linalg")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> InverseWithInfo:
    """Inverses of square matrices, and for each the position of the pivot that is zero, or 0.

    >>> import workbench as wb
    >>> int(wb.linalg.inv_ex(wb.eye(2)).info)
    0
    """
    check_square(A, "linalg.inv")
    inverse, info = ops.linalg_inv(A, check=check_errors)
    return InverseWithInfo(inverse, fixed(info))


# ---------------------------------------------------------------------------------------------------- solve


def _solve(a: Any, b: Any, check: bool) -> tuple[Any, Any]:
    out, info = lapack.solve(a, b)
    if check:
        lapack.refuse_first(
            info,
            lambda at, i: f"torch.linalg.solve: {at}The solver failed because the input matrix is singular.",
        )
    return out, info


def _solve_vjp(c: Call, g: Any, info: Any) -> tuple[Any, ...]:
    if g is None:
        return None, None
    a, b = c.inputs
    # Not checked again: a singular matrix was refused, or is allowed to give infinities here as in the result.
    back = ops.linalg_solve(adjoint(a), g, check=False)[0]
    to_a = ops.neg(ops.matmul(back, adjoint(c.outs[0]))) if c.needs[0] else None
    return (None if to_a is None else _fit(to_a, a)), (_fit(back, b) if c.needs[1] else None)


SOLVE: Op = matrix_op(
    "linalg_solve",
    "Solutions of square systems; with `check`, a singular one is refused.",
    "A X = B",
    "vi",
    dims=lambda a, b, check: (
        _solved_dims(a, b),
        together("linalg.solve", batch_dims(a), batch_dims(b)),
    ),
    rule="batch dims unify; rows are called as A's columns, columns as B's",
    forward=_solve,
    vjp=_solve_vjp,
    samples=lambda: [
        Sample((square(3), grid(3, 2)), {"check": True}, names=(("M", "N"), ("M", "K"))),
        Sample((square(2, 3), grid(2, 1)), {"check": True}, names=(("B", "M", "N"), (None, None))),
        Sample((square(2), grid(3, 2, 2)), {"check": False}),
    ],
)


def _is_vector(a: Any, b: Any) -> bool:
    """Say whether B is a batch of vectors: it has one dim, or the sizes of A less the last."""
    rank_a, rank_b = len(shape(a)), len(shape(b))
    # NumPy's rule of old, which PyTorch keeps: B of one dim less is a batch of vectors where its sizes allow it.
    return rank_b == 1 or (rank_a - 1 == rank_b and shape(b) == shape(a)[:-1])


def _check_system(op: str, a: Any, b: Any, left: bool) -> None:
    own, other = dims_of(a), dims_of(b)
    meets = -2 if left else -1
    if own.sizes[-2 if left else -1] != other.sizes[meets]:
        raise DimensionError(
            f"{op}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({own.sizes[-2]}x{own.sizes[-1]} and {other.sizes[-2]}x{other.sizes[-1]})",
            operands=(own.operand("A", [len(own.sizes) - 2]), other.operand("B", [len(other.sizes) + meets])),
        )


def _solved(A: Any, B: Any, left: bool, check: bool) -> tuple[Tensor, Tensor]:
    check_square(A, "linalg.solve")
    check_floating(B, "linalg.solve")
    if not shape(B):
        raise DimensionError("linalg.solve: The input tensor B must have at least 1 dimension.")
    vector = _is_vector(A, B)
    if vector and not left:
        raise DimensionError(
            "linalg.solve: Vector broadcasting of the right hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    matrix = column(B) if vector else B
    _check_system("linalg.solve", A, matrix, left)
    if not left:
        # X A = B is Aᵀ Xᵀ = Bᵀ; without conjugates, as nothing is taken to be Hermitian.
        out, info = ops.linalg_solve(swap(A), swap(matrix), check=check)
        return swap(out), info
    out, info = ops.linalg_solve(A, matrix, check=check)
    return (ops.squeeze(out, dim=(len(shape(out)) - 1,)) if vector else out), info


@offered("linalg")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Solutions of square systems: A X = B, or with ``left=False`` X A = B. Raises `LinAlgError` for a singular A.

    Shapes: A [..., M, N] with M = N, B [..., M, K] or [..., M]; X is [..., N, K] or [..., N].

    >>> import workbench as wb
    >>> wb.linalg.solve(wb.tensor([[2.0, 0.0], [0.0, 4.0]]), wb.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    return _solved(A, B, left, check=True)[0]


@offered("linalg")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> SolutionWithInfo:
    """Solutions of square systems, and for each the position of the pivot that is zero, or 0.

    >>> import workbench as wb
    >>> int(wb.linalg.solve_ex(wb.eye(2), wb.ones(2)).info)
    0
    """
    result, info = _solved(A, B, left, check_errors)
    return SolutionWithInfo(result, fixed(info))


# ------------------------------------------------------------------------------------------------ triangular


def _triangular_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    a, b = c.inputs
    above, unit = c.params["upper"], c.params["unitriangular"]
    back = ops.linalg_solve_triangular(adjoint(a), g, upper=not above, unitriangular=unit)
    to_a = None
    if c.needs[0]:
        full = ops.neg(ops.matmul(back, adjoint(c.out)))
        # What is not read has no gradient: the other triangle, and a diagonal that is taken for ones.
        offset = 1 if unit else 0
        to_a = _fit(upper(full, offset) if above else lower(full, -offset), a)
    return to_a, (_fit(back, b) if c.needs[1] else None)


TRIANGULAR: Op = matrix_op(
    "linalg_solve_triangular",
    "Solutions of triangular systems; the other triangle is not read, nor the diagonal if it is taken for ones.",
    "A X = B, A triangular",
    dims=_solved_dims,
    rule="batch dims unify; rows are called as A's columns, columns as B's",
    forward=lambda a, b, upper, unitriangular: lapack.triangular(a, b, upper, unitriangular),
    vjp=_triangular_vjp,
    cost=lambda dims, out, **params: float(out.numel * dims[0].sizes[-1]),
    samples=lambda: [
        Sample(
            (square(3), grid(3, 2)), {"upper": True, "unitriangular": False}, names=(("M", "N"), ("M", "K"))
        ),
        Sample((square(2, 3), grid(2, 2)), {"upper": False, "unitriangular": False}),
        Sample((square(3), grid(2, 3, 1)), {"upper": False, "unitriangular": True}),
    ],
)


def triangular_system(
    a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Solve A X = B, or X A = B, where A is triangular, without any check."""
    if not left:
        return swap(
            # Transposed, an upper triangle is a lower one.
            ops.linalg_solve_triangular(swap(a), swap(b), upper=not upper, unitriangular=unitriangular)
        )
    return ops.linalg_solve_triangular(a, b, upper=upper, unitriangular=unitriangular)


@offered("linalg")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Solutions of triangular systems: A X = B, or with ``left=False`` X A = B.

    Only one triangle of A is read; with `unitriangular` its diagonal is taken for ones. Zeros on it give infinities.
    Shapes: A [..., M, N] with M = N, B [..., M, K]; X is [..., N, K].

    >>> import workbench as wb
    >>> A = wb.tensor([[1.0, 1.0], [0.0, 2.0]])
    >>> wb.linalg.solve_triangular(A, wb.tensor([[3.0], [4.0]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    check_square(A, "linalg.solve_triangular")
    check_matrix(B, "linalg.solve_triangular", "B")
    check_floating(B, "linalg.solve_triangular")
    _check_system("linalg.solve_triangular", A, B, left)
    return triangular_system(A, B, upper=upper, left=left, unitriangular=unitriangular)


@offered(out="exact")
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolution:
    """Solutions of A X = B with A triangular (or its transpose), and A again; see `linalg.solve_triangular`.

    >>> import workbench as wb
    >>> wb.triangular_solve(wb.tensor([[3.0]]), wb.tensor([[2.0]])).solution
    tensor([[1.5000]])
    """
    check_square(A, "triangular_solve")
    check_matrix(input, "triangular_solve", "b")
    check_floating(input, "triangular_solve")
    matrix = swap(A) if transpose else A
    _check_system("triangular_solve", matrix, input, left=True)
    out = triangular_system(matrix, input, upper=upper != transpose, unitriangular=unitriangular)
    # PyTorch returns a copy of the coefficients, too.
    return TriangularSolution(out, ops.clone(A))


# -------------------------------------------------------------------------------------- tensors as matrices


@offered("linalg")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """Inverse of a tensor for `tensordot`: its first `ind` dims taken as rows, the others as columns.

    >>> import workbench as wb
    >>> wb.linalg.tensorinv(wb.eye(6).reshape(2, 3, 6), ind=2).shape
    (6, 2, 3)
    """
    dims = dims_of(A)
    if ind <= 0:
        raise DimensionError(
            f"Expected a strictly positive integer for 'ind', but got {ind}", op="linalg.tensorinv"
        )
    head, tail = dims.sizes[:ind], dims.sizes[ind:]
    rows, columns = math.prod(head), math.prod(tail)
    if rows != columns:
        raise DimensionError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}",
            op="linalg.tensorinv",
            operands=(dims.operand("A"),),
        )
    # Several dims become one here, which would keep the name of neither.
    found = inv(ops.reshape(ops.rename(A, names=None), sizes=(rows, columns)))
    return named(ops.reshape(found, sizes=tail + head), dims.names[ind:] + dims.names[:ind])


@offered("linalg")
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int | str] | None = None) -> Tensor:
    """Solution X of ``tensordot(A, X, X.ndim) = B``: the first dims of A are those of B, the others those of X.

    `dims` of A are moved to its end first.

    >>> import workbench as wb
    >>> wb.linalg.tensorsolve(wb.eye(6).reshape(2, 3, 6), wb.ones(2, 3)).shape
    (6,)
    """
    own = dims_of(A)
    if dims is not None:
        moved = tuple(dim_index(own, dim, "linalg.tensorsolve") for dim in dims)
        # To the end, in the order given, as `numpy.linalg.tensorsolve` does.
        rest = tuple(i for i in range(len(own.sizes)) if i not in moved)
        A = ops.permute(A, dim=rest + moved)
        own = dims_of(A)
    other = dims_of(B)
    tail = own.sizes[len(other.sizes) :]
    rows, columns = math.prod(own.sizes[: len(other.sizes)]), math.prod(tail)
    if rows != columns:
        raise DimensionError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {columns} != {rows}",
            op="linalg.tensorsolve",
            operands=(own.operand("A"), other.operand("B")),
        )
    matrix = ops.reshape(ops.rename(A, names=None), sizes=(rows, columns))
    found = solve(matrix, ops.reshape(ops.rename(B, names=None), sizes=(rows,)))
    return named(ops.reshape(found, sizes=tail), own.names[len(other.sizes) :])
