"""Divergences of multivariate normal distributions, by a factor of the covariance or of low rank."""

from __future__ import annotations

from workbench import linalg
from workbench.core.typing import Tensor
from workbench.distributions.kl import register_kl
from workbench.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    low_rank_distance,
    low_rank_log_determinant,
)
from workbench.distributions.multivariate_normal import (
    MultivariateNormal,
    half_log_determinant,
    mahalanobis,
)
from workbench.distributions.utils import bare


def _check(
    p: MultivariateNormal | LowRankMultivariateNormal, q: MultivariateNormal | LowRankMultivariateNormal
) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed: "
            f"{p.event_shape} and {q.event_shape}"
        )


def _size(d: MultivariateNormal | LowRankMultivariateNormal) -> Tensor:
    """Ln |Σ|."""
    if isinstance(d, MultivariateNormal):
        return 2 * half_log_determinant(d._unbroadcasted_scale_tril)
    return low_rank_log_determinant(d._unbroadcasted_cov_diag, d._capacitance_tril)


def _squares(matrix: Tensor) -> Tensor:
    return matrix.square().sum((-2, -1))


def _roots(p: MultivariateNormal | LowRankMultivariateNormal) -> list[Tensor]:
    """Matrices R with Σ R·Rᵀ = the covariance."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _to_full(p: MultivariateNormal | LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    """½(ln |Σq| - ln |Σp| + tr(Σq⁻¹Σp) + (μq-μp)ᵀΣq⁻¹(μq-μp) - n)."""
    _check(p, q)
    factor = q._unbroadcasted_scale_tril
    trace = sum(_squares(_solved(factor, root)) for root in _roots(p))
    distance = mahalanobis(factor, bare(q.loc) - bare(p.loc))
    return (_size(q) - _size(p) + trace + distance - p.event_shape[0]) / 2


def _solved(factor: Tensor, root: Tensor) -> Tensor:
    return linalg.solve_triangular(factor, root, upper=False)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _to_low_rank(p: MultivariateNormal | LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    """As above, with Σq⁻¹ = D⁻¹ - AᵀA by Woodbury's identity, A = C^-½WᵀD⁻¹."""
    _check(p, q)
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    inner = _solved(q._capacitance_tril, factor.mT / diagonal.unsqueeze(-2))
    whole = sum(_squares(root / diagonal.sqrt().unsqueeze(-1)) for root in _roots(p))
    taken = sum(_squares(inner @ root) for root in _roots(p))
    distance = low_rank_distance(factor, diagonal, bare(q.loc) - bare(p.loc), q._capacitance_tril)
    return (_size(q) - _size(p) + whole - taken + distance - p.event_shape[0]) / 2
