"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.dtypes import float64, int64
from workbench.core.typing import Tensor
from workbench.core.value import new
from workbench.distributions import constraints, draws
from workbench.distributions.distribution import Distribution
from workbench.distributions.parameters import Categories
from workbench.distributions.utils import bare
from workbench.ops.shape.expand import broadcast_tensors
from workbench.tensor.factories import full
from workbench.tensor.random import multinomial
from workbench.tensor.ranges import arange
from workbench.tensor.type_queries import finfo

__all__ = ["Categorical", "drawn_categories", "finite"]


_FEW = 32
"""Up to so many categories a draw is compared with every edge, which takes fewer calls than a search."""


def _check_total(finite: bool) -> None:
    if not finite:
        raise ValueError("probability tensor contains either `inf`, `nan` or element < 0")


def drawn_categories(probs: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Draw categories [*sizes, batch…] for probabilities [batch…, K]."""
    probs = bare(probs)
    batch = tuple(probs.shape[:-1])
    if probs.shape[-1] <= _FEW:
        share = draws.uniform_of((*sizes, *batch, 1), float64)
        if isinstance(probs.payload, np.ndarray) and isinstance(share.payload, np.ndarray):
            # What the ops below compute, without their price.
            edges = np.cumsum(probs.payload, -1, np.float64)
            _check_total(bool(np.isfinite(edges[..., -1]).all()))
            return new(np.asarray((share.payload * edges[..., -1:] >= edges[..., :-1]).sum(-1)))
        bounds = probs.double().cumsum(-1)
        # As many edges as lie at or below the draw: one of probability 0 adds no width, and is never drawn.
        return (share * bounds[..., -1:] >= bounds[..., :-1]).sum(-1)
    count = math.prod(sizes)
    rows = probs.reshape(-1, probs.shape[-1])
    if count == 0 or rows.shape[0] == 0:
        return full((*sizes, *batch), 0, dtype=int64)
    return multinomial(rows, count, replacement=True).mT.reshape(*sizes, *batch)


def finite(logits: Tensor) -> Tensor:
    """Return logits with the type's lowest number in place of -∞, by which 0 can be multiplied."""
    return logits.clamp(float(finfo(logits.dtype).min))


class Categorical(Categories, Distribution):
    """A category 0 … K-1, for `probs` or `logits` [..., K], which are normalized.

    Equation: P(k) = pₖ/Σp.

    >>> import workbench as wb
    >>> wb.distributions.Categorical(wb.tensor([1.0, 3.0])).log_prob(wb.tensor(1))
    tensor(-0.2877)
    """

    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        given = self._take(probs, logits)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """0 … K-1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        """NaN: categories are no numbers."""
        return full(self._batch_shape, math.nan, dtype=self._given.dtype)

    @property
    def mode(self) -> Tensor:
        """The likeliest category."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN: categories are no numbers."""
        return full(self._batch_shape, math.nan, dtype=self._given.dtype)

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        return drawn_categories(self.probs, sizes)

    def _log_prob(self, value: Tensor) -> Tensor:
        index, spread = bare(value).long().unsqueeze(-1), bare(self.logits)
        if tuple(value.shape) != self._batch_shape:
            index, spread = broadcast_tensors(index, spread)
            index = index[..., :1]
        return self._named(spread.gather(-1, index).squeeze(-1), value)

    def entropy(self) -> Tensor:
        """-Σ p·ln p."""
        return -(finite(self.logits) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 … K-1 along a dim in front."""
        values = arange(self._num_events).reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
