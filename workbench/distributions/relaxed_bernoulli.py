"""Relaxed Bernoulli distributions: shares of 1 that gather at 0 and 1, with differentiable draws."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Chances
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import SigmoidTransform
from workbench.distributions.utils import log1p_exp
from workbench.tensor.factories import tensor
from workbench.tensor.tensor import Tensor as _Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Chances, Distribution):
    """The logit of a relaxed Bernoulli draw: a logistic draw around `logits`, over `temperature`.

    Equation: p(x) = τ·e^(l - τx) / (1 + e^(l - τx))² (Maddison et al. 2017).

    >>> import workbench as wb
    >>> d = wb.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(wb.tensor(1.0), 0.5)
    >>> d.log_prob(wb.tensor(0.0))
    tensor(-1.3863)
    """

    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (given,) = self._take(probs, logits)
        self.temperature = temperature if isinstance(temperature, _Tensor) else tensor(float(temperature))
        super().__init__(given.shape, validate_args=validate_args)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        share = draws.uniform(self._extended_shape(sizes), self.logits)
        return (share.log() - (-share).log1p() + self.logits) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        difference = self.logits - value * self.temperature
        return self.temperature.log() + difference - 2 * log1p_exp(difference)


class RelaxedBernoulli(TransformedDistribution):
    """A share of 1 in place of a Bernoulli draw, the closer to 0 and 1 the lower the `temperature`.

    Equation: y = σ((l + logit u)/τ) for even u (Maddison et al. 2017).

    >>> import workbench as wb
    >>> wb.distributions.RelaxedBernoulli(wb.tensor(1.0), 0.5).log_prob(wb.tensor(0.5))
    tensor(0.)
    """

    arg_constraints = Chances.arg_constraints
    support = constraints.unit_interval
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature τ."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logits ln p/(1 - p)."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability p of a 1."""
        return self.base_dist.probs
