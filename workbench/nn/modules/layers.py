"""Pooling of images."""

from __future__ import annotations

from typing import Any

from workbench.nn.images import IMAGE, check_names
from workbench.nn.module import Module
from workbench.ops.convolve import pair
from workbench.ops.pool import AVG_POOL2D, MAX_POOL2D

__all__ = ["AvgPool2d", "MaxPool2d"]


class MaxPool2d(Module):
    """Largest value of each window of [N, C, H, W]; `stride` defaults to the kernel size.

    >>> import workbench as wb
    >>> MaxPool2d(2)(wb.zeros(N=1, C=3, H=28, W=28)).shape
    (1, 3, 14, 14)
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        return_indices: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = self.kernel_size if stride is None else pair(stride, "stride")
        self.padding = pair(padding, "padding")
        self.dilation = pair(dilation, "dilation")
        self.return_indices = return_indices

    def forward(self, input: Any) -> Any:
        """Return the largest values, and where they lie if `return_indices`."""
        names = input._names
        if names is not None and names != IMAGE:
            check_names("MaxPool2d", input)
        values, indices = MAX_POOL2D(
            input, kernel=self.kernel_size, stride=self.stride, padding=self.padding, dilation=self.dilation
        )
        return (values, indices) if self.return_indices else values

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}"


class AvgPool2d(Module):
    """Mean of each window of [N, C, H, W], the padding counted as zeros; `stride` defaults to the kernel size."""

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = self.kernel_size if stride is None else pair(stride, "stride")
        self.padding = pair(padding, "padding")

    def forward(self, input: Any) -> Any:
        """Return the means."""
        names = input._names
        if names is not None and names != IMAGE:
            check_names("AvgPool2d", input)
        return AVG_POOL2D(input, kernel=self.kernel_size, stride=self.stride, padding=self.padding)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
