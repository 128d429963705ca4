"""The way back from the places of the largest values, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import check_layout
from workbench.ops.nn.conv.window_geometry import Sizes, several

__all__ = ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _MaxUnpool(Module):
    spatial: ClassVar[int]

    def __init__(
        self, kernel_size: int | Sizes, stride: int | Sizes | None = None, padding: int | Sizes = 0
    ) -> None:
        super().__init__()
        n = self.spatial
        self.kernel_size = several(kernel_size, n, "kernel_size")
        self.stride = self.kernel_size if stride is None else several(stride, n, "stride")
        self.padding = several(padding, n, "padding")

    def forward(self, input: Any, indices: Any, output_size: Sequence[int] | None = None) -> Any:
        """Return the values at their places; `output_size` decides among the sizes that pool to the same."""
        layer = type(self).__name__
        check_layout(layer, input, self.spatial)
        check_layout(layer, indices, self.spatial)
        put = getattr(functional, f"max_unpool{self.spatial}d")
        return put(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """Return the windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Put the values that `MaxPool1d` found in [N, C, L] or [C, L] back where they lay, among zeros.

    >>> import workbench as wb
    >>> pool = wb.nn.MaxPool1d(2, return_indices=True)
    >>> MaxUnpool1d(2)(*pool(wb.tensor([[[1.0, 3.0, 2.0, 0.0]]]))).tolist()
    [[[0.0, 3.0, 2.0, 0.0]]]
    """

    spatial = 1


class MaxUnpool2d(_MaxUnpool):
    """Put the values that `MaxPool2d` found in [N, C, H, W] or [C, H, W] back where they lay, among zeros.

    Takes the values and their places, as ``MaxPool2d(..., return_indices=True)`` returns them. Where windows overlap
    and share a largest value it is put down once. Zeiler and Fergus 2014.

    Raises `DimensionError` for places outside the result, and for an `output_size` that does not pool to this input.

    >>> import workbench as wb
    >>> pool = wb.nn.MaxPool2d(2, return_indices=True)
    >>> MaxUnpool2d(2)(*pool(wb.ones(N=1, C=1, H=4, W=4))).sum().item()
    4.0
    """

    spatial = 2


class MaxUnpool3d(_MaxUnpool):
    """Put the values that `MaxPool3d` found in [N, C, D, H, W] or [C, D, H, W] back where they lay, among zeros.

    >>> import workbench as wb
    >>> pool = wb.nn.MaxPool3d(2, return_indices=True)
    >>> MaxUnpool3d(2)(*pool(wb.ones(N=1, C=1, D=2, H=2, W=2))).sum().item()
    1.0
    """

    spatial = 3
