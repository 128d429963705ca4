"""The geometric distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Chances, binary_entropy
from workbench.distributions.utils import holds, log1p_exp
from workbench.ops.elementwise.filling import where
from workbench.tensor.factories import zeros_like
from workbench.tensor.type_queries import finfo

__all__ = ["Geometric"]


class Geometric(Chances, Distribution):
    """The number of failures before the first success, each trial with probability `probs`.

    Equation: P(k) = (1-p)^k p for k = 0, 1, … Raises ValueError for p = 0, which never succeeds.

    >>> import workbench as wb
    >>> wb.distributions.Geometric(0.5).log_prob(wb.tensor(2.0))
    tensor(-2.0794)
    """

    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (given,) = self._take(probs, logits)
        super().__init__(given.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not holds(given > 0):
            raise ValueError(
                f"Expected parameter probs of distribution {self!r} to be positive, but found invalid values:\n"
                f"{given}\nWhat never succeeds has no number of failures"
            )

    @property
    def mean(self) -> Tensor:
        """1/p - 1."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1/p - 1)/p."""
        return (1 / self.probs - 1) / self.probs

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        waiting = draws.exponential(self._extended_shape(sizes), self.probs)
        # An exponential draw over -ln(1-p), rounded down; p = 1 succeeds at once.
        pace = where(self.probs >= 1, float("inf"), log1p_exp(self.logits))
        return (waiting / pace.clamp(float(finfo(pace.dtype).tiny))).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        # At p = 1 no failure has probability 1, and 0·∞ is 0.
        sure = (self.probs >= 1) & (value == 0)
        failures = where(sure, 0.0, value * log1p_exp(self.logits))
        return -failures - log1p_exp(-self.logits)

    def entropy(self) -> Tensor:
        """That of one trial over p."""
        return binary_entropy(self.logits) / self.probs
