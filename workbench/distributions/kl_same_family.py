"""Divergences of two distributions of one family."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions.bernoulli import Bernoulli
from workbench.distributions.beta import Beta, log_beta
from workbench.distributions.binomial import Binomial
from workbench.distributions.categorical import Categorical
from workbench.distributions.cauchy import Cauchy
from workbench.distributions.continuous_bernoulli import ContinuousBernoulli
from workbench.distributions.dirichlet import Dirichlet
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.exponential import Exponential
from workbench.distributions.gamma import Gamma
from workbench.distributions.geometric import Geometric
from workbench.distributions.gumbel import Gumbel
from workbench.distributions.half_normal import HalfNormal
from workbench.distributions.independent import Independent
from workbench.distributions.kl import kl_divergence, register_kl
from workbench.distributions.laplace import Laplace
from workbench.distributions.normal import Normal
from workbench.distributions.one_hot_categorical import OneHotCategorical
from workbench.distributions.pareto import Pareto
from workbench.distributions.poisson import Poisson
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.uniform import Uniform
from workbench.distributions.utils import euler_constant, holds, log1p_exp, sum_rightmost
from workbench.ops.elementwise.filling import where

INFINITE = math.inf


def _weighted(weight: Tensor, difference: Tensor, possible: Tensor) -> Tensor:
    """Return weight·(ln p - ln q): 0 where p has none, infinite where q has none and p has some."""
    never = weight == 0
    return where(never, 0.0, where(possible, where(never, 1.0, weight) * difference, INFINITE))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    success = log1p_exp(-q.logits) - log1p_exp(-p.logits)
    failure = log1p_exp(q.logits) - log1p_exp(p.logits)
    return _weighted(p.probs, success, q.probs > 0) + _weighted(1 - p.probs, failure, q.probs < 1)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if not holds(p.total_count >= q.total_count):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    each = _bernoulli(p, q)
    return where(p.total_count > q.total_count, INFINITE, p.total_count * each)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total = a + b
    slopes = (a - c) * a.digamma() + (b - d) * b.digamma() - (total - c - d) * total.digamma()
    return log_beta(c, d) - log_beta(a, b) + slopes


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    return _weighted(p.probs, p.logits - q.logits, q.probs > 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p, q)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits + q._log_normalizer(q.logits)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    ways = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return ways + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizer: F(θq) - F(θp) - ⟨θq - θp, ∇F(θp)⟩."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            f"divergences: {type(p).__name__} and {type(q).__name__}. register_kl enters one"
        )
    own, total, slopes = p._normalizer_and_slopes()
    theirs = q._natural_params
    result = q._log_normalizer(*theirs) - total
    for mine, other, slope in zip(own, theirs, slopes, strict=True):
        # A natural parameter may have dims of the event, as the Wishart distribution's matrix.
        term = (other - mine) * slope
        result = result - sum_rightmost(term, term.ndim - len(q.batch_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (
        -ratio.log()
        + apart
        + ratio * euler_constant
        + ((1 + ratio).lgamma() - apart).exp()
        - 1
        - euler_constant
    )


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() + p.mean * log1p_exp(q.logits) + log1p_exp(-q.logits)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log()) / 2


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale < q.scale, INFINITE, found)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return _weighted(p.rate, p.rate.log() - q.rate.log(), q.rate > 0) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms:
        raise NotImplementedError(
            f"the divergence of transformed distributions is that of their bases only where the transforms are equal: "
            f"{p.transforms} and {q.transforms}"
        )
    if p.event_shape != q.event_shape:
        raise NotImplementedError(f"events of p have shape {p.event_shape}, those of q {q.event_shape}")
    taken = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), taken)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    outside = (q.low > p.low) | (q.high < p.high)
    return where(outside, INFINITE, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"p takes {p.reinterpreted_batch_ndims} dims as an event and q {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak and Nielsen 2019."""
    widths, apart = p.scale + q.scale, p.loc - q.loc
    return ((widths.square() + apart.square()) / (4 * p.scale * q.scale)).log()
