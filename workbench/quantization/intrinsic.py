"""Layers joined with the rectifier behind them: one output to observe, one integer kernel to run."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.public import words
from workbench.nn import Conv2d, Linear, MaxPool2d, ReLU, Sequential

__all__ = ["ConvReLU2d", "ConvReLUMaxPool2d", "LinearReLU", "weighted_layer"]


_TWO_BY_TWO = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}


class _Fused(Sequential):
    """A layer and a rectifier; observers may be attached without being called as layers."""

    def forward(self, input: Any) -> Any:
        """Call the layer and rectify."""
        own = self.__dict__
        return own["1"](own["0"](input))


class ConvReLU2d(_Fused):
    """A convolution and a rectifier.

    >>> import workbench as wb
    >>> ConvReLU2d(wb.nn.Conv2d(1, 2, 3), wb.nn.ReLU())(wb.zeros(N=1, C=1, H=5, W=5)).shape
    (1, 2, 3, 3)
    """

    def __init__(self, conv: Conv2d, relu: ReLU) -> None:
        super().__init__(conv, relu)


class ConvReLUMaxPool2d(_Fused):
    """A convolution, a rectifier and a pooling of each 2 by 2: one pass over memory on codes.

    Raises `QuantizationError` for another pooling.
    """

    def __init__(self, conv: Conv2d, relu: ReLU, pool: MaxPool2d) -> None:
        if pool.return_indices or pool.settings() != _TWO_BY_TWO:
            raise QuantizationError(
                f"a convolution is joined with the pooling of each 2 by 2 with stride 2, not with {pool!r}: "
                "leave the pooling out of the group"
            )
        super().__init__(conv, relu, pool)

    def forward(self, input: Any) -> Any:
        """Call the layer, rectify and pool."""
        return self.__dict__["2"](super().forward(input))


class LinearReLU(_Fused):
    """An affine map and a rectifier."""

    def __init__(self, linear: Linear, relu: ReLU) -> None:
        super().__init__(linear, relu)


def weighted_layer(module: Any) -> Any:
    """Return the layer that has the weight: the first of a fused pair, or `module` itself."""
    return module[0] if isinstance(module, _Fused) else module


__getattr__, __dir__ = words(__name__, __all__)
