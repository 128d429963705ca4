"""The negative binomial distribution."""

from __future__ import annotations

from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.beta import log_beta
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Chances, log_chance
from workbench.ops.elementwise.filling import where

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Chances, Distribution):
    """The number of successes, each with probability `probs`, before `total_count` failures, which need not be whole.

    Equation: P(k) = Γ(k+r)/(k!·Γ(r))·p^k (1-p)^r.

    >>> import workbench as wb
    >>> wb.distributions.NegativeBinomial(2.0, wb.tensor(0.5)).log_prob(wb.tensor(1.0))
    tensor(-1.3863)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given, total = self._take(probs, logits, total_count)
        self.total_count = total.to(given.dtype)
        super().__init__(given.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """rp/(1-p)."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        """The largest whole number up to (r - 1)p/(1-p), 0 at least."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(0)

    @property
    def variance(self) -> Tensor:
        """rp/(1-p)²."""
        return self.mean / (-self.logits).sigmoid()

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        # A Poisson draw whose rate is a gamma draw.
        shape = self._extended_shape(sizes)
        rates = draws.standard_gamma(shape, self.total_count) * self.logits.exp()
        return ops.poisson(rates, seed=draws.seed_from())

    def _log_prob(self, value: Tensor) -> Tensor:
        total = self.total_count
        # 1/(k·B(k, r)) counts the ways; without successes there is one, also for r = 0.
        nothing = value == 0
        k, r = where(nothing, 1.0, value), where(nothing, 1.0, total)
        ways = where(nothing, 0.0, -log_beta(k, r) - k.log())
        return ways + log_chance(self.logits, value, total)
