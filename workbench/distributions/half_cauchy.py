"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.cauchy import Cauchy
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import AbsTransform
from workbench.ops.elementwise.filling import where
from workbench.tensor.factories import full_like, zeros_like

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The distribution of |x| for Cauchy x around 0, of half width `scale`.

    Equation: p(x) = 2 / (πγ(1 + (x/γ)²)) for x ≥ 0.

    >>> import workbench as wb
    >>> wb.distributions.HalfCauchy(1.0).log_prob(wb.tensor(1.0))
    tensor(-1.1447)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    base_dist: Cauchy

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0.0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """γ."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """Infinite."""
        return full_like(self.scale, math.inf)

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return full_like(self.scale, math.inf)

    def _log_prob(self, value: Tensor) -> Tensor:
        return where(value >= 0, self.base_dist._log_prob(value) + math.log(2), -math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return (value / self.scale).atan() * (2 / math.pi)

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * (value * (math.pi / 2)).tan()

    def entropy(self) -> Tensor:
        """Ln 2πγ."""
        return self.base_dist.entropy() - math.log(2)
