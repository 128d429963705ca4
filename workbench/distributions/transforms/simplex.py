"""Transforms onto vectors that sum to 1."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.typing import Tensor
from workbench.distributions import constraints
from workbench.distributions.transforms.base import Transform
from workbench.distributions.utils import bare
from workbench.ops.nn.activation.pointwise import logsigmoid
from workbench.ops.shape.pad import pad
from workbench.tensor.ranges import arange
from workbench.tensor.type_queries import finfo

__all__ = ["SoftmaxTransform", "StickBreakingTransform"]


class SoftmaxTransform(Transform):
    """y = softmax x along the last dim: not one to one, since a constant added to x changes nothing.

    >>> import workbench as wb
    >>> SoftmaxTransform()(wb.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the same shape, which has to have a dim."""
        if not shape:
            raise ValueError("too few dimensions on input: a softmax is along a dim")
        return tuple(shape)

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """From K - 1 numbers to K that sum to 1: each breaks off a share of what is left of a stick.

    yₖ = zₖ Π_{j<k} (1 - zⱼ), zₖ = σ(xₖ - ln(K - k)), so that x = 0 gives equal parts.

    >>> import workbench as wb
    >>> StickBreakingTransform()(wb.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        z = (bare(x) - _offset(x)).sigmoid()
        left = (1 - z).cumprod(-1)
        return pad(z, (0, 1), value=1.0) * pad(left, (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = bare(y)[..., :-1]
        left = (1 - parts.cumsum(-1)).clamp(float(finfo(y.dtype).tiny))
        return parts.log() - left.log() + _offset(parts)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return Σₖ ln(1 - zₖ) + ln yₖ."""
        x = bare(x) - _offset(x)
        return (logsigmoid(x) - x + bare(y)[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape with one more value along the last dim."""
        return _resized(shape, 1)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape with one value less along the last dim."""
        return _resized(shape, -1)


def _offset(x: Tensor) -> Tensor:
    """Return ln(K - k) for the K - 1 places of x."""
    return arange(x.shape[-1], 0, -1, dtype=x.dtype).log()


def _resized(shape: Sequence[int], more: int) -> tuple[int, ...]:
    if not shape:
        raise ValueError("too few dimensions on input: a stick is broken along a dim")
    return (*shape[:-1], shape[-1] + more)
