"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.exponential import Exponential
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import AffineTransform, ExpTransform
from workbench.distributions.utils import broadcast_all
from workbench.ops.elementwise.filling import where

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto distribution: from `scale` on, falling with the power `alpha`.

    Equation: p(x) = α·m^α / x^(α+1) for x ≥ m.

    >>> import workbench as wb
    >>> wb.distributions.Pareto(1.0, 2.0).log_prob(wb.tensor(2.0))
    tensor(-1.3863)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(
        self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=False)
        parts = [ExpTransform(), AffineTransform(0.0, self.scale)]
        super().__init__(base, parts, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From the scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """αm/(α - 1); infinite for α ≤ 1."""
        a = self.alpha.clamp(1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """M."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """αm²/((α - 1)²(α - 2)); infinite for α ≤ 2."""
        a = self.alpha.clamp(2)
        return self.scale.square() * a / ((a - 1).square() * (a - 2))

    def _log_prob(self, value: Tensor) -> Tensor:
        density = self.alpha.log() - self.alpha * (value / self.scale).log() - value.log()
        return where(value >= self.scale, density, -math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return -(-self.alpha * (value / self.scale).log()).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def entropy(self) -> Tensor:
        """ln(m/α) + 1 + 1/α."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
