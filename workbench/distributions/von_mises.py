"""The von Mises distribution."""

from __future__ import annotations

import math

from workbench import special
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import broadcast_all

__all__ = ["VonMises"]


class VonMises(Distribution):
    """The von Mises distribution of angles that gather around `loc`: normal on a circle.

    Equation: p(x) = e^(κ·cos(x-μ)) / (2π·I₀(κ)).

    >>> import workbench as wb
    >>> wb.distributions.VonMises(0.0, 1.0).log_prob(wb.tensor(1.0))
    tensor(-1.5335)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(
        self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean direction μ."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance 1 - I₁(κ)/I₀(κ)."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        spread = self.concentration.expand(self._extended_shape(sizes))
        angle = ops.von_mises(spread, seed=draws.seed_from())
        return (angle + self.loc + math.pi) % (2 * math.pi) - math.pi

    def _log_prob(self, value: Tensor) -> Tensor:
        # With cos - 1 = -2 sin²(½·) and the scaled Bessel function nothing leaves the type, however large κ is.
        bent = ((value - self.loc) / 2).sin().square()
        return -2 * self.concentration * bent - math.log(2 * math.pi) - special.i0e(self.concentration).log()
