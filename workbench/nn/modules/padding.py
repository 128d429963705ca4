"""Borders around the spatial dims, as layers: zeros, a constant, reflected, repeated, wrapped around."""

from __future__ import annotations

from typing import Any, ClassVar

from workbench.base.errors import DimensionValueError
from workbench.core.value import dims_of
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import check_spatial
from workbench.ops.nn.conv.window_geometry import Sizes, several

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Pad the last dims: one width for all sides, or (before, after) from the last dim backwards."""

    spatial: ClassVar[int]
    """Number of dims that are padded."""
    mode: ClassVar[str]

    def __init__(self, padding: int | Sizes) -> None:
        super().__init__()
        self.padding = several(padding, 2 * self.spatial, "padding")

    def forward(self, input: Any) -> Any:
        """Return the input with its border."""
        n, layer = self.spatial, type(self).__name__
        dims = dims_of(input)
        if len(dims.sizes) not in (n + 1, n + 2):
            raise DimensionValueError(
                f"expected {n + 1}D or {n + 2}D input (got {len(dims.sizes)}D input).",
                op=layer, operands=(dims.operand("input"),),
            )  # fmt: skip
        check_spatial(layer, input, n)
        return functional.pad(input, self.padding, mode=self.mode)

    def extra_repr(self) -> str:
        """Return the widths."""
        return f"{self.padding}"


class CircularPad1d(_Pad):
    """Pad the last dim of [N, C, L] or [C, L] with what stands at its other end; see `CircularPad2d`.

    >>> import workbench as wb
    >>> CircularPad1d(1)(wb.tensor([[1, 2, 3]])).tolist()
    [[3, 1, 2, 3, 1]]
    """

    spatial = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """Pad [N, C, H, W] or [C, H, W] with what stands at the other end of each spatial dim.

    `padding` is one width for all sides, or (left, right, top, bottom); negative widths cut. Raises `DimensionError`
    where the border would wrap around more than once.

    >>> import workbench as wb
    >>> CircularPad2d((1, 0, 0, 1))(wb.tensor([[[1, 2], [3, 4]]])).tolist()
    [[[2, 1, 2], [4, 3, 4], [2, 1, 2]]]
    """

    spatial = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """Pad [N, C, D, H, W] or [C, D, H, W] with what stands at the other end of each spatial dim; see `CircularPad2d`.

    >>> import workbench as wb
    >>> CircularPad3d(1)(wb.zeros(C=1, D=2, H=3, W=4)).shape
    (1, 4, 5, 6)
    """

    spatial = 3
    mode = "circular"


class ReflectionPad1d(_Pad):
    """Pad the last dim of [N, C, L] or [C, L] with its mirror image; see `ReflectionPad2d`.

    >>> import workbench as wb
    >>> ReflectionPad1d(2)(wb.tensor([[1, 2, 3]])).tolist()
    [[3, 2, 1, 2, 3, 2, 1]]
    """

    spatial = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """Pad [N, C, H, W] or [C, H, W] with the mirror image beyond the outermost values, which stand once.

    `padding` is one width for all sides, or (left, right, top, bottom). Raises `DimensionError` where the border is as
    wide as what it mirrors.

    >>> import workbench as wb
    >>> ReflectionPad2d((1, 0, 0, 1))(wb.tensor([[[1, 2], [3, 4]]])).tolist()
    [[[2, 1, 2], [4, 3, 4], [2, 1, 2]]]
    """

    spatial = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """Pad [N, C, D, H, W] or [C, D, H, W] with the mirror image of each spatial dim; see `ReflectionPad2d`.

    >>> import workbench as wb
    >>> ReflectionPad3d(1)(wb.zeros(C=1, D=2, H=3, W=4)).shape
    (1, 4, 5, 6)
    """

    spatial = 3
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """Pad the last dim of [N, C, L] or [C, L] with its outermost values; see `ReplicationPad2d`.

    >>> import workbench as wb
    >>> ReplicationPad1d((2, 1))(wb.tensor([[1, 2, 3]])).tolist()
    [[1, 1, 1, 2, 3, 3]]
    """

    spatial = 1
    mode = "replicate"


class ReplicationPad2d(_Pad):
    """Pad [N, C, H, W] or [C, H, W] with the outermost values of each spatial dim, repeated.

    `padding` is one width for all sides, or (left, right, top, bottom).

    >>> import workbench as wb
    >>> ReplicationPad2d((1, 0, 0, 1))(wb.tensor([[[1, 2], [3, 4]]])).tolist()
    [[[1, 1, 2], [3, 3, 4], [3, 3, 4]]]
    """

    spatial = 2
    mode = "replicate"


class ReplicationPad3d(_Pad):
    """Pad [N, C, D, H, W] or [C, D, H, W] with the outermost values of each spatial dim; see `ReplicationPad2d`.

    >>> import workbench as wb
    >>> ReplicationPad3d(1)(wb.zeros(C=1, D=2, H=3, W=4)).shape
    (1, 4, 5, 6)
    """

    spatial = 3
    mode = "replicate"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: int | Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        """Return the input with its border."""
        check_spatial(type(self).__name__, input, self.spatial)
        return functional.pad(input, self.padding, value=self.value)

    def extra_repr(self) -> str:
        """Return the widths and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pad the last dim, L, with `value`; see `ConstantPad2d`.

    >>> import workbench as wb
    >>> ConstantPad1d((1, 2), 7)(wb.tensor([1, 2])).tolist()
    [7, 1, 2, 7, 7]
    """

    spatial = 1


class ConstantPad2d(_ConstantPad):
    """Pad the last two dims, H and W, with `value`, whatever stands in front of them.

    `padding` is one width for all sides, or (left, right, top, bottom); negative widths cut.

    >>> import workbench as wb
    >>> ConstantPad2d((0, 1, 1, 0), 7)(wb.tensor([[1, 2]])).tolist()
    [[7, 7, 7], [1, 2, 7]]
    """

    spatial = 2


class ConstantPad3d(_ConstantPad):
    """Pad the last three dims, D, H and W, with `value`; see `ConstantPad2d`.

    >>> import workbench as wb
    >>> ConstantPad3d(1, 0.5)(wb.zeros(N=1, C=1, D=2, H=3, W=4)).shape
    (1, 1, 4, 5, 6)
    """

    spatial = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the widths."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pad the last dim, L, with zeros; see `ConstantPad2d`.

    >>> import workbench as wb
    >>> ZeroPad1d((1, 2))(wb.tensor([1, 2])).tolist()
    [0, 1, 2, 0, 0]
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pad the last two dims, H and W, with zeros; see `ConstantPad2d`.

    >>> import workbench as wb
    >>> ZeroPad2d((0, 1, 1, 0))(wb.tensor([[1, 2]])).tolist()
    [[0, 0, 0], [1, 2, 0]]
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pad the last three dims, D, H and W, with zeros; see `ConstantPad2d`.

    >>> import workbench as wb
    >>> ZeroPad3d(1)(wb.zeros(N=1, C=1, D=2, H=3, W=4)).shape
    (1, 1, 4, 5, 6)
    """
