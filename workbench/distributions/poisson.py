"""The Poisson distribution."""

from __future__ import annotations

from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Counts of events that come at `rate`.

    Equation: P(k) = λ^k e^-λ / k!.

    >>> import workbench as wb
    >>> wb.distributions.Poisson(2.0).log_prob(wb.tensor(1.0))
    tensor(-1.3069)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """λ."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The largest whole number up to λ."""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """λ."""
        return self.rate

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        rates = self.rate.expand(self._extended_shape(sizes))
        return ops.poisson(rates, seed=draws.seed_from())

    def _log_prob(self, value: Tensor) -> Tensor:
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return natural_params[0].exp()
