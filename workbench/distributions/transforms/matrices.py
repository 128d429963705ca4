"""Transforms onto triangular, positive definite and correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench import linalg
from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.transforms.base import Transform
from workbench.distributions.utils import bare, log1p_exp, tril_matrix_to_vec, vec_to_tril_matrix
from workbench.ops.shape.diagonal import diag_embed
from workbench.ops.shape.pad import pad
from workbench.tensor.factories import eye
from workbench.tensor.type_queries import finfo

__all__ = ["CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform"]


class LowerCholeskyTransform(Transform):
    """From any square matrix to a lower triangular one with a positive diagonal, which is e to the power of its own.

    >>> import workbench as wb
    >>> LowerCholeskyTransform()(wb.tensor([[0.0, 9.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        x = bare(x)
        return x.tril(-1) + diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Tensor) -> Tensor:
        y = bare(y)
        return y.tril(-1) + diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """From any square matrix to a positive definite one: L·Lᵀ of what `LowerCholeskyTransform` makes of it.

    >>> import workbench as wb
    >>> PositiveDefiniteTransform()(wb.tensor([[0.0, 9.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg.cholesky(bare(y)))


class CorrCholeskyTransform(Transform):
    """From n(n-1)/2 numbers to the Cholesky factor of an n × n correlation matrix.

    With r = tanh x in the lower triangle, row by row: yᵢⱼ = rᵢⱼ Π_{k<j} √(1 - rᵢₖ²), 1 in place of r on the diagonal
    (Lewandowski, Kurowicka and Joe 2009).

    >>> import workbench as wb
    >>> CorrCholeskyTransform()(wb.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CorrCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        eps = float(finfo(x.dtype).eps)
        r = vec_to_tril_matrix(x.tanh().clamp(eps - 1, 1 - eps), diag=-1)
        left = (1 - r.square()).sqrt().cumprod(-1)
        size = r.shape[-1]
        return (r + eye(size, dtype=x.dtype)) * pad(left[..., :-1], (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        y = bare(y)
        left = pad((1 - y.square().cumsum(-1))[..., :-1], (1, 0), value=1.0)
        return (tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum of that of tanh, and of what each place leaves to those on its right."""
        left = 1 - bare(y).square().cumsum(-1)
        sticks = tril_matrix_to_vec(left, diag=-2).log().sum(-1) / 2
        x = bare(x)
        return sticks - 2 * (x + log1p_exp(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return [..., n, n] for [..., n(n-1)/2]."""
        if not shape:
            raise ValueError("too few dimensions on input: a factor is made of a vector")
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError(
                f"{count} numbers fill no triangle below a diagonal: n rows have n(n-1)/2 places there"
            )
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return [..., n(n-1)/2] for [..., n, n]."""
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(f"a factor of a correlation is a square matrix, got shape {tuple(shape)}")
        n = shape[-1]
        return (*shape[:-2], n * (n - 1) // 2)
