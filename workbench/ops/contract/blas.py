"""Products that are scaled and added to something: the vocabulary of BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import DimensionError, DTypeError
from workbench.core.op import ops
from workbench.core.typing import Scalar, Tensor
from workbench.core.value import dims_of, new
from workbench.ops.contract.products import (
    check_batches,
    check_rank,
    check_same_dtype,
    mv,
    outer,
    summed_over,
)
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.linalg.matrices import shape
from workbench.ops.offer import offered

_ALWAYS = np.asarray(True)


def _scaled(x: Tensor, factor: Scalar) -> Tensor:
    """Return x times a factor, of which integers take the whole part, as PyTorch's products do."""
    if x.payload.dtype.kind in "biu" and isinstance(factor, float):
        # Of a float only the whole part counts for integers, as in PyTorch.
        factor = int(factor)
    return x if type(factor) is not bool and factor == 1 else ops.mul(x, factor)


def _check_factors(op: str, value: Any, alpha: Scalar, beta: Scalar) -> None:
    kind = value.payload.dtype.kind
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if kind in "biu" and (isinstance(factor, complex) or (op == "addr" and isinstance(factor, float))):
            raise DTypeError(
                f"{op}: For integral input tensors, argument {name} must not be a floating point number, "
                f"it is {factor}"
            )
        if kind != "c" and isinstance(factor, complex):
            raise DTypeError(
                f"{op}: For non-complex input tensors, argument {name} must not be a complex number."
            )


def _added(op: str, input: Tensor, product: Tensor, alpha: Scalar, beta: Scalar) -> Tensor:
    """Return β·input + α·product, of the size of the product; with β = 0 the numbers of `input` are not looked at."""
    _check_factors(op, product, alpha, beta)
    sizes = shape(product)
    own = dims_of(input)
    extra = len(sizes) - len(own.sizes)
    for position, size in enumerate(own.sizes):
        if extra < 0 or size not in (1, sizes[position + extra]):
            raise DimensionError(
                f"The expanded size of the tensor ({sizes[position + extra] if extra >= 0 else 'none'}) must match the "
                f"existing size ({size}) at non-singleton dimension {max(position + extra, position)}.  Target sizes: "
                f"{list(sizes)}.  Tensor sizes: {list(own.sizes)}",
                op=op,
                operands=(own.operand("input", [position]), dims_of(product).operand("product")),
            )
    product = _scaled(product, alpha)
    # Not times 0: NaN in the input does not count then. Its gradient is zeros, as in PyTorch, and not none.
    if beta == 0:
        return ops.where(new(_ALWAYS), product, input) if input._requires_grad else product
    return ops.add(_scaled(input, beta), product)


@offered(out="exact", in_place="Tensor")
@rounded_once
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """Add a matrix product: y = β·input + α·(a @ b). Names of `input` unify with those of the product.

    >>> import workbench as wb
    >>> wb.addmm(wb.zeros(K=4), wb.ones(N=2, C=3), wb.ones(C=3, K=4)).names
    ('N', 'K')
    """
    check_rank("addmm", 2, "mat1 must be a matrix", mat1=mat1)
    check_rank("addmm", 2, "mat2 must be a matrix", mat2=mat2)
    check_same_dtype("expected m1 and m2 to have the same dtype, but got", mat1, mat2)
    return _added("addmm", input, ops.matmul(mat1, mat2), alpha, beta)


@offered(out="exact", in_place=True)
@rounded_once
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """Add the product of a matrix and a vector: y = β·input + α·(A @ x).

    >>> import workbench as wb
    >>> wb.addmv(wb.ones(N=2), wb.ones(N=2, C=3), wb.ones(C=3))
    tensor([4., 4.], names=('N',))
    """
    return _added("addmv", input, mv(mat, vec), alpha, beta)


@offered(out=True, in_place="Tensor")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """Add an outer product: y = β·input + α·(a ⊗ b).

    >>> import workbench as wb
    >>> wb.addr(wb.zeros(N=2, C=3), wb.ones(N=2), wb.ones(C=3)).names
    ('N', 'C')
    """
    for label, value in (("vec1", vec1), ("vec2", vec2)):
        dims = dims_of(value)
        if len(dims.sizes) != 1:
            raise DimensionError(
                f"addr: Expected 1-D argument {label}, but got {len(dims.sizes)}-D",
                operands=(dims.operand(label),),
            )
    product = outer(vec1, vec2)
    if input.payload.dtype == product.payload.dtype == bool:
        alpha, beta = bool(alpha), bool(beta)  # truth values have no multiples
    return _added("addr", input, product, alpha, beta)


@offered(out="exact", in_place="Tensor")
@rounded_once
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """Add matrix products of two batches: y[b] = β·input[b] + α·(a[b] @ c[b]).

    >>> import workbench as wb
    >>> wb.baddbmm(wb.zeros(K=4), wb.ones(B=5, N=2, C=3), wb.ones(B=5, C=3, K=4)).names
    ('B', 'N', 'K')
    """
    check_batches("baddbmm", batch1, batch2)
    return _added("baddbmm", input, ops.matmul(batch1, batch2), alpha, beta)


@offered(out="exact", in_place="Tensor")
@rounded_once
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """Add the sum of the matrix products of two batches: y = β·input + α·Σ_b a[b] @ c[b].

    >>> import workbench as wb
    >>> wb.addbmm(wb.zeros(K=4), wb.ones(B=5, N=2, C=3), wb.ones(B=5, C=3, K=4)).names
    ('N', 'K')
    """
    check_batches("addbmm", batch1, batch2)
    # Batch and inner dim are summed together, in one product.
    total = summed_over(ops.permute(batch1, dim=(1, 0, 2)), batch2, (1, 2), (0, 1))
    return _added("addbmm", input, total, alpha, beta)
