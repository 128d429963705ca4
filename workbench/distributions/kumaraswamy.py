"""The Kumaraswamy distribution."""

from __future__ import annotations

from workbench import special
from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.beta import log_beta
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import AffineTransform, PowerTransform
from workbench.distributions.uniform import Uniform
from workbench.distributions.utils import broadcast_all, euler_constant
from workbench.ops.elementwise.filling import where
from workbench.tensor.factories import ones_like, zeros_like

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution of shares of 1, much like a beta distribution, with quantiles in closed form.

    Equation: p(x) = ab·x^(a-1) (1 - x^a)^(b-1) for 0 < x < 1.

    >>> import workbench as wb
    >>> wb.distributions.Kumaraswamy(2.0, 3.0).log_prob(wb.tensor(0.5))
    tensor(0.5232)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(zeros_like(self.concentration1), ones_like(self.concentration1), validate_args=False)
        # (1 - u^(1/b))^(1/a)
        parts = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, parts, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + (a - 1).xlogy(value) + special.xlog1py(b - 1, -value.pow(a))

    def _cdf(self, value: Tensor) -> Tensor:
        rest = special.xlog1py(self.concentration0, -value.pow(self.concentration1))
        return -rest.expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        rest = -((-value).log1p() / self.concentration0).expm1()
        return rest.pow(self.concentration1.reciprocal())

    def _moment(self, n: int) -> Tensor:
        """E[xⁿ] = b·B(1 + n/a, b)."""
        b = self.concentration0
        return b * log_beta(1 + n / self.concentration1, b).exp()

    @property
    def mean(self) -> Tensor:
        """b·B(1 + 1/a, b)."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """((a - 1)/(ab - 1))^(1/a); NaN where the density has no peak inside."""
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & ((a > 1) | (b > 1))
        share = (where(inside, a, 2.0) - 1) / (where(inside, a * b, 3.0) - 1)
        return where(inside, share.pow(a.reciprocal()), float("nan"))

    @property
    def variance(self) -> Tensor:
        """b·B(1 + 2/a, b) - mean²."""
        return self._moment(2) - self._moment(1).square()

    def entropy(self) -> Tensor:
        """1 - 1/b + (1 - 1/a)·H_b - ln ab, with the harmonic number H_b = ψ(b + 1) + γ."""
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
