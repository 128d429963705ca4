"""The Bernoulli distribution."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.exp_family import ExponentialFamily
from workbench.distributions.parameters import Chances, binary_entropy, log_chance
from workbench.distributions.utils import log1p_exp
from workbench.ops.elementwise.filling import where
from workbench.tensor.ranges import arange

__all__ = ["Bernoulli"]


class Bernoulli(Chances, ExponentialFamily):
    """1 with probability `probs`, else 0; or by `logits` = ln p/(1-p).

    Equation: P(x) = p^x (1-p)^(1-x). Raises ValueError unless one of the two is given.

    >>> import workbench as wb
    >>> wb.distributions.Bernoulli(0.25).log_prob(wb.tensor(1.0))
    tensor(-1.3863)
    """

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0.0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (given,) = self._take(probs, logits)
        super().__init__(given.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """P."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """1 for p > ½, 0 below, NaN at ½."""
        return where(self.probs == 0.5, float("nan"), (self.probs >= 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> Tensor:
        """p(1-p)."""
        return self.probs * (1 - self.probs)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        share = draws.uniform(self._extended_shape(sizes), self.probs)
        return (share < self.probs).to(self.probs.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        return log_chance(self.logits, value, 1 - value)

    def entropy(self) -> Tensor:
        """-p·ln p - (1-p)·ln(1-p)."""
        return binary_entropy(self.logits)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 and 1 along a dim in front."""
        values = arange(2, dtype=self._given.dtype).reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return log1p_exp(natural_params[0])
