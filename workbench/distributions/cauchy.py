"""The Cauchy distribution."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import broadcast_all, log1p_square
from workbench.tensor.factories import full_like

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy distribution around `loc`, of half width `scale`: it has no mean.

    Equation: p(x) = 1 / (πγ(1 + ((x-x₀)/γ)²)).

    >>> import workbench as wb
    >>> wb.distributions.Cauchy(0.0, 1.0).log_prob(wb.tensor(1.0))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN: there is none."""
        return full_like(self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        """x₀."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return full_like(self.loc, math.inf)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        shares = draws.uniform(self._extended_shape(sizes), self.loc)
        return self.loc + self.scale * (math.pi * (shares - 0.5)).tan()

    def _log_prob(self, value: Tensor) -> Tensor:
        return -math.log(math.pi) - self.scale.log() - log1p_square((value - self.loc) / self.scale)

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (math.pi * (value - 0.5)).tan()

    def entropy(self) -> Tensor:
        """Ln 4πγ."""
        return math.log(4 * math.pi) + self.scale.log()
