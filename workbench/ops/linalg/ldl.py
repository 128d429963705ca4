"""LDL factors of symmetric and Hermitian matrices, with exchanged rows, and what is solved with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core.families import grid
from workbench.core.index_types import check_index
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.linalg import lapack, lapack_factors
from workbench.ops.linalg.matrices import (
    batch_dims,
    check_matrix,
    check_square,
    distinct,
    matrix_op,
    shape,
    together,
)
from workbench.ops.linalg.solve import square
from workbench.ops.offer import offered


class LDLFactors(NamedTuple):
    """L and D in one matrix, and the pivots."""

    LD: Tensor
    pivots: Tensor


class LDLFactorsWithInfo(NamedTuple):
    """L and D in one matrix, the pivots, and 0 for each that was factored."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


def _ldl_dims(a: Dims, hermitian: bool, check: bool) -> tuple[Dims, Dims, Dims]:
    # LAPACK would go past the end of another matrix: here is the last place that every call comes by.
    if len(a.sizes) < 2 or a.sizes[-1] != a.sizes[-2]:
        raise DimensionError(
            f"linalg_ldl_factor: A must be batches of square matrices, got {list(a.sizes)}.",
            op="linalg_ldl_factor",
            operands=(a.operand("A"),),
        )
    return (
        # Rows and columns are exchanged together: neither keeps its name.
        Dims((*a.names[:-2], None, None), a.sizes),
        Dims((*a.names[:-2], None), a.sizes[:-1]),
        batch_dims(a),
    )


def _ldl(a: Any, hermitian: bool, check: bool) -> tuple[Any, Any, Any]:
    factors, pivots, info = lapack_factors.ldl_factor(a, hermitian)
    if check:
        lapack.refuse_first(
            info,
            lambda at, i: (
                f"torch.linalg.ldl_factor: {at}The diagonal element {i} of D is zero: nothing can be solved "
                "with these factors."
            ),
        )
    return factors, pivots, info


LDL_FACTOR: Op = matrix_op(
    "linalg_ldl_factor",
    "Factors of symmetric or Hermitian matrices in one matrix, D block diagonal, of which the lower triangle is read.",
    "A = L D Lᵀ",
    "vii",
    dims=_ldl_dims,
    rule="batch names stay, the matrix dims have none",
    forward=_ldl,
    vjp=Absent("the blocks of D change their sizes from one matrix to the next"),
    samples=lambda: [
        Sample((square(3),), {"hermitian": False, "check": True}, names=(("N", None),)),
        Sample((grid(2, 3, 3),), {"hermitian": True, "check": False}, names=(("B", "N", None),)),
    ],
    bad=lambda: [
        BadInput(
            (grid(6, 3),), {"hermitian": False, "check": True}, DimensionError, "batches of square matrices"
        )
    ],
)


def _solved_dims(factors: Dims, pivots: Dims, b: Dims, hermitian: bool) -> Dims:
    n = factors.sizes[-1:]
    fits = factors.sizes[-2:-1] == n and pivots.sizes[-1:] == n and b.sizes[-2:-1] == n
    if not n or not fits:
        raise DimensionError(
            f"linalg.ldl_solve: LD, pivots and B are [..., n, n], [..., n] and [..., n, k], got {list(factors.sizes)}, "
            f"{list(pivots.sizes)} and {list(b.sizes)}.",
            op="linalg_ldl_solve",
            operands=(factors.operand("LD"), pivots.operand("pivots"), b.operand("B")),
        )
    batch = together("linalg.ldl_solve", batch_dims(factors), batch_dims(b))
    return Dims(distinct(batch.names, *b.names[-2:]), (*batch.sizes, *b.sizes[-2:]))


LDL_SOLVE: Op = matrix_op(
    "linalg_ldl_solve",
    "Solutions of symmetric or Hermitian systems whose matrix is factored.",
    "L D Lᵀ X = B",
    dims=_solved_dims,
    rule="batch dims unify, the matrix dims are called as B's",
    dtype=DTypeRule("as the first input", None, lambda dtype, params: dtype),
    forward=lambda factors, pivots, b, hermitian: lapack_factors.ldl_solve(factors, pivots, b, hermitian),
    vjp=Absent("the factors have no gradient; use linalg.solve where one is wanted"),
    samples=lambda: [
        Sample(
            (np.eye(2, dtype=np.float32), np.array([1, 2], np.int32), grid(2, 3).astype(np.float32)),
            {"hermitian": False},
            names=(None, None, ("N", "K")),
        )
    ],
    bad=lambda: [
        BadInput(
            (np.eye(2), np.array([1, 2, 3], np.int32), grid(2, 3)),
            {"hermitian": False},
            DimensionError,
            "got [2, 2], [3] and [2, 3]",
        ),
        BadInput(
            (np.eye(2), np.array([1, 3000000], np.int32), grid(2, 3)),
            {"hermitian": False},
            DimensionIndexError,
            "but one is 3000000",
        ),
        BadInput(
            (np.eye(3), np.array([1, 2, -3], np.int32), grid(3, 1)),
            {"hermitian": True},
            DimensionIndexError,
            "in pairs",
        ),
    ],
)


@offered("linalg", out="exact")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> LDLFactors:
    """Factors of a symmetric (or Hermitian) matrix, A = L D Lᵀ, and pivots; the lower triangle is read.

    >>> import workbench as wb
    >>> wb.linalg.ldl_factor(wb.tensor([[0.0, 1.0], [1.0, 0.0]])).pivots
    tensor([-2, -2], dtype=workbench.int32)
    """
    check_square(A, "torch.linalg.ldl_factor")
    factors, pivots, _ = ops.linalg_ldl_factor(A, hermitian=hermitian, check=True)
    return LDLFactors(factors, pivots)


@offered("linalg", out="exact")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> LDLFactorsWithInfo:
    """Factors and pivots as of `linalg.ldl_factor`, and the position of the first zero on D's diagonal, or 0.

    >>> import workbench as wb
    >>> int(wb.linalg.ldl_factor_ex(wb.zeros(2, 2)).info)
    1
    """
    check_square(A, "torch.linalg.ldl_factor_ex")
    return LDLFactorsWithInfo(*ops.linalg_ldl_factor(A, hermitian=hermitian, check=check_errors))


@offered("linalg", out="exact")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """Solution X of A X = B given what `linalg.ldl_factor` made of A.

    >>> import workbench as wb
    >>> wb.linalg.ldl_solve(*wb.linalg.ldl_factor(wb.eye(2)), wb.ones(2, 1)).shape
    (2, 1)
    """
    check_square(LD, "torch.linalg.ldl_solve", "LD")
    check_matrix(B, "torch.linalg.ldl_solve", "B")
    if shape(LD)[-1] != shape(B)[-2]:
        own, other = dims_of(LD), dims_of(B)
        raise DimensionError(
            "torch.linalg.ldl_solve: Incompatible shapes of LD and B "
            f"({own.sizes[-2]}x{own.sizes[-1]} and {other.sizes[-2]}x{other.sizes[-1]})",
            operands=(own.operand("LD"), other.operand("B", [len(other.sizes) - 2])),
        )
    check_index("torch.linalg.ldl_solve", pivots, "uint8/int8/int16/int32/int64", "pivots")
    return ops.linalg_ldl_solve(LD, pivots, B, hermitian=hermitian)
