"""Student's t distribution."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.beta import log_beta
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import broadcast_all, log1p_square
from workbench.ops.elementwise.filling import where
from workbench.tensor.factories import full_like

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution of `df` degrees of freedom, moved by `loc` and stretched by `scale`.

    Equation: p(x) = (1 + z²/ν)^(-(ν+1)/2) / (σ√ν·B(ν/2, ½)) with z = (x-μ)/σ.

    >>> import workbench as wb
    >>> wb.distributions.StudentT(3.0).log_prob(wb.tensor(1.0))
    tensor(-1.5763)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """μ; NaN for ν ≤ 1."""
        return where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        """μ."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """σ²ν/(ν - 2) for ν > 2, infinite for ν > 1, else NaN."""
        finite = self.df > 2
        df = where(finite, self.df, 3.0)
        found = where(finite, self.scale.square() * df / (df - 2), math.inf)
        return where(self.df <= 1, full_like(self.df, math.nan), found)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        shape = self._extended_shape(sizes)
        # A normal draw over the root of a chi-squared one per degree of freedom.
        spread = draws.standard_gamma(shape, self.df / 2) * 2 / self.df
        return self.loc + self.scale * draws.normal(shape, self.df) * spread.rsqrt()

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        half = self.df / 2
        normalizer = self.scale.log() + self.df.log() / 2 + log_beta(half, full_like(half, 0.5))
        return -(half + 0.5) * log1p_square(z / self.df.sqrt()) - normalizer

    def entropy(self) -> Tensor:
        """(ν+1)/2·(ψ((ν+1)/2) - ψ(ν/2)) + ln(σ√ν·B(ν/2, ½))."""
        half = self.df / 2
        slope = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + slope + self.df.log() / 2 + log_beta(half, full_like(half, 0.5))
