"""Transforms of single numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workbench.distributions import constraints
from workbench.distributions.transforms.base import Transform, same_parameters
from workbench.distributions.utils import log1p_exp, sum_rightmost
from workbench.ops.shape.expand import broadcast_shapes
from workbench.tensor import Tensor
from workbench.tensor.factories import full_like
from workbench.tensor.type_queries import finfo

__all__ = [
    "AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform", "PowerTransform",
    "SigmoidTransform", "SoftplusTransform", "TanhTransform",
]  # fmt: skip


class _Alike(Transform):
    """A transform without parameters: all of its class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = Transform.__hash__


class ExpTransform(_Alike):
    """y = e^x.

    >>> import workbench as wb
    >>> ExpTransform()(wb.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x."""
        return x


class PowerTransform(Transform):
    """y = x^exponent of positive numbers.

    >>> import workbench as wb
    >>> PowerTransform(2.0)(wb.tensor([1.0, 3.0]))
    tensor([1., 9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        """The sign of the exponent."""
        exponent = self.exponent
        return exponent.sign() if isinstance(exponent, Tensor) else math.copysign(1, exponent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and same_parameters(self.exponent, other.exponent)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ln |exponent·y/x|."""
        exponent = self.exponent
        size = exponent.abs().log() if isinstance(exponent, Tensor) else math.log(abs(exponent))
        return (exponent - 1) * x.log() + size

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape that broadcasting with the exponent gives."""
        return broadcast_shapes(tuple(shape), tuple(getattr(self.exponent, "shape", ())))

    inverse_shape = forward_shape


class SoftplusTransform(_Alike):
    """y = ln(1 + e^x).

    >>> import workbench as wb
    >>> SoftplusTransform()(wb.tensor([0.0, 100.0]))
    tensor([  0.6931, 100.0000])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return log1p_exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return -ln(1 + e^-x)."""
        return -log1p_exp(-x)


class TanhTransform(_Alike):
    """y = tanh x: more exact than an affine map of a sigmoid, and as that it rounds to ±1 for large x.

    >>> import workbench as wb
    >>> TanhTransform()(wb.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ln(1 - tanh² x) = 2(ln 2 - x - ln(1 + e^-2x))."""
        return 2 * (math.log(2) - x - log1p_exp(-2 * x))


class SigmoidTransform(_Alike):
    """y = 1/(1 + e^-x), kept inside of (0, 1), so that it has an inverse.

    >>> import workbench as wb
    >>> SigmoidTransform()(wb.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return _inside(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return -ln(1 + e^x) - ln(1 + e^-x)."""
        return -log1p_exp(-x) - log1p_exp(x)


def _inside(y: Tensor) -> Tensor:
    info = finfo(y.dtype)
    return y.clamp(float(info.tiny), 1 - float(info.eps))


class AbsTransform(_Alike):
    """y = |x|, which has no inverse: that of y is y.

    >>> import workbench as wb
    >>> AbsTransform()(wb.tensor([-1.0, 2.0]))
    tensor([1., 2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale·x; with `event_dim` the last dims are one event.

    >>> import workbench as wb
    >>> AffineTransform(1.0, -2.0)(wb.tensor([0.0, 1.0]))
    tensor([ 1., -1.])
    """

    bijective = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """How many of the last dims are one event."""
        return self._event_dim

    @property
    def domain(self) -> Any:
        """All numbers."""
        return (
            constraints.independent(constraints.real, self._event_dim)
            if self._event_dim
            else constraints.real
        )

    codomain = domain

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        scale = self.scale
        return scale.sign() if isinstance(scale, Tensor) else 1 if scale > 0 else -1 if scale < 0 else 0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and same_parameters(self.loc, other.loc)
            and same_parameters(self.scale, other.scale)
        )

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ln |scale|, summed over the dims of an event."""
        scale = self.scale
        size = scale.abs().log() + x * 0 if isinstance(scale, Tensor) else full_like(x, math.log(abs(scale)))
        return sum_rightmost(size, self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape that broadcasting with loc and scale gives."""
        own = [tuple(getattr(one, "shape", ())) for one in (self.loc, self.scale)]
        return broadcast_shapes(tuple(shape), *own)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = F(x), the distribution function of a univariate distribution; its inverse is the quantile.

    >>> import workbench as wb
    >>> CumulativeDistributionTransform(wb.distributions.Normal(0.0, 1.0))(wb.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)  # type: ignore[no-any-return]

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)  # type: ignore[no-any-return]

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the density at x."""
        return self.distribution.log_prob(x)  # type: ignore[no-any-return]
