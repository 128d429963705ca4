"""The log-normal distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.normal import Normal
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution of e^x for normal x of mean `loc` and standard deviation `scale`.

    Equation: p(x) = e^(-(ln x - μ)²/2σ²) / (xσ√2π) for x > 0.

    >>> import workbench as wb
    >>> wb.distributions.LogNormal(0.0, 1.0).log_prob(wb.tensor(2.0))
    tensor(-1.8523)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    base_dist: Normal

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """Mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """e^(μ + σ²/2)."""
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> Tensor:
        """e^(μ - σ²)."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        """(e^σ² - 1)·e^(2μ + σ²)."""
        square = self.scale.square()
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        """That of the normal distribution and μ."""
        return self.base_dist.entropy() + self.loc
