"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from workbench.core.size import Size
from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.categorical import Categorical
from workbench.distributions.constraints import MixtureSameFamilyConstraint
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import bare

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: one of K components by a `Categorical`, then a draw from it.

    The components lie along their last batch dim. Equation: p(x) = Σₖ πₖ·pₖ(x). Raises ValueError where the two clash.

    >>> import workbench as wb
    >>> d = wb.distributions
    >>> two = d.MixtureSameFamily(d.Categorical(wb.ones(2)), d.Normal(wb.tensor([-1.0, 1.0]), 1.0))
    >>> two.mean, two.variance
    (tensor(0.), tensor(2.))
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of distributions.Categorical, got "
                f"{type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of distributions.Distribution, got "
                f"{type(component_distribution).__name__}"
            )
        weights = mixture_distribution.batch_shape
        own = component_distribution.batch_shape
        count = mixture_distribution.param_shape[-1]
        for first, second in zip(reversed(weights), reversed(own[:-1]), strict=False):
            if first != 1 and second != 1 and first != second:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                    f"`component_distribution.batch_shape`({own})"
                )
        if not own or own[-1] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({own[-1] if own else 'it has no batch dim'})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        super().__init__(own[:-1], component_distribution.event_shape, validate_args=validate_args)

    def _dim_names(self) -> tuple[str | None, ...]:
        names = self._component_distribution._dim_names()
        at = len(self._batch_shape)
        return (*names[:at], *names[at + 1 :])

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Return the distribution with its batch stretched to `batch_shape`."""
        sizes = Size(batch_shape)
        new = self._copied(_instance)
        new._component_distribution = self._component_distribution.expand((*sizes, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(sizes)
        new._batch_shape = sizes
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        """What lies in the support of every component."""
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """Which component is drawn from."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dim."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """πₖ, with a dim of size 1 for each of an event."""
        probs = bare(self._mixture_distribution.probs)
        return probs.reshape(*probs.shape, *(1,) * len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        """Σ πₖμₖ."""
        at = -1 - len(self._event_shape)
        return (self._weights() * bare(self._component_distribution.mean)).sum(at)

    @property
    def variance(self) -> Tensor:
        """Σ πₖ(σₖ² + (μₖ - μ)²)."""
        at = -1 - len(self._event_shape)
        apart = (bare(self._component_distribution.mean) - self.mean.unsqueeze(at)).square()
        return (self._weights() * (bare(self._component_distribution.variance) + apart)).sum(at)

    def _spread(self, value: Tensor) -> Tensor:
        """Return the value with a dim for the components in front of its event."""
        return bare(value).unsqueeze(-1 - len(self._event_shape))

    def _cdf(self, value: Tensor) -> Tensor:
        each = self._component_distribution.cdf(self._spread(value))
        return self._named((bare(each) * bare(self._mixture_distribution.probs)).sum(-1), value)

    def _log_prob(self, value: Tensor) -> Tensor:
        each = self._component_distribution.log_prob(self._spread(value))
        weights = bare(self._mixture_distribution.logits)
        return self._named((bare(each) + weights.log_softmax(-1)).logsumexp(-1), value)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        at = len(sizes) + len(self._batch_shape)
        events = len(self._event_shape)
        picked = bare(self._mixture_distribution.expand(self._batch_shape).sample(sizes))
        drawn = bare(self._component_distribution.sample(sizes))
        index = picked.reshape(*picked.shape, 1, *(1,) * events)
        index = index.expand((*picked.shape, 1, *self._event_shape))
        return drawn.gather(at, index).squeeze(at)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n  {self._mixture_distribution},\n  {self._component_distribution})"
