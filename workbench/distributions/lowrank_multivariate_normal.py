"""The multivariate normal distribution whose covariance is of low rank and a diagonal."""

from __future__ import annotations

import math

from workbench import linalg
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.multivariate_normal import half_log_determinant, mahalanobis
from workbench.distributions.utils import bare, lazy_property
from workbench.ops.shape.diagonal import diag_embed
from workbench.ops.shape.expand import broadcast_shapes
from workbench.tensor.factories import eye

__all__ = ["LowRankMultivariateNormal", "capacitance_factor", "low_rank_distance", "low_rank_log_determinant"]


def capacitance_factor(factor: Tensor, diagonal: Tensor) -> Tensor:
    """Return the Cholesky factor of the capacitance I + WᵀD⁻¹W, which is as small as the rank."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    return linalg.cholesky(scaled @ factor + eye(factor.shape[-1], dtype=factor.dtype))


def low_rank_log_determinant(diagonal: Tensor, capacitance: Tensor) -> Tensor:
    """Return ln |WWᵀ + D| = ln |C| + ln |D| (matrix determinant lemma)."""
    return 2 * half_log_determinant(capacitance) + diagonal.log().sum(-1)


def low_rank_distance(factor: Tensor, diagonal: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """Return xᵀ(WWᵀ + D)⁻¹x = xᵀD⁻¹x - (WᵀD⁻¹x)ᵀC⁻¹(WᵀD⁻¹x) (Woodbury)."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    inner = (scaled @ x.unsqueeze(-1)).squeeze(-1)
    return (x.square() / diagonal).sum(-1) - mahalanobis(capacitance, inner)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors [..., n] of covariance Σ = W·Wᵀ + D.

    `cov_factor` is W [..., n, m], `cov_diag` the diagonal of D [..., n]. Nothing larger than n × m is factored:
    Woodbury's identity and the determinant lemma do the rest.

    >>> import workbench as wb
    >>> d = wb.distributions.LowRankMultivariateNormal(wb.zeros(2), wb.tensor([[1.0], [0.0]]), wb.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional: its last dim is that of the vectors")
        event = tuple(loc.shape[-1:])
        if cov_factor.ndim < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if tuple(cov_factor.shape[-2:-1]) != event:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event[0]} x m, got {tuple(cov_factor.shape)}"
            )
        if tuple(cov_diag.shape[-1:]) != event:
            raise ValueError(
                f"cov_diag must be a batch of vectors with shape {event}, got {tuple(cov_diag.shape)}"
            )
        batch = broadcast_shapes(
            tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1])
        )
        self.loc = loc.expand((*batch, *event))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, *event))
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_cov_factor = bare(cov_factor)
        self._unbroadcasted_cov_diag = bare(cov_diag)
        self._capacitance_tril = capacitance_factor(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        )

    @property
    def mean(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """μ."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of Σ."""
        own = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return own.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """Σ = W·Wᵀ + D."""
        n, factor = self._event_shape[0], self._unbroadcasted_cov_factor
        own = factor @ factor.mT + diag_embed(self._unbroadcasted_cov_diag)
        return own.expand((*self._batch_shape, n, n))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of Σ."""
        n, diagonal = self._event_shape[0], self._unbroadcasted_cov_diag
        root = diagonal.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        # √D(D^-½WWᵀD^-½ + I)√D: what is factored has no eigenvalue below 1.
        inner = linalg.cholesky(scaled @ scaled.mT + eye(n, dtype=diagonal.dtype))
        return (root * inner).expand((*self._batch_shape, n, n))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Σ⁻¹ = D⁻¹ - D⁻¹W·C⁻¹·WᵀD⁻¹."""
        n, diagonal = self._event_shape[0], self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        inner = linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        own = diag_embed(diagonal.reciprocal()) - inner.mT @ inner
        return own.expand((*self._batch_shape, n, n))

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        shape = self._extended_shape(sizes)
        rank = self._unbroadcasted_cov_factor.shape[-1]
        inner = draws.normal((*shape[:-1], rank), self.loc).unsqueeze(-1)
        own = self._unbroadcasted_cov_diag.sqrt() * draws.normal(shape, self.loc)
        return bare(self.loc) + (self._unbroadcasted_cov_factor @ inner).squeeze(-1) + own

    def _log_prob(self, value: Tensor) -> Tensor:
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = low_rank_distance(factor, diagonal, bare(value) - bare(self.loc), self._capacitance_tril)
        size = low_rank_log_determinant(diagonal, self._capacitance_tril)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return self._named(-(constant + size + distance) / 2, value)

    def entropy(self) -> Tensor:
        """½·ln |2πeΣ|."""
        size = low_rank_log_determinant(self._unbroadcasted_cov_diag, self._capacitance_tril)
        constant = self._event_shape[0] * (1 + math.log(2 * math.pi))
        return ((constant + size) / 2).expand(self._batch_shape)
