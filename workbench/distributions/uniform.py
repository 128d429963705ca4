"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import broadcast_all
from workbench.ops.elementwise.filling import where
from workbench.tensor.factories import full_like

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Equation: p(x) = 1/(high - low) for low ≤ x < high, 0 elsewhere. Raises ValueError where low is not below high.

    >>> import workbench as wb
    >>> wb.distributions.Uniform(0.0, 4.0).log_prob(wb.tensor(1.0))
    tensor(-1.3863)
    """

    has_rsample = True

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        """Each bound is beyond the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """[low, high]."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """(low + high)/2."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: no place is likelier than another."""
        return full_like(self.low, math.nan)

    @property
    def variance(self) -> Tensor:
        """(high - low)²/12."""
        return (self.high - self.low).square() / 12

    @property
    def stddev(self) -> Tensor:
        """(high - low)/√12."""
        return (self.high - self.low) / math.sqrt(12)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        share = draws.uniform(self._extended_shape(sizes), self.low)
        return self.low + share * (self.high - self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = (self.low <= value) & (self.high > value)
        return where(inside, 0.0, -math.inf) - (self.high - self.low).log()

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def _icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """ln(high - low)."""
        return (self.high - self.low).log()
