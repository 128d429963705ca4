"""Layers joined with what stands behind them: one output to observe, one integer kernel to run.

Those with a batch normalisation are made for training by `fuse_modules_qat`; `fuse_modules` folds it instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import MaxPool2d, Module, Sequential

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d",
    "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "ConvReLUMaxPool2d", "LinearBn1d",
    "LinearLeakyReLU", "LinearReLU", "LinearTanh", "is_fused", "weighted_layer",
]  # fmt: skip

_TWO_BY_TWO = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}


class _Fused(Sequential):
    """Modules in a row that are quantized as one; observers may be attached without being called as layers."""

    def __init__(self, *modules: Module) -> None:
        super().__init__(*modules)
        self._count = len(modules)

    def forward(self, input: Any) -> Any:
        """Call one module after the other."""
        own = self.__dict__
        for place in range(self._count):
            input = own[str(place)](input)
        return input


class ConvReLU2d(_Fused):
    """A convolution and a rectifier.

    >>> import workbench as wb
    >>> ConvReLU2d(wb.nn.Conv2d(1, 2, 3), wb.nn.ReLU())(wb.zeros(N=1, C=1, H=5, W=5)).shape
    (1, 2, 3, 3)
    """


class ConvReLU1d(_Fused):
    """A convolution along one dim and a rectifier."""


class ConvReLU3d(_Fused):
    """A convolution of volumes and a rectifier."""


class ConvReLUMaxPool2d(_Fused):
    """A convolution, a rectifier and a pooling of each 2 by 2: one pass over memory on codes.

    Raises `QuantizationError` for another pooling.
    """

    def __init__(self, conv: Module, relu: Module, pool: MaxPool2d) -> None:
        if pool.return_indices or pool.settings() != _TWO_BY_TWO:
            raise QuantizationError(
                f"a convolution is joined with the pooling of each 2 by 2 with stride 2, not with {pool!r}: "
                "leave the pooling out of the group"
            )
        super().__init__(conv, relu, pool)


class LinearReLU(_Fused):
    """An affine map and a rectifier."""


class LinearLeakyReLU(_Fused):
    """An affine map and a leaky rectifier."""


class LinearTanh(_Fused):
    """An affine map and the hyperbolic tangent."""


class ConvAdd2d(_Fused):
    """A convolution and the sum with another value, as `add`, a function or a module, makes it.

    >>> import workbench as wb
    >>> x = wb.ones(1, 1, 2, 2)
    >>> ConvAdd2d(wb.nn.Conv2d(1, 1, 1), wb.add)(x, x).shape
    (1, 1, 2, 2)
    """

    def __init__(self, conv: Module, add: Callable[[Any, Any], Any]) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]
        """Convolve `x1`, and add `x2`."""
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(ConvAdd2d):
    """A convolution, the sum with another value, and a rectifier."""

    def __init__(self, conv: Module, add: Callable[[Any, Any], Any], relu: Callable[[Any], Any]) -> None:
        super().__init__(conv, add)
        self.relu = relu

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]
        """Convolve `x1`, add `x2`, and rectify."""
        return self.relu(super().forward(x1, x2))


class ConvBn1d(_Fused):
    """A convolution along one dim and its batch normalisation."""


class ConvBn2d(_Fused):
    """A convolution and its batch normalisation."""


class ConvBn3d(_Fused):
    """A convolution of volumes and its batch normalisation."""


class ConvBnReLU1d(_Fused):
    """A convolution along one dim, its batch normalisation and a rectifier."""


class ConvBnReLU2d(_Fused):
    """A convolution, its batch normalisation and a rectifier."""


class ConvBnReLU3d(_Fused):
    """A convolution of volumes, its batch normalisation and a rectifier."""


class LinearBn1d(_Fused):
    """An affine map and its batch normalisation."""


class BNReLU2d(_Fused):
    """A batch normalisation of images and a rectifier."""


class BNReLU3d(_Fused):
    """A batch normalisation of volumes and a rectifier."""


def is_fused(module: Any) -> bool:
    """Say whether a module is several that are quantized as one."""
    return isinstance(module, _Fused)


def weighted_layer(module: Any) -> Any:
    """Return the layer that has the weight: the first of fused ones, or `module` itself."""
    return module[0] if isinstance(module, _Fused) else module
