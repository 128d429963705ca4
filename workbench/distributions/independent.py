"""Batch dims of a distribution taken as part of its event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from workbench.core.size import Size
from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.distribution import Distribution
from workbench.distributions.utils import sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution of which the last `reinterpreted_batch_ndims` batch dims are one event: densities are multiplied.

    Raises ValueError where there are fewer batch dims.

    >>> import workbench as wb
    >>> d = wb.distributions.Independent(wb.distributions.Normal(wb.zeros(3), 1.0), 1)
    >>> d.batch_shape, d.event_shape
    ((), (3,))
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > batch:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {batch}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = batch - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _dim_names(self) -> tuple[str | None, ...]:
        return self.base_dist._dim_names()

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Return the distribution with its batch stretched to `batch_shape`."""
        sizes = Size(batch_shape)
        new = self._copied(_instance)
        new.base_dist = self.base_dist.expand(sizes + self.event_shape[: self.reinterpreted_batch_ndims])
        new._batch_shape = sizes
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the distribution within."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """As the distribution within, where no batch dim was taken."""
        return self.base_dist.has_enumerate_support and self.reinterpreted_batch_ndims == 0

    @constraints.dependent_property
    def support(self) -> Any:
        """That of the distribution within, for each place of the event."""
        result = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            result = constraints.independent(result, self.reinterpreted_batch_ndims)
        return result

    @property
    def mean(self) -> Tensor:
        """As the distribution within."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """As the distribution within."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """As the distribution within."""
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = (), **dims: int) -> Tensor:
        """Draw values, without gradients."""
        return self.base_dist.sample(sample_shape, **dims)

    def rsample(self, sample_shape: Sequence[int] = (), **dims: int) -> Tensor:
        """Draw values that are differentiable in the parameters."""
        return self.base_dist.rsample(sample_shape, **dims)

    def _log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The sum over the dims that were taken."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values. Raises NotImplementedError where batch dims were taken: their product is not listed."""
        if self.reinterpreted_batch_ndims > 0:
            raise self._absent(
                "enumerate_support", "its values are all combinations of those within, too many to be listed"
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
