"""Transforms of blocks of dims: taken as one event, laid out otherwise, each part by its own transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.transforms.base import Transform
from workbench.distributions.utils import bare, sum_rightmost
from workbench.ops.shape.join import cat, stack
from workbench.tensor.factories import zeros

__all__ = ["CatTransform", "IndependentTransform", "ReshapeTransform", "StackTransform"]


class IndependentTransform(Transform):
    """A transform whose last batch dims are taken as part of the event: its Jacobian is summed over them.

    >>> import workbench as wb
    >>> from workbench.distributions.transforms import ExpTransform
    >>> t = IndependentTransform(ExpTransform(), 1)
    >>> t.log_abs_det_jacobian(wb.ones(3), t(wb.ones(3)))
    tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform that keeps its last pair, or with 0 keeps none."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @property
    def domain(self) -> Any:
        """The region of the transform within, over more dims."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        """The region of the results of the transform within, over more dims."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As the transform within."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """As the transform within."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.ndim < self.domain.event_dim:
            raise ValueError(
                f"too few dimensions on input: an event has {self.domain.event_dim}, got {x.ndim}"
            )
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.ndim < self.codomain.event_dim:
            raise ValueError(
                f"too few dimensions on input: an event has {self.codomain.event_dim}, got {y.ndim}"
            )
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return that of the transform within, summed over the dims that are taken into the event."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """As the transform within."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """As the transform within."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The values of an event, laid out in another shape.

    >>> import workbench as wb
    >>> ReshapeTransform((4,), (2, 2))(wb.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape = tuple(in_shape)
        self.out_shape = tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                f"in_shape, out_shape have different numbers of elements: {self.in_shape} holds "
                f"{math.prod(self.in_shape)}, {self.out_shape} {math.prod(self.out_shape)}"
            )
        super().__init__(cache_size)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform that keeps its last pair, or with 0 keeps none."""
        return (
            self
            if self._cache_size == cache_size
            else ReshapeTransform(self.in_shape, self.out_shape, cache_size)
        )

    @property
    def domain(self) -> Any:
        """All arrays of `in_shape`."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        """All arrays of `out_shape`."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ReshapeTransform)
            and self.in_shape == other.in_shape
            and self.out_shape == other.out_shape
        )

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return bare(x).reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return bare(y).reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return 0: nothing is stretched."""
        return zeros(x.shape[: x.ndim - len(self.in_shape)], dtype=x.dtype)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape with `out_shape` at its end in place of `in_shape`."""
        return _exchanged(tuple(shape), self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape with `in_shape` at its end in place of `out_shape`."""
        return _exchanged(tuple(shape), self.out_shape, self.in_shape)


def _exchanged(shape: tuple[int, ...], old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    cut = len(shape) - len(old)
    if cut < 0:
        raise ValueError(f"too few dimensions on input: an event has {len(old)}, got shape {shape}")
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {old} but got {shape[cut:]}")
    return shape[:cut] + new


class CatTransform(Transform):
    """A transform for each stretch along a dim, of the lengths given (1 each by default).

    >>> import workbench as wb
    >>> from workbench.distributions.transforms import ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(wb.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [one.with_cache(cache_size) for one in tseq] if cache_size else list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.dim = dim
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"there are {len(self.transforms)} transforms and {len(self.lengths)} lengths")

    @property
    def event_dim(self) -> int:
        """The largest of theirs."""
        return max(one.event_dim for one in self.transforms)

    @property
    def length(self) -> int:
        """How long the dim is that they share."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform that keeps its last pair, or with 0 keeps none."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all of them are."""
        return all(one.bijective for one in self.transforms)

    @property
    def domain(self) -> Any:
        """The regions of each, one behind the other."""
        return constraints.cat([one.domain for one in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        """The regions of the results of each, one behind the other."""
        return constraints.cat([one.codomain for one in self.transforms], self.dim, self.lengths)

    def _split(self, value: Tensor) -> Any:
        if value.shape[self.dim] != self.length:
            raise ValueError(
                f"dim {self.dim} has {value.shape[self.dim]} values, and the transforms take {self.length}"
            )
        return bare(value).split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return cat([one(part) for one, part in parts], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return cat([one.inv(part) for one, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return that of each along the dim; summed where it is a dim of the event."""
        found = []
        for one, before, after in zip(self.transforms, self._split(x), self._split(y), strict=True):
            own = one.log_abs_det_jacobian(before, after)
            found.append(sum_rightmost(own, self.event_dim - one.event_dim))
        at = self.dim if self.dim < 0 else self.dim - x.ndim
        at += self.event_dim
        if at < 0:
            return cat(found, at)
        total: Any = 0
        for own in found:
            total = total + own
        return total  # type: ignore[no-any-return]


class StackTransform(Transform):
    """A transform for each place along a dim.

    >>> import workbench as wb
    >>> from workbench.distributions.transforms import ExpTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform])(wb.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms = [one.with_cache(cache_size) for one in tseq] if cache_size else list(tseq)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform that keeps its last pair, or with 0 keeps none."""
        return (
            self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)
        )

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all of them are."""
        return all(one.bijective for one in self.transforms)

    @property
    def domain(self) -> Any:
        """The region of each."""
        return constraints.stack([one.domain for one in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        """The region of the results of each."""
        return constraints.stack([one.codomain for one in self.transforms], self.dim)

    def _split(self, value: Tensor) -> Any:
        if value.shape[self.dim] != len(self.transforms):
            raise ValueError(
                f"dim {self.dim} has {value.shape[self.dim]} places, and there are {len(self.transforms)} transforms"
            )
        return bare(value).unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return stack([one(part) for one, part in parts], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return stack([one.inv(part) for one, part in parts], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return that of each, along the dim."""
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return stack([one.log_abs_det_jacobian(before, after) for one, before, after in parts], self.dim)
