"""The multivariate normal distribution."""

from __future__ import annotations

import math

from workbench import linalg
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import only_one
from workbench.distributions.utils import bare, lazy_property
from workbench.ops.linalg.cholesky import cholesky_inverse
from workbench.ops.shape.expand import broadcast_shapes
from workbench.tensor.factories import eye

__all__ = [
    "MultivariateNormal",
    "factor_of_precision",
    "half_log_determinant",
    "mahalanobis",
    "matrices",
    "scale_tril_of",
]


def factor_of_precision(precision: Tensor) -> Tensor:
    """Return the lower Cholesky factor L of the inverse of a positive definite matrix, without the inverse.

    With P turned around both ways, J·P·J = M·Mᵀ, it is the inverse of J·Mᵀ·J, which is lower triangular.
    """
    turned = linalg.cholesky(precision.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).mT
    size = precision.shape[-1]
    return linalg.solve_triangular(inverse, eye(size, dtype=precision.dtype), upper=False)


def matrices(owner: str, given: dict[str, Tensor | None]) -> tuple[str, Tensor]:
    """Return the name and the matrix of the one that is given; refuse none, several, and what is no matrix."""
    name = only_one(owner, **given)
    matrix = given[name]
    if matrix is None or matrix.ndim < 2:
        raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
    return name, matrix


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """Return the lower Cholesky factor of the covariance for the matrix of that name."""
    matrix = bare(matrix)
    if name == "scale_tril":
        return matrix
    return linalg.cholesky(matrix) if name == "covariance_matrix" else factor_of_precision(matrix)


def half_log_determinant(factor: Tensor) -> Tensor:
    """Return ½ ln |L·Lᵀ|."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """Return xᵀ(L·Lᵀ)⁻¹x for x [..., n] and L [..., n, n], which is solved with once for all x of a batch."""
    batch = tuple(factor.shape[:-2])
    shape = broadcast_shapes(tuple(x.shape[:-1]), batch)
    ahead = len(shape) - len(batch)
    spread = x.expand((*shape, x.shape[-1])).reshape(-1, *shape[ahead:], x.shape[-1])
    # [draws, batch…, n] to [batch…, n, draws]; where the batch has size 1 for L, solving broadcasts.
    columns = spread.movedim(0, -1)
    solved = linalg.solve_triangular(factor, columns, upper=False)
    return solved.square().sum(-2).movedim(-1, 0).reshape(shape)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors [..., n] of mean `loc`, by one of three matrices [..., n, n].

    They are the covariance Σ, the precision Σ⁻¹, and the lower Cholesky factor L with Σ = L·Lᵀ, by which it is
    computed. Equation: p(x) = e^(-½(x-μ)ᵀΣ⁻¹(x-μ)) / √|2πΣ|. Raises ValueError unless exactly one is given.

    >>> import workbench as wb
    >>> d = wb.distributions.MultivariateNormal(wb.zeros(2), wb.eye(2))
    >>> d.log_prob(wb.tensor([1.0, 1.0]))
    tensor(-2.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional: its last dim is that of the vectors")
        given = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        name, matrix = matrices(type(self).__name__, given)
        batch = broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        self.__dict__[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        self.loc = loc.expand((*batch, *loc.shape[-1:]))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """L, the lower Cholesky factor of the covariance."""
        n = self._event_shape[0]
        return self._unbroadcasted_scale_tril.expand((*self._batch_shape, n, n))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """Σ = L·Lᵀ."""
        n, factor = self._event_shape[0], self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand((*self._batch_shape, n, n))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Σ⁻¹."""
        n = self._event_shape[0]
        return cholesky_inverse(self._unbroadcasted_scale_tril).expand((*self._batch_shape, n, n))

    @property
    def mean(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The diagonal of Σ."""
        own = self._unbroadcasted_scale_tril.square().sum(-1)
        return own.expand((*self._batch_shape, *self._event_shape))

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        standard = draws.normal(self._extended_shape(sizes), self.loc)
        return bare(self.loc) + (self._unbroadcasted_scale_tril @ standard.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        distance = mahalanobis(factor, bare(value) - bare(self.loc))
        constant = self._event_shape[0] * math.log(2 * math.pi) / 2
        return self._named(-distance / 2 - half_log_determinant(factor) - constant, value)

    def entropy(self) -> Tensor:
        """½·ln |2πeΣ|."""
        constant = self._event_shape[0] * (1 + math.log(2 * math.pi)) / 2
        return (half_log_determinant(self._unbroadcasted_scale_tril) + constant).expand(self._batch_shape)
