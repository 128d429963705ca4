"""The half-normal distribution."""

from __future__ import annotations

import math

from workbench import special
from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.normal import Normal
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import AbsTransform
from workbench.ops.elementwise.filling import where
from workbench.tensor.factories import zeros_like

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """The distribution of |x| for normal x of mean 0 and standard deviation `scale`.

    Equation: p(x) = √(2/π)/σ·e^(-x²/2σ²) for x ≥ 0.

    >>> import workbench as wb
    >>> wb.distributions.HalfNormal(1.0).log_prob(wb.tensor(1.0))
    tensor(-0.7258)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    base_dist: Normal

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0.0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """σ."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """σ√(2/π)."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """σ²(1 - 2/π)."""
        return self.scale.square() * (1 - 2 / math.pi)

    def _log_prob(self, value: Tensor) -> Tensor:
        return where(value >= 0, self.base_dist._log_prob(value) + math.log(2), -math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return special.erf(value / self.scale / math.sqrt(2))

    def _icdf(self, value: Tensor) -> Tensor:
        return self.base_dist._icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """That of the normal distribution less ln 2."""
        return self.base_dist.entropy() - math.log(2)
