"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import broadcast_all, expm1_share, log1p_share
from workbench.ops.elementwise.filling import where

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: what exceeds the threshold `loc`, with a tail of shape `concentration`.

    Equation: p(x) = (1 + ξz)^(-1/ξ - 1) / σ with z = (x-μ)/σ ≥ 0, which is e^-z/σ at ξ = 0.

    >>> import workbench as wb
    >>> wb.distributions.GeneralizedPareto(0.0, 1.0, 0.0).log_prob(wb.tensor(1.0))
    tensor(-1.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From μ on; up to μ - σ/ξ for ξ < 0."""
        falling = self.concentration < 0
        shape = where(falling, self.concentration, -1.0)
        return constraints.interval(self.loc, where(falling, self.loc - self.scale / shape, math.inf))

    @property
    def mean(self) -> Tensor:
        """μ + σ/(1 - ξ); NaN for ξ ≥ 1, where it is not finite."""
        finite = self.concentration < 1
        shape = where(finite, self.concentration, 0.0)
        return where(finite, self.loc + self.scale / (1 - shape), math.nan)

    @property
    def mode(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """σ²/((1 - ξ)²(1 - 2ξ)); NaN for ξ ≥ ½, where it is not finite."""
        finite = self.concentration < 0.5
        shape = where(finite, self.concentration, 0.0)
        return where(finite, self.scale.square() / ((1 - shape).square() * (1 - 2 * shape)), math.nan)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        depth = draws.exponential(self._extended_shape(sizes), self.loc)
        return self.loc + self.scale * depth * expm1_share(self.concentration * depth)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of a draw above `value`: -ln(1 + ξz)/ξ."""
        z = (value - self.loc) / self.scale
        return -z * log1p_share(self.concentration * z)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of a draw of at most `value`."""
        return (-self.log_survival_function(value).expm1()).log()

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        density = self.log_survival_function(value) - (self.concentration * z).log1p() - self.scale.log()
        inside = (z >= 0) & (self.concentration * z >= -1)
        return where(inside, density, -math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return -self.log_survival_function(value).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        depth = -(-value).log1p()
        return self.loc + self.scale * depth * expm1_share(self.concentration * depth)

    def entropy(self) -> Tensor:
        """Ln σ + ξ + 1."""
        return self.scale.log() + self.concentration + 1
