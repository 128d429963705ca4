"""The exponential distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.utils import broadcast_all
from workbench.tensor.factories import zeros_like

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The exponential distribution: times between events that come at `rate`.

    Equation: p(x) = λ·e^(-λx) for x ≥ 0.

    >>> import workbench as wb
    >>> wb.distributions.Exponential(2.0).log_prob(wb.tensor(1.0))
    tensor(-1.3069)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """1/λ."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """1/λ."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """1/λ²."""
        return self.rate.pow(-2)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        return draws.exponential(self._extended_shape(sizes), self.rate) / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def _cdf(self, value: Tensor) -> Tensor:
        return -(-self.rate * value).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        """1 - ln λ."""
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return -(-natural_params[0]).log()
