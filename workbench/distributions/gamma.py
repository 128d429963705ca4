"""The gamma distribution."""

from __future__ import annotations

from workbench import special
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution of a shape `concentration` and a `rate`.

    Equation: p(x) = β^α x^(α-1) e^(-βx) / Γ(α) for x ≥ 0. Draws carry the exact implicit gradient of the shape
    (Figurnov et al. 2018), up to the second order.

    >>> import workbench as wb
    >>> wb.distributions.Gamma(2.0, 1.0).log_prob(wb.tensor(1.0))
    tensor(-1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0.0

    concentration: Tensor
    rate: Tensor

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """α/β."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """(α - 1)/β, 0 for α < 1."""
        return ((self.concentration - 1) / self.rate).clamp(0)

    @property
    def variance(self) -> Tensor:
        """α/β²."""
        return self.concentration / self.rate.square()

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        return draws.standard_gamma(self._extended_shape(sizes), self.concentration) / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration, self.rate
        return a.xlogy(b) + (a - 1).xlogy(value) - b * value - a.lgamma()

    def _cdf(self, value: Tensor) -> Tensor:
        return special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        """α - ln β + ln Γ(α) + (1 - α)·ψ(α)."""
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return (x + 1).lgamma() - (x + 1) * (-y).log()
