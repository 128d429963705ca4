"""The Fisher-Snedecor distribution."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.beta import log_beta
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import broadcast_all
from workbench.ops.elementwise.filling import where
from workbench.tensor.type_queries import finfo

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two chi-squared draws, each over its degrees of freedom `df1`, `df2`.

    Equation: p(x) = r^(d₁/2) x^(d₁/2-1) (1 + r·x)^(-(d₁+d₂)/2) / B(d₁/2, d₂/2) with r = d₁/d₂.

    >>> import workbench as wb
    >>> wb.distributions.FisherSnedecor(2.0, 4.0).log_prob(wb.tensor(1.0))
    tensor(-1.2164)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """d₂/(d₂ - 2); NaN for d₂ ≤ 2."""
        df2 = where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """(d₁ - 2)/d₁·d₂/(d₂ + 2); NaN for d₁ ≤ 2."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return where(self.df1 <= 2, math.nan, found)

    @property
    def variance(self) -> Tensor:
        """2d₂²(d₁ + d₂ - 2)/(d₁(d₂ - 2)²(d₂ - 4)); NaN for d₂ ≤ 4."""
        df1, df2 = self.df1, where(self.df2 <= 4, math.nan, self.df2)
        return 2 * df2.square() * (df1 + df2 - 2) / (df1 * (df2 - 2).square() * (df2 - 4))

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        shape = self._extended_shape(sizes)
        first = draws.log_standard_gamma(shape, self.df1 / 2) - (self.df1 / 2).log()
        second = draws.log_standard_gamma(shape, self.df2 / 2) - (self.df2 / 2).log()
        return (first - second).exp().to(self.df1.dtype).clamp(float(finfo(self.df1.dtype).tiny))

    def _log_prob(self, value: Tensor) -> Tensor:
        first, second, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        power = first * ratio.log() + (first - 1).xlogy(value)
        return power - (first + second) * (ratio * value).log1p() - log_beta(first, second)
