"""Distributions of transformed draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from workbench.distributions import constraints
from workbench.distributions.distribution import Distribution
from workbench.distributions.independent import Independent
from workbench.distributions.transforms.base import ComposeTransform, Transform
from workbench.distributions.utils import sum_rightmost
from workbench.tensor import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of y = f(x) for x from `base_distribution` and f the transform, or several one after another.

    Equation: ln p(y) = ln p(x) - ln |det ∂y/∂x|.

    >>> import workbench as wb
    >>> t = wb.distributions.transforms
    >>> base = wb.distributions.Normal(0.0, 1.0)
    >>> d = wb.distributions.TransformedDistribution(base, [t.AffineTransform(1.0, 2.0), t.ExpTransform()])
    >>> d.log_prob(wb.tensor(1.0))
    tensor(-1.7371)
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for one in self.transforms:
            if not isinstance(one, Transform):
                raise ValueError(
                    f"transforms must be a Transform or a list of Transforms, got {transforms!r}"
                )
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = len(base_distribution.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {shape}."
            )
        forward = whole.forward_shape(shape)
        needed = whole.inverse_shape(forward)
        if shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - events])
        taken = whole.domain.event_dim - events
        if taken > 0:
            base_distribution = Independent(base_distribution, taken)
        self.base_dist = base_distribution
        event_dim = whole.codomain.event_dim + max(events - whole.domain.event_dim, 0)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def _dim_names(self) -> tuple[str | None, ...]:
        batch, total = len(self._batch_shape), len(self._batch_shape) + len(self._event_shape)
        # Parameters may be in the transforms alone, as a scale is.
        own, base = super()._dim_names(), self.base_dist._dim_names()
        base = base if len(base) == total else (*base[:batch], *(None,) * (total - batch))
        return tuple(one or other for one, other in zip(own, base, strict=True))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Return the distribution with its batch stretched to `batch_shape`."""
        new = super().expand(batch_shape, _instance)
        shape: tuple[int, ...] = (*batch_shape, *self._event_shape)
        for one in reversed(self.transforms):
            shape = one.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the base distribution."""
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """Where the last transform leads."""
        if not self.transforms:
            return self.base_dist.support
        region = self.transforms[-1].codomain
        more = len(self._event_shape) - region.event_dim
        return constraints.independent(region, more) if more > 0 else region

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        base = self.base_dist
        value = base.rsample(sizes) if base.has_rsample else base.sample(sizes)
        for one in self.transforms:
            value = one(value)
        return value

    def _log_prob(self, value: Tensor) -> Tensor:
        total: Any = 0.0
        event_dim = len(self._event_shape)
        for one in reversed(self.transforms):
            before = one.inv(value)
            event_dim += one.domain.event_dim - one.codomain.event_dim
            stretched = one.log_abs_det_jacobian(before, value)
            total = total - sum_rightmost(stretched, event_dim - one.domain.event_dim)
            value = before
        own = self.base_dist.log_prob(value)
        return total + sum_rightmost(own, event_dim - len(self.base_dist.event_shape))  # type: ignore[no-any-return]

    def _turned(self, share: Tensor) -> Tensor:
        """Return 1 - p where the transforms together fall, p where they rise."""
        sign: Any = 1
        for one in self.transforms:
            sign = sign * one.sign
        if isinstance(sign, Tensor) or sign != 1:
            return sign * (share - 0.5) + 0.5  # type: ignore[no-any-return]
        return share

    def _cdf(self, value: Tensor) -> Tensor:
        for one in reversed(self.transforms):
            value = one.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def _icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._turned(value))
        for one in self.transforms:
            value = one(value)
        return value

    def __repr__(self) -> str:
        own = super().__repr__()
        return own if self.arg_constraints else f"{type(self).__name__}({self.base_dist}, {self.transforms})"
