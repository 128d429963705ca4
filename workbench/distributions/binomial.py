"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Chances, log_chance
from workbench.ops.elementwise.filling import where
from workbench.tensor.ranges import arange

__all__ = ["Binomial"]


class Binomial(Chances, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`.

    Equation: P(k) = n!/(k!(n-k)!)·p^k (1-p)^(n-k).

    >>> import workbench as wb
    >>> wb.distributions.Binomial(2, wb.tensor(0.5)).log_prob(wb.tensor(1.0))
    tensor(-0.6931)
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **Chances.arg_constraints}
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given, total = self._take(probs, logits, total_count)
        self.total_count = total.to(given.dtype)
        super().__init__(given.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """0 … n."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """Np."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The largest whole number up to (n + 1)p, n at most."""
        highest = ((self.total_count + 1) * self.probs).floor()
        return where(highest > self.total_count, self.total_count, highest)

    @property
    def variance(self) -> Tensor:
        """np(1-p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        shape = self._extended_shape(sizes)
        seed = draws.seed_from()
        return ops.binomial(self.total_count.expand(shape), self.probs.expand(shape), seed=seed)

    def _log_prob(self, value: Tensor) -> Tensor:
        total = self.total_count
        ways = (total + 1).lgamma() - (value + 1).lgamma() - (total - value + 1).lgamma()
        return ways + log_chance(self.logits, value, total - value)

    def entropy(self) -> Tensor:
        """-Σ P(k)·ln P(k). Raises NotImplementedError where counts of trials differ."""
        logs = self.log_prob(self.enumerate_support(expand=False))
        return -(logs.exp() * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 … n along a dim in front. Raises NotImplementedError where counts of trials differ."""
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise self._absent(
                "enumerate_support", "its counts of trials differ, and so do the numbers of values"
            )
        values = arange(1 + most, dtype=self._given.dtype).reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
