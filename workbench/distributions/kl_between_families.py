"""Divergences between families: -H(p) - E_p[ln q(x)], where the last needs only moments of p."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from workbench import special
from workbench.core.typing import Tensor
from workbench.distributions.bernoulli import Bernoulli
from workbench.distributions.beta import Beta, log_beta
from workbench.distributions.binomial import Binomial
from workbench.distributions.continuous_bernoulli import ContinuousBernoulli
from workbench.distributions.distribution import Distribution
from workbench.distributions.exponential import Exponential
from workbench.distributions.gamma import Gamma
from workbench.distributions.gumbel import Gumbel
from workbench.distributions.kl import register_kl
from workbench.distributions.laplace import Laplace
from workbench.distributions.normal import Normal
from workbench.distributions.pareto import Pareto
from workbench.distributions.poisson import Poisson
from workbench.distributions.uniform import Uniform
from workbench.distributions.utils import euler_constant
from workbench.ops.elementwise.filling import where
from workbench.ops.shape.expand import broadcast_shapes
from workbench.tensor.factories import full

INFINITE = math.inf

# ------------------------------------------------------------------------------------- moments of p


def _mean_log(p: Distribution) -> Tensor:
    """Return E_p[ln x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    if isinstance(p, Uniform):
        return _mean_log_between(p.low, p.high)
    raise TypeError(f"E[ln x] of {type(p).__name__} is not known here")


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _mean_falling(p: Distribution, scale: Tensor) -> Tensor:
    """Return E_p[e^(-x/β)]."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + scale.reciprocal())
    if isinstance(p, Gamma):
        return (-p.concentration * (1 / (p.rate * scale)).log1p()).exp()
    if isinstance(p, Normal):
        return ((p.scale / scale).square() / 2 - p.loc / scale).exp()
    if isinstance(p, Uniform):
        return scale * ((-p.low / scale).exp() - (-p.high / scale).exp()) / (p.high - p.low)
    raise TypeError(f"E[e^(-x/β)] of {type(p).__name__} is not known here")


def _outside(p: Distribution, low: Tensor | float, high: Tensor | float, found: Tensor) -> Tensor:
    """Return what was found, infinite where a uniform p reaches out of q's support."""
    if not isinstance(p, Uniform):
        return found
    return where((p.low < low) | (p.high > high), INFINITE, found)


# ------------------------------------------------------------------------------------- to each family


def _pairs(families: list[type], target: type) -> Callable[[Any], Any]:
    def enter(function: Any) -> Any:
        for family in families:
            register_kl(family, target)(function)
        return function

    return enter


@_pairs([Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform], Normal)
def _to_normal(p: Distribution, q: Normal) -> Tensor:
    square = (p.variance + (p.mean - q.loc).square()) / (2 * q.scale.square())
    return square + q.scale.log() + math.log(2 * math.pi) / 2 - p.entropy()


@_pairs([Beta, ContinuousBernoulli, Gamma, Pareto, Uniform], Exponential)
def _to_exponential(p: Distribution, q: Exponential) -> Tensor:
    return _outside(p, 0.0, INFINITE, q.rate * p.mean - q.rate.log() - p.entropy())


@_pairs([Beta, Exponential, Pareto, Uniform], Gamma)
def _to_gamma(p: Distribution, q: Gamma) -> Tensor:
    a, b = q.concentration, q.rate
    found = a.lgamma() - a * b.log() - (a - 1) * _mean_log(p) + b * p.mean - p.entropy()
    return _outside(p, 0.0, INFINITE, found)


@_pairs([Exponential, Gamma, Normal, Uniform], Gumbel)
def _to_gumbel(p: Distribution, q: Gumbel) -> Tensor:
    lifted = (q.loc / q.scale).exp() * _mean_falling(p, q.scale)
    return q.scale.log() + (p.mean - q.loc) / q.scale + lifted - p.entropy()


@register_kl(Normal, Laplace)
def _normal_to_laplace(p: Normal, q: Laplace) -> Tensor:
    apart = (p.loc - q.loc) / p.scale
    # The mean of a folded normal draw.
    size = math.sqrt(2 / math.pi) * (-apart.square() / 2).exp() + apart * special.erf(apart / math.sqrt(2))
    return (2 * q.scale).log() + p.scale * size / q.scale - p.entropy()


@_pairs([Beta, Uniform], ContinuousBernoulli)
def _to_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    return _outside(p, 0.0, 1.0, q._log_normalizer(q.logits) - p.mean * q.logits - p.entropy())


@register_kl(Uniform, Beta)
def _uniform_to_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    logs = (a - 1) * _mean_log(p) + (b - 1) * _mean_log_between(1 - p.high, 1 - p.low)
    return _outside(p, 0.0, 1.0, log_beta(a, b) - logs - p.entropy())


@register_kl(Uniform, Pareto)
def _uniform_to_pareto(p: Uniform, q: Pareto) -> Tensor:
    found = (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log() - p.entropy()
    return _outside(p, q.scale, INFINITE, found)


@_pairs([Beta, ContinuousBernoulli], Uniform)
def _to_uniform(p: Distribution, q: Uniform) -> Tensor:
    return where((q.low > 0) | (q.high < 1), INFINITE, (q.high - q.low).log() - p.entropy())


@register_kl(Bernoulli, Poisson)
def _bernoulli_to_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.probs.xlogy(q.rate) - p.entropy()


def _endless(p: Distribution, q: Distribution) -> Tensor:
    """Infinite: p has draws where q has none."""
    like = next(
        d._parameter(name) for d in (p, q) for name in d.arg_constraints if d._parameter(name) is not None
    )
    return full(broadcast_shapes(p.batch_shape, q.batch_shape), INFINITE, dtype=like.dtype)


for _targets, _families in (
    ((Beta, ContinuousBernoulli, Pareto, Uniform), (Exponential, Gamma)),
    ((Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), (Gumbel, Laplace, Normal)),
    ((Beta, ContinuousBernoulli, Uniform), (Pareto,)),
    ((Pareto,), (Beta, ContinuousBernoulli)),
    ((Bernoulli, Binomial), (Poisson,)),
):
    for _target in _targets:
        _pairs(list(_families), _target)(_endless)
