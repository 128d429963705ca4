"""The beta distribution."""

from __future__ import annotations

from workbench import special
from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.dirichlet import Dirichlet, simplex_draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.utils import bare, broadcast_all
from workbench.ops.shape.join import stack

__all__ = ["Beta", "log_beta"]


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """Return ln B(a, b) = ln Γ(a) + ln Γ(b) - ln Γ(a + b)."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


class Beta(ExponentialFamily):
    """The beta distribution of shares of 1: `concentration1` draws to 1, `concentration0` to 0.

    Equation: p(x) = x^(α-1) (1-x)^(β-1) / B(α, β) for 0 ≤ x ≤ 1.

    >>> import workbench as wb
    >>> wb.distributions.Beta(2.0, 1.0).log_prob(wb.tensor(0.5))
    tensor(0.)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """α/(α + β)."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        """(α - 1)/(α + β - 2); where both are below 1 the end of the larger, NaN where both are 1."""
        both = stack([bare(self.concentration1), bare(self.concentration0)], -1)
        return Dirichlet(both, validate_args=False).mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """αβ/((α + β)²(α + β + 1))."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.square() * (total + 1))

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        both = stack([bare(self.concentration1), bare(self.concentration0)], -1)
        return simplex_draws((*self._extended_shape(sizes), 2), both)[..., 0]

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (a - 1).xlogy(value) + special.xlog1py(b - 1, -value) - log_beta(a, b)

    def entropy(self) -> Tensor:
        """Ln B(α, β) - (α - 1)·ψ(α) - (β - 1)·ψ(β) + (α + β - 2)·ψ(α + β)."""
        a, b = self.concentration1, self.concentration0
        total = a + b
        own = (a - 1) * a.digamma() + (b - 1) * b.digamma()
        return log_beta(a, b) - own + (total - 2) * total.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return log_beta(*natural_params)
