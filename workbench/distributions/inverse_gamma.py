"""The inverse gamma distribution."""

from __future__ import annotations

import math

from workbench import special
from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.gamma import Gamma
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import PowerTransform
from workbench.ops.elementwise.filling import where

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of 1/x for x from a gamma distribution of `concentration` and `rate`.

    Equation: p(x) = β^α x^(-α-1) e^(-β/x) / Γ(α) for x > 0.

    >>> import workbench as wb
    >>> wb.distributions.InverseGamma(2.0, 1.0).log_prob(wb.tensor(1.0))
    tensor(-1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    base_dist: Gamma

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=False)
        super().__init__(base, PowerTransform(-1.0), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """α."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """β."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """β/(α - 1); infinite for α ≤ 1."""
        a = self.concentration
        return where(a > 1, self.rate / (where(a > 1, a, 2.0) - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        """β/(α + 1)."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """β²/((α - 1)²(α - 2)); infinite for α ≤ 2."""
        a = where(self.concentration > 2, self.concentration, 3.0)
        found = self.rate.square() / ((a - 1).square() * (a - 2))
        return where(self.concentration > 2, found, math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return special.gammaincc(self.concentration, self.rate / value)

    def entropy(self) -> Tensor:
        """α + ln β + ln Γ(α) - (1 + α)·ψ(α)."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
