"""The Gumbel distribution."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import AffineTransform, ExpTransform
from workbench.distributions.uniform import Uniform
from workbench.distributions.utils import broadcast_all, euler_constant
from workbench.tensor.factories import ones_like, zeros_like

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: of the largest of many draws.

    Equation: p(x) = e^(-z - e^-z) / β with z = (x-μ)/β.

    >>> import workbench as wb
    >>> wb.distributions.Gumbel(0.0, 1.0).log_prob(wb.tensor(1.0))
    tensor(-1.3679)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        base = Uniform(zeros_like(self.loc), ones_like(self.loc), validate_args=False)
        # μ - β·ln(-ln u)
        parts = [
            ExpTransform().inv,
            AffineTransform(0.0, -1.0),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(base, parts, validate_args=validate_args)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        return self.loc + self.scale * draws.gumbel(self._extended_shape(sizes), self.loc)

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return -z - (-z).exp() - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return (-(-(value - self.loc) / self.scale).exp()).exp()

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    @property
    def mean(self) -> Tensor:
        """μ + γβ, with Euler's constant γ."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """πβ/√6."""
        return self.scale * (math.pi / math.sqrt(6))

    @property
    def variance(self) -> Tensor:
        """π²β²/6."""
        return self.stddev.square()

    def entropy(self) -> Tensor:
        """Ln β + 1 + γ."""
        return self.scale.log() + (1 + euler_constant)
