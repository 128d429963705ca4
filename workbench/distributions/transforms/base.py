"""What every transform is, its inverse, and one transform after another."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from workbench.distributions import constraints
from workbench.distributions.utils import sum_rightmost
from workbench.tensor import Tensor

__all__ = ["ComposeTransform", "InverseTransform", "Transform", "identity_transform", "same_parameters"]

Shape = tuple[int, ...]


class Transform:
    """A map y = f(x) with an inverse, and ln |det ∂y/∂x| for each event.

    With ``cache_size=1`` the last pair is kept: the inverse of the y just made is the very x it was made of, in its
    own digits. `domain` and `codomain` are the regions of x and y.

    >>> import workbench as wb
    >>> t = wb.distributions.transforms.ExpTransform()
    >>> y = t(wb.tensor([0.0, 1.0]))
    >>> y, t.inv(y), t.log_abs_det_jacobian(t.inv(y), y)
    (tensor([1.0000, 2.7183]), tensor([0.0000, 1.0000]), tensor([0.0000, 1.0000]))
    """

    bijective: bool = False
    """Whether the inverse undoes it; otherwise it chooses one of several x, or undoes it up to a constant."""
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(
                f"cache_size must be 0 or 1, got {cache_size}: it says whether the last pair is kept"
            )
        # A transform may be a module, too, which is to be made before anything is kept in it.
        super().__init__()
        self._cache_size = cache_size
        self._pair: tuple[Tensor, Tensor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pair": None}

    @property
    def event_dim(self) -> int:
        """How many of the last dims are one event, where that is the same for x and y."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError(
            f"events of {self!r} have {self.domain.event_dim} dims before it and {self.codomain.event_dim} behind: ask "
            "its domain or codomain"
        )

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        return InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 where it rises, -1 where it falls; of one number only."""
        raise NotImplementedError(
            f"{type(self).__name__} neither rises nor falls everywhere, or does not say"
        )

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform that keeps its last pair, or with 0 keeps none."""
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        new._cache_size, new._pair = cache_size, None
        return new

    def __call__(self, x: Tensor) -> Tensor:
        """Return y = f(x)."""
        if self._cache_size == 0:
            return self._call(x)
        if self._pair is not None and self._pair[0] is x:
            return self._pair[1]
        y = self._call(x)
        self._pair = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if self._pair is not None and self._pair[1] is y:
            return self._pair[0]
        x = self._inverse(y)
        self._pair = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} maps nothing: define _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse: define _inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ln |det ∂y/∂x| for each event."""
        raise NotImplementedError(
            f"{type(self).__name__} has no Jacobian determinant: it is no map between spaces of one dimension"
        )

    def forward_shape(self, shape: Sequence[int]) -> Shape:
        """Return the shape of y for x of `shape`."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Shape:
        """Return the shape of x for y of `shape`."""
        return tuple(shape)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        # Equal transforms may hold tensors, which have no value to hash by.
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def same_parameters(first: Any, second: Any) -> bool:
    """Say whether two parameters, numbers or tensors, are equal."""
    if first is second:
        return True
    equal = first == second
    return bool(equal.all()) if isinstance(equal, Tensor) else bool(equal)


class InverseTransform(Transform):
    """The inverse of a transform: f⁻¹, which shares its cache."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    @property
    def domain(self) -> Any:
        """The region of the transform's results."""
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        """The region of the transform's operands."""
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As the transform is."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """As the transform's: an inverse rises where it does."""
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        """The transform itself."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the inverse of the transform with that cache."""
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        """Return f⁻¹(x)."""
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return that of the transform, with the other sign."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Shape:
        """Return what the transform's `inverse_shape` says."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Shape:
        """Return what the transform's `forward_shape` says."""
        return self._inv.forward_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InverseTransform) and self._inv == other._inv

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """Several transforms, one after another.

    >>> import workbench as wb
    >>> t = wb.distributions.transforms
    >>> t.ComposeTransform([t.AffineTransform(1.0, 2.0), t.ExpTransform()])(wb.tensor(0.0))
    tensor(2.7183)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)
        super().__init__(cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    @property
    def domain(self) -> Any:
        """The region of the first part, with the dims that later ones take as one event."""
        if not self.parts:
            return constraints.real
        needed = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            needed = max(needed + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, needed)

    @property
    def codomain(self) -> Any:
        """The region of the last part, with the dims that earlier ones take as one event."""
        if not self.parts:
            return constraints.real
        needed = self.parts[0].domain.event_dim
        for part in self.parts:
            needed = max(needed + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, needed)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        """The inverses, from the last to the first."""
        return ComposeTransform([part.inv for part in reversed(self.parts)])

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform of which each part keeps its last pair."""
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the value of all parts, one after another."""
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum of the parts' own."""
        if not self.parts:
            return x * 0
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim = self.domain.event_dim
        total: Any = 0
        for part, before, after in zip(self.parts, values, values[1:], strict=False):
            own = part.log_abs_det_jacobian(before, after)
            total = total + sum_rightmost(own, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total  # type: ignore[no-any-return]

    def forward_shape(self, shape: Sequence[int]) -> Shape:
        """Return the shape behind the last part."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Shape:
        """Return the shape before the first part."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts!r})"


def _widened(region: constraints.Constraint, event_dim: int) -> constraints.Constraint:
    more = event_dim - region.event_dim
    return constraints.independent(region, more) if more > 0 else region


identity_transform = ComposeTransform([])
"""The transform that changes nothing."""
