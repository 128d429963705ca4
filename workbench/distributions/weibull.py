"""The Weibull distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.exponential import Exponential
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import AffineTransform, PowerTransform
from workbench.distributions.utils import broadcast_all, euler_constant
from workbench.tensor.factories import ones_like

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution: times to a failure whose rate goes with the power `concentration` - 1 of time.

    Equation: p(x) = k/λ·(x/λ)^(k-1) e^(-(x/λ)^k) for x > 0.

    >>> import workbench as wb
    >>> wb.distributions.Weibull(1.0, 2.0).log_prob(wb.tensor(0.5))
    tensor(-0.2500)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(
        self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=False)
        parts = [PowerTransform(self.concentration_reciprocal), AffineTransform(0.0, self.scale)]
        super().__init__(base, parts, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        ratio = value / self.scale
        power = (self.concentration - 1).xlogy(ratio)
        return self.concentration.log() - self.scale.log() + power - ratio.pow(self.concentration)

    def _cdf(self, value: Tensor) -> Tensor:
        return -(-(value / self.scale).pow(self.concentration)).expm1()

    @property
    def mean(self) -> Tensor:
        """λ·Γ(1 + 1/k)."""
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        """λ((k - 1)/k)^(1/k); 0 for k ≤ 1."""
        share = ((self.concentration - 1) / self.concentration).clamp(0)
        return self.scale * share.pow(self.concentration_reciprocal)

    @property
    def variance(self) -> Tensor:
        """λ²(Γ(1 + 2/k) - Γ(1 + 1/k)²)."""
        first, second = (1 + n * self.concentration_reciprocal for n in (1, 2))
        return self.scale.square() * (second.lgamma().exp() - (2 * first.lgamma()).exp())

    def entropy(self) -> Tensor:
        """γ(1 - 1/k) + ln(λ/k) + 1."""
        shape = euler_constant * (1 - self.concentration_reciprocal)
        return shape + (self.scale * self.concentration_reciprocal).log() + 1
