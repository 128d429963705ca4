"""Norms of vectors and matrices, and the condition number that comes from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.dims import dim_index, dim_indices
from workbench.base.dtypes import as_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import ops
from workbench.core.typing import Dim, DimsLike, DTypeLike, Order, Tensor
from workbench.core.value import dims_of
from workbench.ops.linalg.matrices import check_floating, check_matrix, check_square, column, shape
from workbench.ops.offer import offered


def _as(input: Any, dtype: Any, op: str) -> Any:
    """Return the input in the type that was asked for, which may not be narrower in kind."""
    if dtype is None:
        return input
    wanted = as_dtype(dtype)
    if wanted.kind not in "fcV":
        raise DTypeError(f"{op}: dtype should be floating point or complex. Got {wanted.name}")
    if input.payload.dtype.kind == "c" and wanted.kind != "c":
        raise DTypeError(f"{op}: dtype should be complex for complex inputs. Got {wanted.name}")
    return ops.to(input, dtype=wanted.numpy)


@offered("linalg", out="exact")
def vector_norm(
    x: Tensor,
    ord: int | float = 2,
    dim: DimsLike | None = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Norm of vectors: (Σ |x|ᵖ)^{1/p}; for p = ±∞ the largest or smallest |x|, for 0 how many are not zero.

    Without `dim` the values of all dims are one vector. Where the norm is 0 its gradient is 0.

    >>> import workbench as wb
    >>> wb.linalg.vector_norm(wb.tensor([[3.0, 4.0], [0.0, 2.0]], names=("N", "C")), dim="C")
    tensor([5., 2.], names=('N',))
    """
    check_floating(x, "linalg.vector_norm", half=True)
    x = _as(x, dtype, "linalg.vector_norm")
    dims = dims_of(x)
    axes = dim_indices(dims, dim, "linalg.vector_norm")
    order = float(ord)
    # A largest or smallest of nothing; sums of nothing are 0.
    if (order < 0 or order == math.inf) and not all(dims.sizes[i] for i in axes):
        which = "the inf norm" if abs(order) == math.inf else f"the {ord} norm"
        raise DimensionError(
            f"linalg.vector_norm cannot compute {which} on an empty tensor because the operation does not have an "
            "identity",
            operands=(dims.operand("x", [i for i in axes if not dims.sizes[i]]),),
        )
    return ops.vector_norm(x, dim=axes, keepdim=keepdim, p=order)


def _matrix_axes(input: Any, dim: Any, op: str) -> tuple[int, int]:
    dims = dims_of(input)
    given = (dim,) if isinstance(dim, int | str) else tuple(dim)
    if len(given) != 2:
        raise DimensionError(f"{op}: dim must be a 2-tuple. Got {' '.join(str(one) for one in given)}")
    first, second = (dim_index(dims, one, op) for one in given)
    if first == second:
        raise DimensionError(
            f"{op}: dims must be different. Got ({given[0]}, {given[1]})",
            operands=(dims.operand("A", [first]),),
        )
    return first, second


def _check_order(order: Order | None) -> float | str:
    if isinstance(order, str):
        if order not in ("fro", "nuc"):
            raise RuntimeError(f"linalg.matrix_norm: Order {order} not supported.")
        return order
    if order is None or abs(float(order)) not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {order} not supported.")
    return float(order)


@offered("linalg", out="exact")
def matrix_norm(
    A: Tensor,
    ord: Order | None = "fro",
    dim: Sequence[Dim] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Norm of matrices: fro √(Σ|a|²), nuc Σ σ, ±2 largest or smallest σ, ±1 column sums, ±∞ row sums of |a|.

    `dim` says which two dims are rows and columns.

    >>> import workbench as wb
    >>> wb.linalg.matrix_norm(wb.tensor([[1.0, -2.0], [3.0, 4.0]]), 1)
    tensor(6.)
    """
    op = "linalg.matrix_norm"
    check_matrix(A, op)
    check_floating(A, op, half=True)
    order = _check_order(ord)
    rows, columns = _matrix_axes(A, dim, op)
    A = _as(A, dtype, op)
    if order == "fro":
        return ops.vector_norm(A, dim=(rows, columns), keepdim=keepdim, p=2.0)
    if order in ("nuc", 2.0, -2.0):
        rest = tuple(i for i in range(len(shape(A))) if i not in (rows, columns))
        # The singular values are those of the transpose, too: which dim is which does not matter.
        values = ops.linalg_svdvals(ops.permute(A, dim=(*rest, rows, columns)))
        last = (len(rest),)
        if order == "nuc":
            result = ops.sum(values, dim=last, keepdim=False)
        else:
            result = _extreme(values, last[0], False, order > 0)  # type: ignore[operator]
        return _kept(result, A, (rows, columns)) if keepdim else result
    assert isinstance(order, float)
    # 1 is the largest column, ∞ the largest row.
    summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
    # Kept for now, so that `compared` still counts right.
    sums = ops.vector_norm(A, dim=(summed,), keepdim=True, p=1.0)
    result = _extreme(sums, compared, True, order > 0)
    return result if keepdim else ops.squeeze(result, dim=tuple(sorted((rows, columns))))


def _extreme(x: Any, axis: int, keepdim: bool, largest: bool) -> Any:
    """Return the largest or smallest values along a dim; where there are none the largest is 0."""
    dims = dims_of(x)
    if not dims.sizes[axis]:
        if not largest:
            raise DimensionError(
                "linalg.matrix_norm cannot compute the smallest value of an empty matrix",
                operands=(dims.operand("A"),),
            )
        # The largest of no norms is 0; as a sum it stays on the tape.
        return ops.sum(x, dim=(axis,), keepdim=keepdim)
    return (ops.amax if largest else ops.amin)(x, dim=(axis,), keepdim=keepdim)


def _kept(result: Any, A: Any, axes: tuple[int, int]) -> Any:
    """Return a result with the reduced dims as dims of size 1, under their names."""
    dims = dims_of(A)
    sizes = tuple(1 if i in axes else size for i, size in enumerate(dims.sizes))
    out = ops.reshape(ops.rename(result, names=None), sizes=sizes)
    return ops.rename(out, names=dims.names) if any(dims.names) else out


@offered("linalg")
def norm(
    A: Tensor,
    ord: Order | None = None,
    dim: DimsLike | None = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Norm of a vector or a matrix; see `linalg.vector_norm` and `linalg.matrix_norm` for the orders.

    One `dim` (or one-dimensional input) makes it a vector's, two a matrix's. Without `ord` and `dim`, or without
    `ord`, all values are one vector.

    >>> import workbench as wb
    >>> wb.linalg.norm(wb.tensor([3.0, 4.0]))
    tensor(5.)
    """
    check_floating(A, "linalg.norm", half=True)
    dims = dims_of(A)
    given: tuple[int | str, ...] | None
    given = None if dim is None else (dim,) if isinstance(dim, int | str) else tuple(dim)
    if given is not None and len(given) not in (1, 2):
        raise DimensionError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(given)}",
            operands=(dims.operand("A"),),
        )
    if given is None and ord is not None and len(dims.sizes) not in (1, 2):
        raise DimensionError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
            f"Got {len(dims.sizes)}D.",
            operands=(dims.operand("A"),),
        )
    # Of all values, whatever the number of dims, as in PyTorch.
    if ord is None:
        return vector_norm(A, 2, given, keepdim, dtype=dtype)
    if isinstance(ord, str) or (len(given) if given is not None else len(dims.sizes)) == 2:
        return matrix_norm(A, ord, (-2, -1) if given is None else given, keepdim, dtype=dtype)
    return vector_norm(A, ord, given, keepdim, dtype=dtype)


