"""Constraints on matrices: triangles, factors, and what is symmetric and positive."""

from __future__ import annotations

from workbench import linalg
from workbench.core.typing import Tensor
from workbench.distributions.constraints.base import Constraint
from workbench.distributions.utils import bare, every
from workbench.tensor.factories import full
from workbench.tensor.type_queries import finfo

__all__ = [
    "CorrCholesky", "LowerCholesky", "LowerTriangular", "PositiveDefinite", "PositiveSemidefinite", "Square",
    "Symmetric",
]  # fmt: skip


class LowerTriangular(Constraint):
    """Matrices with nothing above their diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        value = bare(value)
        return every(value.tril() == value, 2)


class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (bare(value).diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class CorrCholesky(LowerCholesky):
    """Lower triangular matrices with a positive diagonal and rows of length 1: factors of correlations."""

    def check(self, value: Tensor) -> Tensor:
        rows = bare(value).square().sum(-1)
        tolerance = float(finfo(value.dtype).eps) * value.shape[-1] * 10
        return super().check(value) & ((rows.sqrt() - 1).abs() <= tolerance).all(-1)


class Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return full(value.shape[:-2], value.shape[-1] == value.shape[-2])


class Symmetric(Square):
    """Matrices that equal their transpose, within 1e-6."""

    def check(self, value: Tensor) -> Tensor:
        value = bare(value)
        if value.shape[-1] != value.shape[-2]:
            return super().check(value)
        return every((value - value.mT).abs() <= 1e-6 + 1e-5 * value.mT.abs(), 2)


class PositiveSemidefinite(Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return symmetric
        return symmetric & (linalg.eigvalsh(bare(value)) >= 0).all(-1)


class PositiveDefinite(Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return symmetric
        return symmetric & (linalg.cholesky_ex(bare(value)).info == 0)
