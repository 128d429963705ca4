"""The normal distribution."""

from __future__ import annotations

import math

from workbench import special
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.utils import broadcast_all

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    Equation: p(x) = e^(-(x-μ)²/2σ²) / (σ√2π).

    >>> import workbench as wb
    >>> wb.distributions.Normal(0.0, 2.0).log_prob(wb.tensor(1.0))
    tensor(-1.7371)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0.0

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
    def stddev(self) -> Tensor:
        """σ."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """σ²."""
        return self.scale.square()

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        return self.loc + self.scale * draws.normal(self._extended_shape(sizes), self.loc)

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        return -z.square() / 2 - self.scale.log() - math.log(2 * math.pi) / 2

    def _cdf(self, value: Tensor) -> Tensor:
        return special.ndtr((value - self.loc) / self.scale)

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * special.ndtri(value)

    def entropy(self) -> Tensor:
        """½ + ½·ln 2π + ln σ."""
        return self.scale.log() + (0.5 + math.log(2 * math.pi) / 2)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        precision = self.scale.pow(-2)
        return self.loc * precision, -precision / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return -x.square() / y / 4 + (-math.pi / y).log() / 2
