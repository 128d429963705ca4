"""Relaxed categorical distributions: shares that gather in one place, with differentiable draws."""

from __future__ import annotations

import math

from workbench.core.typing import Tensor
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Categories
from workbench.distributions.transformed_distribution import TransformedDistribution
from workbench.distributions.transforms.elementwise import ExpTransform
from workbench.tensor.factories import tensor
from workbench.tensor.tensor import Tensor as _Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Categories, Distribution):
    """The logarithm of a relaxed one-hot draw.

    Equation: ln p(y) = ln (K-1)! + (K-1)·ln τ + Σ(lₖ - τyₖ) - K·ln Σ e^(lₖ - τyₖ) (Maddison et al. 2017).

    >>> import workbench as wb
    >>> d = wb.distributions.relaxed_categorical.ExpRelaxedCategorical(wb.tensor(1.0), wb.tensor([0.5, 0.5]))
    >>> d.log_prob(wb.tensor([0.5, 0.5]).log())
    tensor(-1.3863)
    """

    # The draws lie on a surface, their logarithms' exponentials sum to 1; PyTorch says the same of them.
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._take(probs, logits)
        self.temperature = temperature if isinstance(temperature, _Tensor) else tensor(float(temperature))
        super().__init__(given.shape[:-1], given.shape[-1:], validate_args=validate_args)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        scores = (self.logits + draws.gumbel(self._extended_shape(sizes), self.logits)) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self._event_shape[0]
        score = self.logits - value * self.temperature
        own = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return own + (k - 1) * self.temperature.log() + math.lgamma(k)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares that sum to 1 in place of a one-hot draw, the closer to one the lower the `temperature`.

    Equation: y = softmax((l + g)/τ) for Gumbel draws g (Maddison et al. 2017; Jang et al. 2017).

    >>> import workbench as wb
    >>> d = wb.distributions.RelaxedOneHotCategorical(wb.tensor(1.0), wb.tensor([0.5, 0.5]))
    >>> d.log_prob(wb.tensor([0.5, 0.5]))
    tensor(0.)
    """

    arg_constraints = Categories.arg_constraints
    support = constraints.simplex
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature τ."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs
