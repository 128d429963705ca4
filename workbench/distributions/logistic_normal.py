"""The logistic-normal distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.independent import Independent
from workbench.distributions.normal import Normal
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.simplex import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """K shares that sum to 1, made of K - 1 normal draws of mean `loc` and standard deviation `scale` [..., K - 1].

    Equation: y = `StickBreakingTransform` of x.

    >>> import workbench as wb
    >>> d = wb.distributions.LogisticNormal(wb.zeros(2), wb.ones(2))
    >>> d.batch_shape, d.event_shape
    ((), (3,))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    base_dist: Independent

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            # One number still breaks a stick in two.
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def _dim_names(self) -> tuple[str | None, ...]:
        return (*self.base_dist._dim_names()[:-1], None)

    @property
    def loc(self) -> Tensor:
        """Means of the normal draws."""
        return self.base_dist.mean

    @property
    def scale(self) -> Tensor:
        """Standard deviations of the normal draws."""
        return self.base_dist.base_dist.stddev
