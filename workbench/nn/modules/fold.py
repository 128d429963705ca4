"""Patches of an image as columns, and columns added up to an image, as layers."""

from __future__ import annotations

from typing import Any

from workbench.core.op import ops
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.positional_dims import check_places
from workbench.nn.spatial_names import IMAGE, check_layout, check_names
from workbench.ops.nn.conv.window_geometry import Sizes

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """Take every window of [N, C, H, W] or [C, H, W] as a column: [N, C·kH·kW, positions].

    The settings are those of `Conv2d`, which is a product with these columns.

    >>> import workbench as wb
    >>> Unfold((2, 3))(wb.zeros(N=2, C=3, H=4, W=5)).shape
    (2, 18, 9)
    """

    def __init__(
        self,
        kernel_size: int | Sizes,
        dilation: int | Sizes = 1,
        padding: int | Sizes = 0,
        stride: int | Sizes = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Any) -> Any:
        """Return the columns."""
        check_layout("Unfold", input, 2)
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Module):
    """Add columns [N, C·kH·kW, positions] up to an image [N, C, H, W] of `output_size`.

    What several windows see is added: ``fold(unfold(x))`` counts each value as often as it was seen.

    >>> import workbench as wb
    >>> Fold((3, 3), 2)(wb.ones(1, 4, 4)).tolist()
    [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """

    def __init__(
        self,
        output_size: int | Sizes,
        kernel_size: int | Sizes,
        dilation: int | Sizes = 1,
        padding: int | Sizes = 0,
        stride: int | Sizes = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Any) -> Any:
        """Return the image: with its names, where the columns have any."""
        names = input._names
        if names is not None and len(names) == 3:
            check_places("Fold", input, N=0, C=1, L=2)
            # Only N: what the columns hold, channels times places of a window, may be called as it likes.
            check_names("Fold", input, ("N", *names[1:]))
        image = functional.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
        return image if names is None else ops.rename(image, names=IMAGE[-len(image.payload.shape) :])

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
