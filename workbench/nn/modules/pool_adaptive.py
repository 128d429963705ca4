"""Pooling to a given size as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from workbench.base.dims import Names
from workbench.base.size_guards import OPEN
from workbench.core.op import Op
from workbench.core.value import dims_of
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import check_layout
from workbench.ops.nn.conv.window_geometry import LAYOUT
from workbench.ops.nn.pool.adaptive_mean import even_windows, pools_plainly
from workbench.ops.nn.pool.adaptive_pool import target_sizes
from workbench.ops.nn.pool.pool_ops import AVG_POOL1D, AVG_POOL2D, AVG_POOL3D

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
]

Target = int | Sequence[int | None] | None


class _AdaptiveMaxPool(Module):
    spatial: ClassVar[int]

    def __init__(self, output_size: Target, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Any) -> Any:
        """Return the largest values, and where they lie if `return_indices`."""
        check_layout(type(self).__name__, input, self.spatial)
        pool = getattr(functional, f"adaptive_max_pool{self.spatial}d")
        return pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """Return the size."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Largest value of each of `output_size` windows of [N, C, L] or [C, L]; see `AdaptiveMaxPool2d`.

    >>> import workbench as wb
    >>> AdaptiveMaxPool1d(2)(wb.tensor([[[0.0, 1.0, 2.0, 3.0, 4.0]]])).tolist()
    [[[2.0, 4.0]]]
    """

    spatial = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Largest value of each of `output_size` windows of [N, C, H, W] or [C, H, W]; None keeps a size.

    y[p] = max x[⌊p·size/out⌋ … ⌈(p + 1)·size/out⌉ - 1] along each spatial dim. With `return_indices` also where the
    values lie in the plane H·W.

    >>> import workbench as wb
    >>> AdaptiveMaxPool2d((2, None))(wb.zeros(N=1, C=3, H=7, W=5)).shape
    (1, 3, 2, 5)
    """

    spatial = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Largest value of each of `output_size` windows of [N, C, D, H, W] or [C, D, H, W]; see `AdaptiveMaxPool2d`.

    >>> import workbench as wb
    >>> AdaptiveMaxPool3d(1)(wb.zeros(N=1, C=3, D=2, H=7, W=5)).shape
    (1, 3, 1, 1, 1)
    """

    spatial = 3


class _AdaptiveAvgPool(Module):
    op: ClassVar[Op]
    spatial: ClassVar[int]
    layout: ClassVar[Names]
    _remembered = ("_last",)
    _last: tuple[Any, Any, Any] = (None, None, None)
    """An input's sizes, the size asked for, and the windows of a plain pooling that has the same result."""

    def __init__(self, output_size: Target) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        """Return the means."""
        names = input._names
        if names is not None and names != self.layout:
            check_layout(type(self).__name__, input, self.spatial)
        if OPEN:  # sizes of a trace are not compared with those of an earlier call: the graph would be for these only
            return self._any_windows(input)
        shape, target, windows = self._last
        # Feature maps have one size, call after call, so the windows of the last are kept.
        if shape != input.payload.shape or target != self.output_size:
            windows = self._windows(input)
        # Windows of one size are a plain pooling, which is faster.
        if windows is not None and pools_plainly(input):
            return self.op(input, **windows)
        return self._any_windows(input)

    def _any_windows(self, input: Any) -> Any:
        return getattr(functional, f"adaptive_avg_pool{self.spatial}d")(input, self.output_size)

    def _windows(self, input: Any) -> Any:
        """Return the windows of a plain pooling, where there are such."""
        dims, n = dims_of(input), self.spatial
        found = None
        if len(dims.sizes) == n + 2:
            found = even_windows(dims.sizes[2:], target_sizes(dims, n, self.output_size, type(self).__name__))
            self.__dict__["_last"] = (dims.sizes, self.output_size, found)
        return found

    def extra_repr(self) -> str:
        """Return the size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Mean of each of `output_size` windows of [N, C, L] or [C, L]; see `AdaptiveAvgPool2d`.

    >>> import workbench as wb
    >>> AdaptiveAvgPool1d(2)(wb.tensor([[[0.0, 1.0, 2.0, 3.0, 4.0]]])).tolist()
    [[[1.0, 3.0]]]
    """

    op = AVG_POOL1D
    spatial = 1
    layout = LAYOUT[1]


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Mean of each of `output_size` windows of [N, C, H, W] or [C, H, W]; None keeps a size.

    y[p] = mean x[⌊p·size/out⌋ … ⌈(p + 1)·size/out⌉ - 1] along each spatial dim; ``AdaptiveAvgPool2d(1)`` is the mean of
    each channel.

    >>> import workbench as wb
    >>> AdaptiveAvgPool2d(1)(wb.ones(N=1, C=3, H=7, W=5)).shape
    (1, 3, 1, 1)
    """

    op = AVG_POOL2D
    spatial = 2
    layout = LAYOUT[2]


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Mean of each of `output_size` windows of [N, C, D, H, W] or [C, D, H, W]; see `AdaptiveAvgPool2d`.

    >>> import workbench as wb
    >>> AdaptiveAvgPool3d((1, 2, 2))(wb.ones(N=1, C=3, D=2, H=7, W=5)).shape
    (1, 3, 1, 2, 2)
    """

    op = AVG_POOL3D
    spatial = 3
    layout = LAYOUT[3]
