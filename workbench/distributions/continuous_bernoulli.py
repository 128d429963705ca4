"""The continuous Bernoulli distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.parameters import Chances
from workbench.distributions.utils import expm1_share
from workbench.ops.elementwise.filling import where

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Chances, ExponentialFamily):
    """Shares of 1 with a density as that of a Bernoulli distribution, normalized (Loaiza-Ganem and Cunningham 2019).

    Equation: p(x) = l·e^(l·x)/(e^l - 1) for 0 ≤ x ≤ 1 with l = ln λ/(1-λ), where λ is `probs`; 1 at λ = ½. All of it is
    computed from l by series where it is small: `lims` are accepted and not needed.

    >>> import workbench as wb
    >>> wb.distributions.ContinuousBernoulli(0.5).log_prob(wb.tensor(0.3))
    tensor(-0.)
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        (given,) = self._take(probs, logits)
        self._lims = lims
        super().__init__(given.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """½ + ½(coth h - 1/h) with h = l/2."""
        return 0.5 + langevin(self.logits / 2) / 2

    @property
    def variance(self) -> Tensor:
        """¼(1/h² - 1/sinh² h) with h = l/2."""
        return langevin_slope(self.logits / 2) / 4

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        return self._icdf(draws.uniform(self._extended_shape(sizes), self.logits))

    def _log_prob(self, value: Tensor) -> Tensor:
        # l·x - F(l), with l/2 taken out of both: l·(x - ½) cannot cancel against it.
        return self.logits * (value - 0.5) - log_sinh_share(self.logits / 2)

    def _cdf(self, value: Tensor) -> Tensor:
        value = value.clamp(0, 1)
        # By the side to which the density falls, so that no exponential leaves the type.
        rising = self.logits > 0
        size = where(rising, -self.logits, self.logits)
        depth = where(rising, 1 - value, value)
        share = depth * expm1_share(size * depth) / expm1_share(size)
        return where(rising, 1 - share, share)

    def _icdf(self, value: Tensor) -> Tensor:
        rising = self.logits > 0
        size = where(rising, -self.logits, self.logits)
        share = where(rising, 1 - value, value)
        grown = share * size.expm1()
        # ln(1 + u(e^l - 1))/l, by its first terms where l is small.
        near = size > -1e-3
        away = where(near, -1.0, size)
        series = share * (1 + size * (1 - share) / 2 * (1 + size * (1 - 2 * share) / 6))
        depth = where(near, series, where(near, 0.0, grown).log1p() / away)
        return where(rising, 1 - depth, depth)

    def entropy(self) -> Tensor:
        """F(l) - l·mean."""
        return log_sinh_share(self.logits / 2) - self.logits * langevin(self.logits / 2) / 2

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        half = natural_params[0] / 2
        return half + log_sinh_share(half)


_NEAR = 0.25


def log_sinh_share(h: Tensor) -> Tensor:
    """Return ln(sinh h / h), which is 0 at 0."""
    near = h.abs() < _NEAR
    s = where(near, h, 0.0).square()
    series = s * (1 / 6 - s * (1 / 180 - s * (1 / 2835 - s * (1 / 37800 - s * (1 / 467775)))))
    size = where(near, 1.0, h).abs()
    return where(near, series, size + (-(-2 * size).exp()).log1p() - (2 * size).log())


def langevin(h: Tensor) -> Tensor:
    """Return coth h - 1/h, which is 0 at 0."""
    near = h.abs() < _NEAR
    x = where(near, h, 0.0)
    s = x.square()
    series = x * (1 / 3 - s * (1 / 45 - s * (2 / 945 - s * (1 / 4725 - s * (2 / 93555)))))
    away = where(near, 1.0, h)
    return where(near, series, 1 / away.tanh() - 1 / away)


def langevin_slope(h: Tensor) -> Tensor:
    """Return 1/h² - 1/sinh² h, which is ⅓ at 0."""
    near = h.abs() < _NEAR
    s = where(near, h, 0.0).square()
    series = 1 / 3 - s * (1 / 15 - s * (2 / 189 - s * (1 / 675 - s * (2 / 10395))))
    size = where(near, 1.0, h).abs()
    # 1/sinh² h = 4e^-2h/(1 - e^-2h)²
    falling = (-2 * size).exp()
    return where(near, series, size.pow(-2) - 4 * falling / (1 - falling).square())