@offered("linalg", out=True)
def cond(A: Tensor, p: Order | None = None) -> Tensor:
    """Condition number: ‖A‖·‖A⁻¹‖ in the norm `p`; without one, or for ±2, the ratio of singular values.

    It is infinite for singular matrices.

    >>> import workbench as wb
    >>> wb.linalg.cond(wb.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    check_matrix(A, "linalg.cond")
    check_floating(A, "linalg.cond")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is not None and not isinstance(p, str) and abs(float(p)) not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is None or (not isinstance(p, str) and abs(float(p)) == 2):
        values = ops.linalg_svdvals(A)
        count = shape(values)[-1]
        if not count:
            return ops.sum(values, dim=(len(shape(values)) - 1,), keepdim=False)
        largest, smallest = (ops.index(values, key=(Ellipsis, i)) for i in (0, count - 1))
        return ops.div(smallest, largest) if p == -2 else ops.div(largest, smallest)
    check_square(A, f"linalg.cond(ord={p})")
    inverse, info = ops.linalg_inv(A, check=False)
    product = ops.mul(matrix_norm(A, p), matrix_norm(inverse, p))
    # LAPACK leaves a singular matrix half factored: what stands in `inverse` then means nothing.
    return ops.where(ops.ne(info, 0), math.inf, product)


@offered("linalg", out=True)
def matrix_rank(
    A: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """Number of singular values greater than max(atol, σ₁·rtol); rtol is max(M, N)·ε where neither is given.

    With `hermitian` A is taken for Hermitian, and the moduli of its eigenvalues count.

    >>> import workbench as wb
    >>> wb.linalg.matrix_rank(wb.ones(3, 3))
    tensor(1)
    """
    check_matrix(A, "torch.linalg.matrix_rank", "input")
    check_floating(A, "torch.linalg.matrix_rank")
    if tol is not None:
        atol, rtol = tol, 0.0
    # A rank is a whole number: it has no gradient.
    A = ops.detach(A)
    if hermitian:
        check_square(A, "torch.linalg.matrix_rank")
        values = ops.abs(ops.linalg_eigvalsh(A, uplo="L"))
    else:
        values = ops.linalg_svdvals(A)
    limit = tolerance(values, atol, rtol, shape(A)[-2:])
    counted = ops.gt(values, column(limit) if len(shape(limit)) else limit)
    return ops.sum(counted, dim=(len(shape(values)) - 1,), keepdim=False)


def tolerance(values: Any, atol: Any, rtol: Any, sizes: tuple[int, ...]) -> Any:
    """Return max(atol, largest value · rtol) of every row of values, with the defaults of PyTorch."""
    if rtol is None:
        nothing_given = atol is None
        # PyTorch's rule: who gives an atol above 0 has no rtol unless it is given as well.
        rtol = max(sizes) * float(np.finfo(values.payload.dtype).eps) if sizes else 0.0
        if not nothing_given:
            rtol = (
                ops.mul(ops.to(ops.le(atol, 0.0), dtype=values.payload.dtype), rtol)
                if _is_tensor(atol)
                else (0.0 if atol > 0 else rtol)
            )
    if not shape(values)[-1]:
        return ops.sum(values, dim=(len(shape(values)) - 1,), keepdim=False)
    largest = ops.amax(values, dim=(len(shape(values)) - 1,), keepdim=False)
    limit = ops.mul(largest, rtol)
    return limit if atol is None else ops.maximum(limit, atol)


def _is_tensor(x: Any) -> bool:
    return hasattr(x, "payload")
