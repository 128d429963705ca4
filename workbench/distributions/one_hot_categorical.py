"""The categorical distribution on vectors with a single 1."""

from __future__ import annotations

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.categorical import Categorical, drawn_categories, finite
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Categories
from workbench.distributions.utils import bare
from workbench.ops.index.one_hot import one_hot
from workbench.tensor.factories import eye

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Categories, Distribution):
    """A category as a vector with a 1 in its place, for `probs` or `logits` [..., K], which are normalized.

    Equation: P(x) = Π pₖ^xₖ.

    >>> import workbench as wb
    >>> wb.distributions.OneHotCategorical(wb.tensor([1.0, 3.0])).log_prob(wb.tensor([0.0, 1.0]))
    tensor(-0.2877)
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        given = self._take(probs, logits)
        super().__init__(given.shape[:-1], given.shape[-1:], validate_args=validate_args)

    @property
    def _categorical(self) -> Categorical:
        if self._given_name == "probs":
            return Categorical(probs=self.probs, validate_args=False)
        return Categorical(logits=self.logits, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likeliest category."""
        probs = bare(self.probs)
        return one_hot(probs.argmax(-1), probs.shape[-1]).to(probs.dtype)

    @property
    def variance(self) -> Tensor:
        """p(1-p) of each place."""
        return self.probs * (1 - self.probs)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        probs = bare(self.probs)
        return one_hot(drawn_categories(probs, sizes), probs.shape[-1]).to(probs.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        # The 1 is found before it is picked: 0·(-∞) of the other places is no number.
        return self._categorical._log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """-Σ p·ln p."""
        return -(finite(self.logits) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the K vectors along a dim in front."""
        k = self._event_shape[0]
        values = eye(k, dtype=self._given.dtype).reshape(k, *(1,) * len(self._batch_shape), k)
        return values.expand(k, *self._batch_shape, k) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot draws with the gradient of the probabilities (Bengio et al. 2013): a useful stand-in for one.

    >>> import workbench as wb
    >>> wb.distributions.OneHotCategoricalStraightThrough(wb.tensor([0.0, 1.0])).rsample()
    tensor([0., 1.])
    """

    has_rsample = True

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        probs = bare(self.probs)
        return super()._draw(sizes) + (probs - probs.detach())
