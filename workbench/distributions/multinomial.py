"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.binomial import Binomial
from workbench.distributions.categorical import drawn_categories
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Categories
from workbench.distributions.utils import bare
from workbench.ops.elementwise.filling import where
from workbench.ops.index.one_hot import one_hot
from workbench.tensor.factories import tensor
from workbench.tensor.ranges import arange

__all__ = ["Multinomial"]


class Multinomial(Categories, Distribution):
    """How often each category comes among `total_count` draws, for `probs` or `logits` [..., K].

    Equation: P(x) = n!/Πxₖ!·Π pₖ^xₖ.

    >>> import workbench as wb
    >>> wb.distributions.Multinomial(2, wb.tensor([1.0, 1.0])).log_prob(wb.tensor([1.0, 1.0]))
    tensor(-0.6931)
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(total_count, bool) or not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial: total_count is one whole number for the whole batch, got {total_count!r}"
            )
        self.total_count = total_count
        given = self._take(probs, logits)
        super().__init__(given.shape[:-1], given.shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts that sum to n."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """Np."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """np(1-p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        probs = bare(self.probs)
        picked = drawn_categories(probs, (self.total_count, *sizes))
        return one_hot(picked, probs.shape[-1]).sum(0).to(probs.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        # What never comes has probability 1, whatever its logit.
        never = (value == 0) & (self.logits == -float("inf"))
        powers = (where(never, 0.0, self.logits) * value).sum(-1)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + powers

    def entropy(self) -> Tensor:
        """n·H(p) - ln n! + Σₖ E[ln xₖ!], each xₖ binomial."""
        n = self.total_count
        probs = bare(self.probs)
        counts = arange(n + 1, dtype=probs.dtype).reshape(-1, *(1,) * probs.ndim)
        chance = Binomial(n, probs=probs, validate_args=False).log_prob(counts).exp()
        single = -probs.xlogy(probs).sum(-1)
        factorials = (chance * (counts + 1).lgamma()).sum((0, -1))
        return n * single - tensor(float(n + 1), dtype=probs.dtype).lgamma() + factorials
