"""The Laplace distribution."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution around `loc`, with tails that fall over `scale`.

    Equation: p(x) = e^(-|x-μ|/b) / 2b.

    >>> import workbench as wb
    >>> wb.distributions.Laplace(0.0, 1.0).log_prob(wb.tensor(1.0))
    tensor(-1.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """2b²."""
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Tensor:
        """√2·b."""
        return math.sqrt(2) * self.scale

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        shape = self._extended_shape(sizes)
        # The difference of two exponential draws: no logarithm of what may be 0.
        return self.loc + self.scale * (
            draws.exponential(shape, self.loc) - draws.exponential(shape, self.loc)
        )

    def _log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def _cdf(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return 0.5 - z.sign() * (-z.abs()).expm1() / 2

    def _icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        """1 + ln 2b."""
        return 1 + (2 * self.scale).log()
